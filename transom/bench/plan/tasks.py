"""From a plan to its runs: the runs of an instance one right after another, in random order.

So a drift of the machine hits all solvers alike. What stands in two sets is run once, in the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

import msgspec

from transom.bench.plan.contents import Contents, read_contents
from transom.bench.plan.instances import Met
from transom.bench.plan.plan import Plan
from transom.bench.plan.task import Task
from transom.rng import stream
from transom.stop import Stop

State = Literal["open", "done", "failed", "outdated"]
"""What is known of a run: nothing; it came to an end; it failed; it came to an end under other code or versions."""

Known = Callable[[Task], State]
"""Tells the state of a run, here without its document."""


@dataclass(slots=True)
class RunGroup:
    """Runs of one solver or policy under one budget, on the problems of one kind in a set.

    Parameters
    ----------
    set, name, spec, problem, stop, threads : what the runs have in common.
    longest : the most that one of them takes before its grace [s].
    states : how many of them are in each state.
    """

    set: str
    name: str
    spec: str
    problem: str
    stop: Stop
    threads: int
    longest: float
    states: dict[State, int] = field(default_factory=lambda: {"open": 0, "done": 0, "failed": 0, "outdated": 0})

    def runs(self, *states: State) -> int:
        """How many there are in these states, by default in all."""
        return sum(self.states[each] for each in states or self.states)


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a plan comes to.

    Parameters
    ----------
    groups : the runs, in the order of the plan; solvers have none where they do not apply.
    contents : what was read.
    """

    groups: tuple[RunGroup, ...]
    contents: Contents

    def runs(self, *states: State) -> int:
        """How many runs there are in these states, by default in all."""
        return sum(group.runs(*states) for group in self.groups)

    def idle(self) -> dict[str, str]:
        """Solvers that take no instance of the whole plan, and why they do not take the first."""
        at_work = {group.name for group in self.groups}
        unsupported = reversed(self.contents.unsupported)
        return {each.name: each.reason for each in unsupported if each.name not in at_work}

    def seconds(self, *states: State, grace: float = 0.0) -> float:
        """How long runs in these states take one after another at most, each with this grace [s]."""
        return sum((group.longest + grace) * group.runs(*states) for group in self.groups)


def dry_run(plan: Plan, known: Known = lambda run: "open", contents: Contents | None = None) -> DryRun:
    """Count the runs of a plan; whatever is wrong with the plan is reported here.

    Parameters
    ----------
    plan : the plan.
    known : what is known of its runs.
    contents : of the plan, where they are read already.

    Raises
    ------
    As of :func:`~transom.bench.plan.contents.read_contents`.
    """
    contents = contents or read_contents(plan)
    groups: dict[tuple[str, str, str, Stop, int], RunGroup] = {}
    for run in (run for runs in _by_instance(plan, contents) for run in runs):
        terms = (run.set, run.name, run.problem, run.stop, run.threads)
        if terms not in groups:
            longest = run.limit if run.stop.seconds is None else run.stop.seconds
            groups[terms] = RunGroup(run.set, run.name, run.spec, run.problem, run.stop, run.threads, longest)
        groups[terms].states[known(run)] += 1
    return DryRun(tuple(groups.values()), contents)


def expand_plan(
    plan: Plan, wanted: Callable[[Task], bool] = lambda run: True, contents: Contents | None = None
) -> Iterator[Task]:
    """The runs of a plan, generated on demand; no two have the same key.

    Parameters
    ----------
    plan : the plan.
    wanted : whether a run, here without its document, is to be done; asked once for each.
    contents : of the plan, where they are read already.

    Raises
    ------
    As of :func:`~transom.bench.plan.contents.read_contents`, before the first run is given.
    """
    return _tasks(plan, wanted, contents or read_contents(plan))


def _tasks(plan: Plan, wanted: Callable[[Task], bool], contents: Contents) -> Iterator[Task]:
    for number, runs in enumerate(_by_instance(plan, contents)):
        left = [run for run in runs if wanted(run)]
        if not left:
            continue
        order = stream(plan.shuffle, "order of runs", left[0].instance).permutation(len(left))
        document = contents.document(number) if left[0].what == "solve" else None
        for run in (left[at] for at in order):
            yield run if document is None else msgspec.structs.replace(run, document=document)


def _by_instance(plan: Plan, contents: Contents) -> Iterator[list[Task]]:
    """The runs on each instance, in the order of the plan and without the document; then the replays of each trace."""
    unsupported = {(each.set, each.name, each.problem) for each in contents.unsupported}
    for met in contents.met:
        suited = [named for named in met.named if (met.set, named.name, met.kind) not in unsupported]
        yield list(_runs(plan, met._replace(named=suited)))
    yield from contents.replays


def _runs(plan: Plan, met: Met) -> Iterator[Task]:
    """The runs on an instance, in the order of the plan and without the document."""
    budgets = product(dict.fromkeys(plan.seeds), dict.fromkeys(plan.stops()), dict.fromkeys(plan.threads))
    for (seed, stop, threads), named in product(list(budgets), met.named):
        yield Task(
            set=met.set,
            label=met.label,
            document=msgspec.Raw(b"null"),
            instance=met.digest,
            problem=met.kind,
            name=named.name,
            spec=named.spec,
            stop=stop,
            seed=seed,
            threads=threads,
            weights=named.solver.weights(met.model),
            grace=plan.grace,
            limit=plan.limit,
            memory=plan.memory,
            clock=plan.clock,
        )
