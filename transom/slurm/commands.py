"""The one place that runs commands of Slurm: lists of arguments, no shell, a time limit, one line for each failure."""

from __future__ import annotations

import os
import subprocess

from transom.errors import SlurmBusyError, SlurmError

_LIMIT = 30.0  # of a command [s]
_LOCAL = ("SQUEUE_", "SINFO_", "SCONTROL_", "SLURM_TIME_FORMAT", "SLURM_JSON", "SLURM_CLUSTERS")
_BUSY = (
    "unable to contact slurm controller", "socket timed out", "timed out", "connection refused", "connection reset",
    "zero bytes", "standby mode", "backup controller", "temporarily unavailable", "busy, ", "rate limit", "backoff",
    "in a bit", "retry later", "insane message length",
)  # fmt: skip
"""What Slurm says where it is the controller that does not answer now, and not this request that is refused."""


def run_slurm(*command: str, stdin: str | None = None, seconds: float = _LIMIT) -> str:
    """What a command of Slurm prints; times are in UTC, and settings of the user's environment do not matter.

    Raises
    ------
    SlurmError : the command is not installed or fails; the message is its first line.
    SlurmBusyError : the controller does not answer in time, cannot be reached or is too busy.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_LOCAL)}
    environment.update(TZ="UTC", LC_ALL="C", SLURM_BITSTR_LEN="0")  # tasks of arrays are never cut short
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, timeout=seconds, env=environment, check=False,
            encoding="utf-8", errors="replace",
        )  # fmt: skip
    except FileNotFoundError:
        raise SlurmError(f"{command[0]} is not installed here: Slurm's commands must be on the PATH") from None
    except subprocess.TimeoutExpired:
        raise SlurmBusyError(f"{command[0]} did not answer within {seconds:g} s") from None
    except OSError as error:
        raise SlurmError(f"{command[0]} cannot be run: {error.strerror}") from None
    lines = done.stderr.strip().splitlines()
    # squeue returns 0 for a field that it does not know.
    if done.returncode or any(": error:" in line for line in lines):
        why = next((line for line in lines if "error" in line), lines[0] if lines else f"status {done.returncode}")
        busy = any(each in why.lower() for each in _BUSY)
        message = f"{' '.join(command[:3])}: {why.removeprefix(f'{command[0]}: ')}"
        raise SlurmBusyError(message) if busy else SlurmError(message)
    return done.stdout
