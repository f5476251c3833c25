"""What all that act share: what an event is, how many actions a minute has, and a last question before each."""

from __future__ import annotations

import time
from typing import Any

from transom.slurm.advice import Start
from transom.slurm.answers import named_hosts
from transom.slurm.commands import run_slurm
from transom.slurm.window import Seen
from transom.traces.records.slurm_text.documents import stated

NAMED = "named nodes"
"""What a job asks for that names nodes."""
REFUSALS = 3
"""So many in a row, and a job is left to Slurm."""


def events_of(seen: Seen) -> Any:
    """What must differ for a new decision, as in a replay: queue, running jobs, idle nodes, resources."""
    window = seen.window
    return window.queue.id.tolist(), window.running.id.tolist(), seen.idle.tolist(), window.available.tolist()


class Pace:
    """Counts the actions of the last minute of our clock, of which there may be ``most``."""

    def __init__(self, most: int) -> None:
        self._most, self._times = most, list[float]()

    def note(self) -> None:
        """An action is about to be carried out."""
        self._times.append(time.monotonic())

    @property
    def spent(self) -> bool:
        """Whether no more may be carried out now."""
        self._times = [each for each in self._times if time.monotonic() - each < 60]
        return len(self._times) >= self._most


def still(start: Start, named: str = "") -> bool:
    """Whether job and nodes are as they were when a start was decided: asked again right before it.

    Parameters
    ----------
    start : what was decided.
    named : the nodes that the job should name until now.

    Raises
    ------
    SlurmError : Slurm does not answer.
    """
    answer = run_slurm("squeue", "-a", "-h", "-r", "-j", start.job.name, "-o", "%T|%D|%n|%r").splitlines()
    nodes = run_slurm("sinfo", "-h", "-N", "-n", start.where, "-o", "%N %t").splitlines()
    idle = {line.split()[0] for line in nodes if line.split()[1:] in (["idle"], ["plnd"])}
    if len(answer) != 1 or idle != set(start.nodes) or len({line.split()[0] for line in nodes}) != len(idle):
        return False
    state, size, names, reason = answer[0].split("|", 3)
    same = same_nodes(names, named)
    return state == "PENDING" and not reason.startswith("JobHeld") and size == str(start.job.nodes) and same


def same_nodes(one: str, other: str) -> bool:
    """Whether two lists name the same nodes; empty ones name none."""
    first, second = stated(one), stated(other)
    return first == second or set(named_hosts(first)) == set(named_hosts(second))
