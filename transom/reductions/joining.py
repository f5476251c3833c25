"""Several workflows as one problem: a window of workflows that share a machine, each released when it is submitted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from transom.errors import ModelError
from transom.models.workflow import Workflow


def joined(workflows: Sequence[Workflow], name: str = "window") -> Workflow:
    """The tasks of several workflows as those of one, to be started on one machine so that the last of all ends early.

    The clock starts with the first submission: tasks of a workflow that is submitted later are released then. Task t of
    workflow w is called ``w/t``; of workflows of one name the second is called ``w#2`` and so on. Further resources are
    those of all.

    Parameters
    ----------
    workflows : at least one; all state the same machine, or none does.
    name : of the problem.

    Raises
    ------
    ModelError : there are none, or their machines differ.

    References
    ----------
    MARS, Algorithm 3, whose decisions are about the tasks of all workflows that are there; problem
    PS | prec, r_j | Cmax of Brucker et al., European Journal of Operational Research 112, 1999.
    """
    if not workflows:
        raise ModelError("workflow: there are none to join")
    resources = tuple(dict.fromkeys(each for flow in workflows for each in flow.resources))
    machines = [_machine(flow) for flow in workflows]
    for flow, machine in zip(workflows, machines, strict=True):
        if (machine is None) != (machines[0] is None) or not _agree(machine or {}, machines[0] or {}):
            raise ModelError(f"workflow {flow.name!r}: its machine is another one than that of {workflows[0].name!r}")
    begins = np.cumsum([0, *map(len, workflows)])[:-1].tolist()
    began = min(flow.submit for flow in workflows)
    rows = [
        (f"{called}/{task}", flow.programs[t])
        for called, flow in _called(workflows)
        for t, task in enumerate(flow.tasks)
    ]
    demands = np.zeros((len(rows), len(resources)), np.int64)
    for flow, begin in zip(workflows, begins, strict=True):
        demands[begin : begin + len(flow), [resources.index(each) for each in flow.resources]] = flow.demands
    made = Workflow(
        name=name,
        tasks=[task for task, _ in rows],
        runtimes=np.concatenate([flow.runtimes for flow in workflows]),
        edges=np.concatenate(
            [flow.edges.reshape(-1, 2) + begin for flow, begin in zip(workflows, begins, strict=True)]
        ),
        nodes=np.concatenate([flow.nodes for flow in workflows]),
        walltimes=np.concatenate([flow.walltimes for flow in workflows]),
        resources=resources,
        demands=demands,
        costs=np.concatenate([flow.costs for flow in workflows]),
        programs=[program for _, program in rows],
        submit=began,
        releases=np.concatenate([flow.releases + (flow.submit - began) for flow in workflows]),
        repairs=repairs_of(workflows),
    )
    if machines[0] is None:
        return made
    stated = {name: amount for machine in machines for name, amount in (machine or {}).items()}
    return made.on(stated.pop("nodes"), stated)


def repairs_of(workflows: Sequence[Workflow]) -> dict[str, int]:
    """What readers guessed or left out in all of them: reason -> number."""
    return dict(sum((Counter(flow.repairs) for flow in workflows), Counter()))


def _called(workflows: Sequence[Workflow]) -> list[tuple[str, Workflow]]:
    """Each with a name of its own."""
    seen: Counter[str] = Counter()
    found = []
    for flow in workflows:
        seen[flow.name] += 1
        found.append((flow.name if seen[flow.name] == 1 else f"{flow.name}#{seen[flow.name]}", flow))
    return found


def _machine(flow: Workflow) -> dict[str, int] | None:
    if flow.machine is None:
        return None
    return dict(zip(("nodes", *flow.resources), flow.machine.tolist(), strict=True))


def _agree(a: dict[str, int], b: dict[str, int]) -> bool:
    return all(a[name] == b[name] for name in a.keys() & b.keys())
