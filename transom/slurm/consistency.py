"""Jobs and nodes are answers of two moments: where they contradict each other, Slurm is asked again.

A job that started between the two leaves nodes that no job holds, one that ended nodes that are idle and held; a
decision on either would be wrong. What two looks in a row say alike is no matter of the moment, as at a site that
hides the jobs of other users; nodes in doubt are then no idle ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from transom.slurm.state import SlurmState, ask_slurm
from transom.traces.records.slurm_text.tokens import named_hosts

_HOLD = frozenset(("RUNNING", "CONFIGURING", "COMPLETING", "SIGNALING"))
_HELD = frozenset(("ALLOCATED", "ALLOC", "MIXED", "MIX", "COMPLETING", "COMP"))
_LOOKS = 6
_BETWEEN = 0.05  # two looks [s]


def contradictions(state: SlurmState) -> dict[str, str]:
    """The nodes in service of which jobs and nodes report different things, each with what it is.

    A completing job holds its nodes until each of them is back; a suspended one may have given them up.
    """
    known = {node.name: node for node in state.nodes if node.serves}
    holders = {name: job for job in state.jobs if job.holds for name in named_hosts(job.held_nodes)}
    found = {}
    for name, node in known.items():
        held, job = bool(node.used or node.states & _HELD), holders.get(name)
        if job is None and held:
            found[name] = "in use by no job"
        elif job is not None and job.state in _HOLD and not held:
            found[name] = f"idle under job {job.name}"
    return found


def look(ask: Callable[[], SlurmState] = ask_slurm, pause: Callable[[float], None] = time.sleep) -> SlurmState:
    """A state in which jobs and nodes agree, or in which they differ twice in the same way.

    Parameters
    ----------
    ask : what asks Slurm; at most six times.
    pause : waits between two looks [s].

    Returns
    -------
    The last state that was asked for; ``doubtful`` names the nodes that are still contradictory.

    Raises
    ------
    SlurmError : Slurm does not answer.
    """
    before: dict[str, str] = {}
    for look in range(_LOOKS):
        if look:
            pause(_BETWEEN)
        state = ask()
        found = contradictions(state)
        state.doubtful = tuple(sorted(found))
        if not found or found == before:
            break
        before = found
    return state
