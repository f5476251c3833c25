"""Replay of a workload of tasks: jobs of identical instances, machines with several capacities, and a policy.

Time is whole seconds. All events of an instant are taken in before one pass: ends, then submissions. A pass sees the
tasks with waiting instances; what it starts runs for its duration. An instance never moves.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from transom import registry
from transom._system.compiling import compiled
from transom.errors import PolicyError, SpecError, shown
from transom.models import Placement
from transom.models.arrays import IntArray, expected, whole
from transom.rng import stream
from transom.simulation.event_rules import EventRules, Textbook
from transom.simulation.placement.event_rules import arrange, task_rules
from transom.simulation.placement.passes import run_rule
from transom.simulation.placement.policies import TaskLoop, TaskRule
from transom.simulation.placement.schedule import TaskSchedule
from transom.simulation.placement.state import Arranged, State, new_state, next_decision, note_pass, place, with_room
from transom.simulation.placement.window import TaskPolicy, TaskWindow
from transom.traces.tasks.workload import TaskWorkload

_REPORTS = 0.2  # seconds between two looks at the progress bar, where decisions are made one by one

Progress = Callable[[int], None]
"""Called now and then with the number of instances that have started."""


def make_task_policy(spec: str) -> TaskRule | TaskLoop | TaskPolicy:
    """The policy that a specification names, such as ``longest-first`` or ``window:solver=cpsat``.

    Raises
    ------
    SpecError : the name or a parameter is unknown, or a value does not fit.
    """
    policy: TaskRule | TaskLoop | TaskPolicy = registry.make(registry.TASK_POLICIES, spec)
    return policy


def simulate_tasks(
    workload: TaskWorkload,
    policy: str | TaskRule | TaskLoop | TaskPolicy,
    *,
    seed: int = 0,
    label: str | None = None,
    rules: str | EventRules = "textbook",
    progress: Progress | None = None,
) -> TaskSchedule:
    """Replay a workload of tasks under a policy, on machines that are empty at first.

    Parameters
    ----------
    workload : jobs of tasks, and the machines.
    policy : a name or specification (``"tetris:as-coded=yes"``, ``"window:solver=cpsat"``) or an object.
    seed : >= 0, for policies that draw random numbers.
    label : what to call the policy in the schedule, by default its name or specification.
    rules : the event rules, by a specification or as an object: ``textbook`` or, for cross-checks, ``cloudsimpy``,
        which takes policies that are rules.
    progress : called with the number of started instances.

    Raises
    ------
    SpecError : the policy's name or a parameter is unknown, the seed is negative, or the event rules are unknown or do
        not take this policy.
    PolicyError : the policy places what does not wait or does not fit, or leaves instances waiting on machines that
        stay empty.
    """
    expected(workload, TaskWorkload, "simulate_tasks: workload", "a TaskWorkload such as read_tasks gives")
    if whole(seed, "simulate_tasks: seed") < 0:
        raise SpecError(f"seed must be >= 0, got {seed}")
    ruled = task_rules(rules) if isinstance(rules, str) else rules
    chosen = make_task_policy(policy) if isinstance(policy, str) else policy
    title = label or (policy if isinstance(policy, str) else str(getattr(policy, "name", type(policy).__name__)))
    report = progress or (lambda started: None)
    arranged = arrange(ruled, workload)
    state = new_state(arranged, workload.instances)
    rng = stream(seed, "tasks")
    if isinstance(chosen, TaskRule | TaskLoop):
        advance = _advance(chosen, workload, arranged, rng)
        while advance(state):
            report(int(state.at.started))
            state = with_room(state)
    elif not isinstance(ruled, Textbook):
        raise SpecError(f"{ruled.name} rules take policies that are rules, not {title!r}")
    elif callable(getattr(chosen, "decide", None)):
        state = _ask(state, workload, chosen, rng, report)
    else:
        raise SpecError(f"simulate_tasks: expected the name of a policy or a policy, got {shown(policy)}")
    if state.at.waiting:
        task = int(state.queue[0])
        raise PolicyError(f"policy {title}: leaves {workload.name_of(task)} waiting on machines that stay empty")
    at = state.at
    return TaskSchedule(title, workload, state.batches[: at.batches], state.log[: at.passes], ruled.stated)


def _advance(
    policy: TaskRule | TaskLoop, workload: TaskWorkload, arranged: Arranged, rng: np.random.Generator
) -> Callable[[State], bool]:
    """What goes on with a replay under a compiled policy."""
    if isinstance(policy, TaskLoop):
        return policy.advance(workload, arranged, rng)
    rule = policy.rule(workload, arranged, rng)
    return lambda state: run_rule(state, rule)


def _ask(state: State, workload: TaskWorkload, policy: TaskPolicy, rng: np.random.Generator, report: Progress) -> State:
    """Replay under a policy in Python, decision by decision; the state at the end, which may have grown."""
    reset: Any = getattr(policy, "reset", None)
    if reset is not None:
        reset(rng)
    due = perf_counter() + _REPORTS
    while next_decision(state := with_room(state)):
        window = window_of(state, workload)
        problem = Placement(window.free, window.demands, window.waiting, resources=window.resources)
        given = np.asarray(policy.decide(window))
        if broken := problem.violations(given):
            raise PolicyError(f"at {window.now} s: {broken[0]}")
        queued = int(state.at.waiting)
        apply_decision(state, state.queue[: state.at.queued].copy(), given.astype(np.int64))
        note_pass(state, queued)
        if perf_counter() >= due:
            report(int(state.at.started))
            due = perf_counter() + _REPORTS
    return state


def window_of(state: State, workload: TaskWorkload) -> TaskWindow:
    """What a policy may know at this instant, in arrays of its own."""
    tasks = state.queue[: state.at.queued].copy()
    job = workload.job[tasks]
    return TaskWindow(
        now=int(state.at.now),
        job_ids=workload.job_ids[job],
        task_ids=workload.task_ids[tasks],
        submit=workload.submit[job],
        waiting=state.waiting[tasks],
        running=state.running[tasks],
        estimates=workload.estimate[tasks],
        demands=workload.demands[tasks],
        free=state.free.astype(np.int64),
        capacities=workload.machines.copy(),
        resources=workload.resources,
    )


@compiled
def apply_decision(state: State, tasks: IntArray, placed: IntArray) -> None:
    """Start what a decision says: ``placed[i, m]`` instances of ``tasks[i]`` on machine m."""
    for i in range(len(tasks)):
        for machine in range(placed.shape[1]):
            for _ in range(placed[i, machine]):
                place(state, tasks[i], machine)
