"""A plan: instance sets x solvers x seeds x budgets x threads, and traces x policies x seeds, as plain data."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import astuple
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import msgspec

from transom import registry
from transom.bench.plan import rooted_specs
from transom.bench.plan.task import Clock
from transom.class_files import trust_files
from transom.errors import DocumentError, SpecError, StopError
from transom.io.toml_files import parse_toml, read_text
from transom.registry import labelled_apart
from transom.stop import Stop

FORMAT = "transom/plan/1"

LARGEST = 2**63 - 1
"""Whole numbers of a plan are columns of tables, which hold no larger ones."""
LONGEST = 1e8
"""Of a budget: three years [s]."""

Positive = Annotated[int, msgspec.Meta(ge=1)]
Natural = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=LONGEST)]


class InstanceSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Instances from files or a generator, and their solvers.

    Parameters
    ----------
    name : what tables and figures call it; the recipe or the first file by default.
    files : documents of windows, problems or streams; relative ones start at the folder of the plan.
    generate : the name of a recipe (:mod:`transom.generate.recipes`) instead.
    parameters : of the recipe.
    count : how many the recipe makes.
    seed : of the recipe.
    problem, objective, objectives, cost_model, wrap : what to make of windows, as on the command line.
    take : at most so many, evenly spread over the set; all by default.
    solvers : instead of the plan's.
    """

    name: str = ""
    files: tuple[str, ...] = ()
    generate: str | None = None
    parameters: dict[str, Any] = {}
    count: Positive = 1
    seed: Natural = 0
    problem: str | None = None
    objective: str | None = None
    objectives: str | None = None
    cost_model: str | None = None
    wrap: bool | None = None
    take: Positive | None = None
    solvers: tuple[str, ...] = ()


class TraceSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workload that is replayed under each policy: a sequence of windows.

    Parameters
    ----------
    name : what tables and figures call it; the file or the recipe by default.
    file : a trace in the Standard Workload Format; a relative one starts at the folder of the plan.
    generate, parameters, workload_seed : the name of a recipe of a workload instead.
    policies : ``[LABEL=]SPEC`` of each.
    nodes, start, jobs : as of ``transom simulate``.
    rules : event rules, as a specification.
    jitter : submissions move by up to so much either way, by the seed of the run [s].
    """

    name: str = ""
    file: str | None = None
    generate: str | None = None
    parameters: dict[str, Any] = {}
    workload_seed: Natural = 0
    policies: tuple[str, ...] = ()
    nodes: Positive | None = None
    start: Natural = 0
    jobs: Positive | None = None
    rules: str = "textbook"
    jitter: Natural = 0


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The instances, solvers and limits of a comparison.

    Parameters
    ----------
    name, description : for people.
    instances, traces : what is solved and what is replayed.
    solvers : ``[LABEL=]SPEC`` of each; a solver meets the instances of the types that it takes.
    seeds : every run is done once with each.
    seconds : budgets in time [s].
    budgets : further budgets, with any of the criteria of :class:`~transom.stop.Stop`.
    threads : how many a run may use, one run for each number.
    grace : how long past its budget a run may take before its process is ended [s].
    limit : the longest that a run without a budget in seconds may take [s].
    memory : resident memory at which the process of a run is ended [MiB].
    clock : what seconds are read from: ``wall`` time, or the ``cpu`` time of the process of a run, for measurements on
        machines that are busy otherwise; threads of a solver and processes that it starts do not share one clock.
    shuffle : seed of the order of the runs.
    """

    format: str = FORMAT
    name: str = ""
    description: str = ""
    instances: tuple[InstanceSet, ...] = ()
    traces: tuple[TraceSet, ...] = ()
    solvers: tuple[str, ...] = ("auto",)
    seeds: Annotated[tuple[Natural, ...], msgspec.Meta(min_length=1)] = (0,)
    seconds: tuple[Seconds, ...] = ()
    budgets: tuple[Stop, ...] = ()
    threads: Annotated[tuple[Positive, ...], msgspec.Meta(min_length=1)] = (1,)
    grace: Seconds = 5.0
    limit: Seconds = 3600.0
    memory: Positive = 4096
    clock: Clock = "wall"
    shuffle: Natural = 0

    def stops(self) -> tuple[Stop, ...]:
        """Every budget; one second where the plan names none."""
        return tuple(Stop(seconds=seconds) for seconds in self.seconds) + self.budgets or (Stop(seconds=1.0),)

    def digest(self) -> str:
        """A digest of the whole plan."""
        return blake2b(msgspec.json.encode(self, order="sorted"), digest_size=16).hexdigest()


