"""From a plan to its runs: the runs of an instance one right after another, in random order.

So a drift of the machine hits all solvers alike. What stands in two sets is run once, in the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

import msgspec

from transom.bench.plan.instances import KeptInstances, Met, instances_of
from transom.bench.plan.plan import Plan, TraceSet, set_name
from transom.bench.plan.sequences import replay_tasks
from transom.bench.plan.task import Task
from transom.errors import SpecError
from transom.rng import stream
from transom.solving import refusal, wrong_type
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


@dataclass(slots=True)
class Unsupported:
    """A solver that takes none of the instances of a kind in a set.

    Parameters
    ----------
    set, name, problem : the set, the solver and the kind.
    reason : what it says of the first instance.
    instances : how many there are.
    """

    set: str
    name: str
    problem: str
    reason: str
    instances: int = 0


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a plan comes to.

    Parameters
    ----------
    groups : the runs, in the order of the plan.
    unsupported : which solvers do not apply where; they have no runs there.
    instances : how many each set has.
    unmade : how many of them were only counted: no solver was asked about them.
    kept, replays : the instances and the replays of each trace, where they are kept for :func:`expand_plan`.
    """

    groups: tuple[RunGroup, ...]
    unsupported: tuple[Unsupported, ...]
    instances: dict[str, int]
    unmade: int = 0
    kept: KeptInstances | None = None
    replays: tuple[list[Task], ...] = ()

    def runs(self, *states: State) -> int:
        """How many runs there are in these states, by default in all."""
        return sum(group.runs(*states) for group in self.groups)

    def idle(self) -> dict[str, str]:
        """Solvers that take no instance of the whole plan, and why they do not take the first."""
        at_work = {group.name for group in self.groups}
        return {each.name: each.reason for each in reversed(self.unsupported) if each.name not in at_work}

    def seconds(self, *states: State, grace: float = 0.0) -> float:
        """How long runs in these states take one after another at most, each with this grace [s]."""
        return sum((group.longest + grace) * group.runs(*states) for group in self.groups)


def dry_run(plan: Plan, known: Known = lambda run: "open", make: bool = True, keep: bool = False) -> DryRun:
    """Read all instances of a plan once and count its runs; whatever is wrong with the plan is reported here.

    Parameters
    ----------
    plan : the plan.
    known : what is known of its runs.
    make : whether the instances of recipes are made. Otherwise they are counted where the recipe says how many there
        are and of which kind, and every solver of that kind counts for each: quick, but it notices neither a refusal
        nor an instance that two recipes have in common.
    keep : whether what was read is kept, so that :func:`expand_plan` need not read it again; not where it is not made.

    Raises
    ------
    DocumentError, TraceError, ModelError : a file cannot be read, or holds something else.
    SpecError : a solver, policy, recipe or parameter is unknown or does not fit, one solver stands in a set under two
        names, or none takes anything in the whole plan.
    """
    groups: dict[tuple[str, str, str, Stop, int], RunGroup] = {}
    takes: dict[tuple[str, str, str], Unsupported | None] = {}
    instances: dict[str, int] = {}
    unmade, kept, kept_replays = 0, KeptInstances() if keep else None, []

    def add(run: Task) -> None:
        terms = (run.set, run.name, run.problem, run.stop, run.threads)
        if terms not in groups:
            longest = run.limit if run.stop.seconds is None else run.stop.seconds
            groups[terms] = RunGroup(run.set, run.name, run.spec, run.problem, run.stop, run.threads, longest)
        groups[terms].states[known(run)] += 1

    for met in instances_of(plan, make):
        if kept is not None:
            kept.add(met)
        instances[met.set] = instances.get(met.set, 0) + 1
        unmade += met.problem is None
        for named in met.named:
            terms = (met.set, named.name, met.kind)
            if terms in takes and takes[terms] is None:
                continue
            solver = named.solver.for_type(met.model)
            reason = wrong_type(solver, met.model) if met.problem is None else refusal(solver, met.problem)
            if reason is None:
                takes[terms] = None
            else:
                says = takes.setdefault(terms, Unsupported(*terms, reason))
                assert says is not None
                says.instances += 1
        for run in _runs(plan, met):
            add(run)
    for trace, replays in _replays(plan, make):
        instances[set_name(trace)] = 1
        unmade += not make and trace.generate is not None
        kept_replays.append(replays)
        for run in replays:
            add(run)

    suited = tuple(each for each in groups.values() if takes.get((each.set, each.name, each.problem)) is None)
    unsupported = tuple(says for says in takes.values() if says is not None)
    if unsupported and not suited:
        says = unsupported[0]
        raise SpecError(f"solver {says.name!r} takes nothing in this plan; {says.set}: {says.problem}: {says.reason}")
    return DryRun(suited, unsupported, instances, unmade, kept, tuple(kept_replays))


def expand_plan(
    plan: Plan, wanted: Callable[[Task], bool] = lambda run: True, planned: DryRun | None = None
) -> Iterator[Task]:
    """The runs of a plan, generated on demand; no two have the same key.

    Parameters
    ----------
    plan : the plan.
    wanted : whether a run, here without its document, is to be done; asked once for each.
    planned : what :func:`dry_run` said of the plan and kept of it, where that is known.

    Raises
    ------
    As of :func:`dry_run`, before the first run is given.
    """
    planned = dry_run(plan, keep=True) if planned is None else planned
    assert planned.kept is not None
    return _tasks(plan, wanted, planned, planned.kept)


def _tasks(plan: Plan, wanted: Callable[[Task], bool], planned: DryRun, kept: KeptInstances) -> Iterator[Task]:
    unsupported = {(each.set, each.name, each.problem) for each in planned.unsupported}
    for number, met in enumerate(kept.met):
        suited = [named for named in met.named if (met.set, named.name, met.kind) not in unsupported]
        runs = [run for run in _runs(plan, met._replace(named=suited)) if wanted(run)]
        if runs:
            document = kept.document(number)
            for run in _shuffled(plan, runs):
                yield msgspec.structs.replace(run, document=document)
    for replays in planned.replays:
        yield from _shuffled(plan, [run for run in replays if wanted(run)])


def _replays(plan: Plan, make: bool = True) -> Iterator[tuple[TraceSet, list[Task]]]:
    """The replays of each trace, but for those that an earlier set has as well."""
    seen: set[str] = set()
    for trace in plan.traces:
        replays = [run for run in replay_tasks(plan, trace, make) if run.key() not in seen]
        seen.update(run.key() for run in replays)
        yield trace, replays


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


def _shuffled(plan: Plan, runs: list[Task]) -> Iterator[Task]:
    """In an order that the plan's seed and the instance determine, wherever in the plan that stands."""
    if runs:
        order = stream(plan.shuffle, "order of runs", runs[0].instance).permutation(len(runs))
        yield from (runs[at] for at in order)
