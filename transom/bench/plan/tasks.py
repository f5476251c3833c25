"""From a plan to its runs: instances one at a time, the runs of each in random order.

The solvers meet an instance one right after another and in random order, so that a drift of the machine hits all of
them alike. Nothing but the instance at hand is held in memory, besides a digest of each that was there already: what
stands in two sets is run once, in the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import msgspec

from transom.bench.plan.plan import InstanceSet, Plan, TraceSet, set_name
from transom.bench.plan.rooted_specs import rooted
from transom.bench.plan.sequences import replay_tasks
from transom.bench.plan.task import Task
from transom.errors import SpecError
from transom.io.instances import Instance, ReadOptions, from_documents
from transom.problems import problem_type, problem_types, types_of
from transom.registry import labelled_apart
from transom.rng import stream
from transom.solvers.named import NamedSolver
from transom.solving import refusal, wrong_type
from transom.stop import Stop

if TYPE_CHECKING:
    from transom.generate.instance_generator import InstanceGenerator
    from transom.io import Document

_Given = TypeVar("_Given")

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
    """

    groups: tuple[RunGroup, ...]
    unsupported: tuple[Unsupported, ...]
    instances: dict[str, int]
    unmade: int = 0

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


def dry_run(plan: Plan, known: Known = lambda run: "open", make: bool = True) -> DryRun:
    """Read all instances of a plan once and count its runs; whatever is wrong with the plan is reported here.

    Parameters
    ----------
    plan : the plan.
    known : what is known of its runs.
    make : whether the instances of recipes are made. Otherwise they are counted where the recipe says how many there
        are and of which kind, and every solver of that kind counts for each: quick, but it notices neither a refusal
        nor an instance that two recipes have in common.

    Raises
    ------
    DocumentError, TraceError, ModelError : a file cannot be read, or holds something else.
    SpecError : a solver, policy, recipe or parameter is unknown or does not fit, one solver stands in a set under two
        names, or none takes anything in the whole plan.
    """
    groups: dict[tuple[str, str, str, Stop, int], RunGroup] = {}
    takes: dict[tuple[str, str, str], Unsupported | None] = {}
    instances: dict[str, int] = {}
    unmade = 0

    def add(run: Task) -> None:
        terms = (run.set, run.name, run.problem, run.stop, run.threads)
        if terms not in groups:
            longest = run.limit if run.stop.seconds is None else run.stop.seconds
            groups[terms] = RunGroup(run.set, run.name, run.spec, run.problem, run.stop, run.threads, longest)
        groups[terms].states[known(run)] += 1

    for met in _met(plan, make):
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
        for run in replays:
            add(run)

    suited = tuple(each for each in groups.values() if takes.get((each.set, each.name, each.problem)) is None)
    unsupported = tuple(says for says in takes.values() if says is not None)
    if unsupported and not suited:
        says = unsupported[0]
        raise SpecError(f"solver {says.name!r} takes nothing in this plan; {says.set}: {says.problem}: {says.reason}")
    return DryRun(suited, unsupported, instances, unmade)


def expand_plan(
    plan: Plan, wanted: Callable[[Task], bool] = lambda run: True, planned: DryRun | None = None
) -> Iterator[Task]:
    """The runs of a plan, generated on demand; no two have the same key.

    Parameters
    ----------
    plan : the plan.
    wanted : whether a run, here without its document, is to be done; asked once for each.
    planned : what :func:`dry_run` said of the plan, where that is known.

    Raises
    ------
    As of :func:`dry_run`, before the first run is given.
    """
    planned = dry_run(plan) if planned is None else planned
    unsupported = {(each.set, each.name, each.problem) for each in planned.unsupported}
    return _tasks(plan, wanted, unsupported)


def _tasks(plan: Plan, wanted: Callable[[Task], bool], unsupported: set[tuple[str, str, str]]) -> Iterator[Task]:
    from transom.io import encode

    for met in _met(plan):
        suited = [named for named in met.named if (met.set, named.name, met.kind) not in unsupported]
        runs = [run for run in _runs(plan, met._replace(named=suited)) if wanted(run)]
        if runs:
            document = msgspec.Raw(encode(met.problem))
            for run in _shuffled(plan, runs):
                yield msgspec.structs.replace(run, document=document)
    for _, replays in _replays(plan):
        yield from _shuffled(plan, [run for run in replays if wanted(run)])


class _Named(NamedTuple):
    name: str
    spec: str
    solver: NamedSolver


class _Met(NamedTuple):
    """An instance, and the solvers that have not met it in an earlier set."""

    set: str
    label: str
    kind: str
    model: type
    problem: Any  # None if it is not made
    digest: str
    named: list[_Named]