def suites() -> list[str]:
    """Names of the plans that come with the package."""
    folder = files("transom.bench.plan") / "suites"
    return sorted(each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml"))


def read_plan(source: str | os.PathLike[str], trusted: bool = False) -> Plan:
    """Read a plan from a TOML file, or the suite of that name; paths in it become absolute.

    ``trusted`` as of :func:`parse_plan`.

    Raises
    ------
    DocumentError : the file cannot be read, is not TOML, or breaks a condition; the message names file and place.
    SpecError : the suite, a solver or a policy is unknown, or a parameter of one does not fit.
    """
    path = Path(source)
    if path.suffix == ".toml":
        text = read_text(path)
    elif str(source) in suites():
        text = (files("transom.bench.plan") / "suites" / f"{source}.toml").read_text(encoding="utf-8")
    else:
        raise registry.unknown("suite", str(source), suites(), ", or a file PLAN.toml")
    return parse_plan(text, str(source), path.parent, trusted)


def parse_plan(text: str, where: str, folder: Path, trusted: bool = False) -> Plan:
    """Read a plan from the text of a TOML file.

    Parameters
    ----------
    text : the TOML.
    where : the file, for messages.
    folder : where relative paths start.
    trusted : allow files of classes that it names to be run (:func:`~transom.class_files.trust_files`).

    Raises
    ------
    DocumentError, SpecError : as of :func:`read_plan`.
    """
    try:
        plan = msgspec.convert(parse_toml(text, where), Plan)
    except (msgspec.ValidationError, StopError) as error:
        words, _, place = str(error).partition(" - at ")
        at = place.strip("`").removeprefix("$").removeprefix(".")
        raise DocumentError(f"{where}: {at and at + ': '}{words[0].lower()}{words[1:]}") from None
    if plan.format != FORMAT:
        raise DocumentError(f"{where}: format {plan.format!r} is not known; known: {FORMAT}")
    plan = _rooted(plan, folder.absolute())
    if trusted:
        for spec in _specs(plan):
            trust_files(spec)
    check_plan(plan, where)
    return plan


def check_plan(plan: Plan, where: str) -> None:
    """Check a plan without reading its instances.

    Raises
    ------
    DocumentError : a set has no source or two, names are twice, there is nothing to do, or a number cannot be kept.
    SpecError : a solver or policy is unknown, or a parameter does not fit; two have one label.
    """
    if not plan.instances and not plan.traces:
        raise DocumentError(f"{where}: there is nothing to do: neither [[instances]] nor [[traces]]")
    _check_numbers(plan, where)
    for i, each in enumerate(plan.instances):
        if bool(each.files) == (each.generate is not None):
            raise DocumentError(f"{where}: instances[{i}]: either files or generate is needed")
        _distinct(where, f"instances[{i}]", each.solvers or plan.solvers)
    for i, trace in enumerate(plan.traces):
        if (trace.file is None) == (trace.generate is None):
            raise DocumentError(f"{where}: traces[{i}]: either file or generate is needed")
        if not trace.policies:
            raise DocumentError(f"{where}: traces[{i}]: policies are missing")
        _distinct(where, f"traces[{i}]", trace.policies)
    names = [*map(set_name, plan.instances), *map(set_name, plan.traces)]
    if twice := {name for name in names if names.count(name) > 1}:
        raise DocumentError(f"{where}: two sets are called {sorted(twice)[0]!r}; give one a name")


def set_name(each: InstanceSet | TraceSet) -> str:
    """The name of a set."""
    source = (each.files[0] if each.files else None) if isinstance(each, InstanceSet) else each.file
    return each.name or each.generate or (Path(source).name.partition(".")[0] if source else "")


def _check_numbers(plan: Plan, where: str) -> None:
    """Refuse what a table could not hold, and what JSON would lose on its way to a worker.

    Raises
    ------
    DocumentError : a seed, a number of threads or a limit of a budget is too large or not finite.
    """
    for name, numbers in (("seeds", plan.seeds), ("threads", plan.threads)):
        for number in numbers:
            if number > LARGEST:
                raise DocumentError(f"{where}: {name} must be <= {LARGEST}, got {number}")
    for stop in plan.stops():
        for name, limit in zip(("seconds", "iterations", "target", "gap", "stall"), astuple(stop), strict=True):
            if isinstance(limit, float) and not math.isfinite(limit):
                raise DocumentError(f"{where}: budget: {name} must be finite, got {limit}")
            most = LONGEST if name == "seconds" else LARGEST
            if limit is not None and name not in ("target", "gap") and limit > most:
                raise DocumentError(f"{where}: budget: {name} must be <= {int(most)}, got {limit}")


def _specs(plan: Plan) -> Iterator[str]:
    yield from plan.solvers
    for each in plan.instances:
        yield from each.solvers
    for trace in plan.traces:
        yield from trace.policies


def _distinct(where: str, place: str, specs: tuple[str, ...]) -> None:
    labels = [label for label, _ in labelled_apart(specs)]
    if not labels:
        raise DocumentError(f"{where}: {place}: there is no solver")
    for label in labels:
        if labels.count(label) > 1:
            raise SpecError(f"{where}: {place}: two are called {label!r}; name one by LABEL=SPEC")


def _rooted(plan: Plan, folder: Path) -> Plan:
    from transom.generate.recipes import rooted

    def start(path: str) -> str:
        return str(folder / Path(path).expanduser())

    def specs(of: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(rooted_specs.rooted(spec, folder) for spec in of)

    instances = (
        msgspec.structs.replace(
            each,
            files=tuple(map(start, each.files)),
            parameters=rooted(each.parameters, folder),
            solvers=specs(each.solvers),
        )
        for each in plan.instances
    )
    traces = (
        msgspec.structs.replace(
            trace,
            file=trace.file and start(trace.file),
            parameters=rooted(trace.parameters, folder),
            policies=specs(trace.policies),
        )
        for trace in plan.traces
    )
    return msgspec.structs.replace(plan, instances=tuple(instances), traces=tuple(traces), solvers=specs(plan.solvers))
