"""slurmrestd over a Unix socket: the state of a Slurm by HTTP instead of a process for each question.

Its documents are those of ``--json``, so the readers are the same. What it does not report is asked of the commands:
the network, up to 22.05 the limits on switches, and later the default partition.
"""

from __future__ import annotations

import http.client
import socket
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from transom.errors import SlurmError
from transom.slurm.commands import run_slurm
from transom.slurm.state import SlurmState, errors_of, take_json, take_text
from transom.traces.records.slurm_text.documents import number, stated
from transom.traces.records.slurm_text.jobs import SEPARATOR, SWITCHES

_VERSIONS = tuple(f"v0.0.{i}" for i in range(44, 37, -1))
_LIMIT = 30.0  # of an answer [s]


def ask_rest(path: Path) -> SlurmState:
    """What a Slurm is doing now, by the slurmrestd that listens on a Unix socket.

    Raises
    ------
    SlurmError : nothing listens there, it speaks no version from v0.0.38 to v0.0.44, or it reports an error.
    """
    base = _base(path)
    state = SlurmState()
    statistics = _decoded(path, f"{base}/diag").get("statistics")
    state.now = number(statistics.get("req_time")) if isinstance(statistics, dict) else -1
    if state.now < 0:
        raise SlurmError(f"{path}: {base}/diag: expected statistics.req_time, the time of the controller")
    for what in ("jobs", "nodes", "partitions", "reservations", "licenses"):
        text = _get(path, f"{base}/{what}")
        if errors := errors_of(_document(path, what, text).get("errors")):
            if what in ("reservations", "licenses"):
                continue  # as where a site has none
            raise SlurmError(f"{path}: {base}/{what}: Slurm reports: {errors}")
        take_json(state, f"{path}: {base}/{what}", text)
        if what == "jobs" and '"minimum_switches"' not in text and '"required_switches"' not in text:
            _ask_switches(state)
    if not state.nodes:
        raise SlurmError(f"{path}: {base}/nodes: Slurm names no node")
    state.jobs = [job for job in state.jobs if job.waits or job.holds]  # it also lists those that ended lately
    with suppress(SlurmError):
        take_text(state, run_slurm("scontrol", "-a", "-o", "show", "topology"))
    if not any(each.default for each in state.partitions):
        with suppress(SlurmError):
            _ask_default(state)
    return state


class _Local(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_LIMIT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def _request(path: Path, target: str) -> tuple[int, str]:
    connection = _Local(path)
    try:
        connection.request("GET", target, headers={"Accept": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        why = f"no slurmrestd answers: {getattr(error, 'strerror', None) or error}"
        raise SlurmError(f"{path}: {why} (it refuses to run as root: start it as another user)") from None
    finally:
        connection.close()


def _base(path: Path) -> str:
    """Where the latest version begins that both sides know."""
    for version in _VERSIONS:
        if _request(path, f"/slurm/{version}/ping")[0] == http.client.OK:
            return f"/slurm/{version}"
    raise SlurmError(f"{path}: slurmrestd speaks no version from {_VERSIONS[-1]} to {_VERSIONS[0]}")


def _get(path: Path, target: str) -> str:
    status, text = _request(path, target)
    if status != http.client.OK:
        raise SlurmError(f"{path}: {target}: slurmrestd answers {status}")
    return text


def _document(path: Path, target: str, text: str) -> dict[str, Any]:
    try:
        answer = msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, RecursionError) as error:
        raise SlurmError(f"{path}: {target}: is no JSON: {error}") from None
    return answer if isinstance(answer, dict) else {}


def _decoded(path: Path, target: str) -> dict[str, Any]:
    answer = _document(path, target, _get(path, target))
    if errors := errors_of(answer.get("errors")):
        raise SlurmError(f"{path}: {target}: Slurm reports: {errors}")
    return answer


def _ask_default(state: SlurmState) -> None:
    """Mark the partition for jobs that name none, which answers of 23.02 and later do not state."""
    names = run_slurm("sinfo", "-a", "-h", "-o", "%P").splitlines()
    default = next((name[:-1] for name in map(str.strip, names) if name.endswith("*")), "")
    state.partitions = [replace(each, default=each.name == default) for each in state.partitions]


def _ask_switches(state: SlurmState) -> None:
    """Add the limits on switches of waiting jobs."""
    form = f"JobArrayId:{SEPARATOR},ReqSwitch:{SEPARATOR}"
    lines = run_slurm("squeue", "-a", "-h", "-r", "-t", "PD", "-O", form).splitlines()
    asked = {line.split(SEPARATOR)[0].strip(): line.split(SEPARATOR)[1] for line in lines if SEPARATOR in line}
    limits = {name: value for name, each in asked.items() if (value := stated(each)) not in ("", "0")}
    for i, job in enumerate(state.jobs):
        if job.waits and job.name in limits:
            state.jobs[i] = replace(job, asks={**job.asks, SWITCHES: limits[job.name]})