def _met(plan: Plan, make: bool = True) -> Iterator[_Met]:
    seen: dict[str, frozenset[str]] = {}
    shared: dict[frozenset[str], frozenset[str]] = {}
    sets = [(each, set_name(each), _named(plan, each)) for each in plan.instances]
    for each, name, named in sets:
        files = [Path(file).name for file in each.files]
        distinct = len(set(files)) == len(files)
        for label, kind, model, problem, digest in (None if make else _counted(each, name)) or _read(each):
            if distinct:  # then tables need not show the folders, which differ from machine to machine
                label = Path(label).name
            before = seen.get(f"{kind} {digest}", frozenset())
            specs = before | {solver.spec for solver in named}
            seen[f"{kind} {digest}"] = shared.setdefault(specs, specs)
            left = [solver for solver in named if solver.spec not in before]
            yield _Met(name, label, kind, model, problem, digest, left)


_Instance = tuple[str, str, type, Any, str]  # label, kind, model, problem (None if it is not made), digest


def _read(each: InstanceSet) -> Iterator[_Instance]:
    for instance in read_set(each):
        problem = instance.problem
        yield instance.label, problem.kind, type(problem), problem, problem.digest()


def _counted(each: InstanceSet, name: str) -> Iterator[_Instance] | None:
    """The instances of a recipe, without making them; None where it does not tell how many or of which kind."""
    if each.generate is None:
        return None
    made, kind = _recipe(each, name), each.problem or _only_kind(each.generate)
    if kind is None or made.num_blocks is not None:
        return None
    model = problem_type(kind).model
    terms = msgspec.json.encode(msgspec.structs.replace(each, name="", solvers=(), count=1, take=None))
    digest = blake2b(terms, digest_size=16).hexdigest()
    numbers = range(1, each.count + 1)
    chosen = numbers if each.take is None else _spread(numbers, each.count, each.take)
    return ((f"{name}:{number}", kind, model, None, f"{digest}:{number}") for number in chosen)


def _only_kind(recipe: str) -> str | None:
    """The kind of what a recipe makes, if it makes one kind alone."""
    types = {kind.kind for each in problem_types() if recipe in each.recipes for kind in types_of(each.model)}
    return types.pop() if len(types) == 1 else None


def _replays(plan: Plan, make: bool = True) -> Iterator[tuple[TraceSet, list[Task]]]:
    """The replays of each trace, but for those that an earlier set has as well."""
    seen: set[str] = set()
    for trace in plan.traces:
        replays = [run for run in replay_tasks(plan, trace, make) if run.key() not in seen]
        seen.update(run.key() for run in replays)
        yield trace, replays


def _named(plan: Plan, each: InstanceSet) -> list[_Named]:
    found: list[_Named] = []
    for name, spec in labelled_apart([rooted(text, Path.cwd()) for text in each.solvers or plan.solvers]):
        if twin := next((other.name for other in found if other.spec == spec), None):
            raise SpecError(f"{set_name(each)}: {twin!r} and {name!r} are one solver: {spec}")
        try:
            found.append(_Named(name, spec, NamedSolver(spec)))
        except SpecError as error:
            raise SpecError(f"{set_name(each)}: {error}") from None
    return found


def _runs(plan: Plan, met: _Met) -> Iterator[Task]:
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


def read_set(each: InstanceSet) -> Iterator[Instance]:
    """The instances of a set, read or made one at a time.

    Raises
    ------
    DocumentError, ModelError : a file cannot be read, or holds something else.
    SpecError : a recipe, a name or a parameter is unknown, or a choice would be ignored.
    """
    documents = _documents(each)
    if each.take is not None:
        documents = _spread(documents, sum(1 for _ in _documents(each)), each.take)
    return from_documents(
        documents, ReadOptions(each.problem, each.objective, each.cost_model, each.wrap, each.objectives)
    )


def _documents(each: InstanceSet) -> Iterator[tuple[str, Document]]:
    from transom.io import read_documents

    if each.generate is None:
        return (pair for path in each.files for pair in read_documents(path))
    name = set_name(each)
    made = _recipe(each, name)
    return ((f"{name}:{number}", document) for number, document in enumerate(made.make(each.seed, each.count), 1))


def _recipe(each: InstanceSet, name: str) -> InstanceGenerator:
    from transom.generate.recipes import recipe

    if each.generate == "workload":
        raise SpecError(f"{name}: the recipe 'workload' makes traces, which stand under [[traces]]")
    try:
        return recipe(str(each.generate), each.parameters)
    except SpecError as error:
        raise SpecError(f"{name}: {error}") from None


def _spread(among: Iterable[_Given], count: int, take: int) -> Iterator[_Given]:
    """Every n-th of ``count``, so that ``take`` are left."""
    chosen = {at * count // take for at in range(take)} if take < count else None
    return (each for at, each in enumerate(among) if chosen is None or at in chosen)
