"""Event rules of replays of tasks on machines: what a workload looks like under each."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from transom.errors import SpecError
from transom.simulation.event_rules import EventRules, Textbook, rules_by_name
from transom.simulation.placement.state import Arranged
from transom.traces.tasks.workload import TaskWorkload


@runtime_checkable
class TaskRules(EventRules, Protocol):
    """Event rules of another program that places tasks on machines."""

    def arranged(self, workload: TaskWorkload) -> Arranged:
        """The workload as the program takes it."""


def task_rules(text: str) -> EventRules:
    """The event rules that a specification names: ``textbook``, ``cloudsimpy`` ...

    Raises
    ------
    SpecError : the name or a parameter is unknown, or these are rules for jobs on nodes.
    """
    rules = rules_by_name(text)
    if not isinstance(rules, (Textbook, TaskRules)):
        raise SpecError(f"{rules.name} rules are for jobs on nodes, not for tasks on machines (--machines)")
    return rules


def arrange(rules: EventRules, workload: TaskWorkload) -> Arranged:
    """A workload as event rules take it.

    Under textbook rules amounts are integers, tasks are seen when they are submitted, and durations are rounded up to
    whole seconds.
    """
    if isinstance(rules, TaskRules):
        return rules.arranged(workload)
    return Arranged(
        demands=workload.demands,
        machines=workload.machines,
        visible=workload.submit[workload.job],
        duration=np.ceil(workload.duration),
        ticks=False,
    )
