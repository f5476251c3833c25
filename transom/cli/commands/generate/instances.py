"""``transom generate``: instances of problems, random or out of workloads; options are the fields of recipes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options.recipe import chosen_recipe, with_recipes
from transom.cli.options.resources import Equipped, Resources
from transom.cli.output.console import check_writable, describe, note, number, print_json, progress, remark
from transom.errors import SpecError
from transom.generate.instances.csp_recipes import RandomPaths
from transom.generate.instances.joint_recipes import RandomJoints
from transom.generate.instances.knapsack_recipes import ClassKnapsacks, WindowKnapsacks
from transom.generate.instances.knapsacks import CLASSES
from transom.generate.instances.placement_recipes import FamilyPlacements, ReplayedPlacements
from transom.generate.instances.selection_recipes import FamilySelections, ReplayedSelections
from transom.generate.instances.selections import FAMILIES
from transom.generate.instances.tjap import Step
from transom.generate.instances.tjap_recipes import Family, FragmentedAllocations, StreamAllocations
from transom.generate.instances.workflow_recipes import RandomWorkflows
from transom.generate.recipes import recipe
from transom.generate.workload.workload_recipe import WorkloadRecipe
from transom.models import Knapsack, Selection

if TYPE_CHECKING:
    from transom.models import ConstrainedPath


_KNAPSACKS = {"classes": ClassKnapsacks, "windows": WindowKnapsacks}


@with_recipes(_KNAPSACKS)
def knapsack_command(
    out: options.DocumentsOut,
    klass: Annotated[str, typer.Option("--class", help="One of the classes above, all, or windows.")],
    given: dict[str, Any],
    count: options.Count = 1,
    objective: options.Objective = None,
    like: Annotated[
        Path | None, typer.Option("--like", help="windows: take them from this trace instead of a generated one.")
    ] = None,
    nodes: Annotated[int | None, typer.Option("--nodes", min=1, help="windows: number of nodes.")] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate 0-1 knapsacks: Pisinger's classes, or windows of a workload.

    The classes: uncorrelated, weakly-correlated, strongly-correlated, inverse-strongly-correlated,
    almost-strongly-correlated, subset-sum, similar-weights, spanner-uncorrelated, spanner-weakly-correlated,
    spanner-strongly-correlated, multiple-strongly-correlated, profit-ceiling, circle. By default, number i of N has
    the capacity i/(N+1) of its total weight, as in Pisinger's series; --ratio, --series and --capacity change that.

    Windows are consecutive jobs of a workload on a random number of free nodes. The workload is the trace of
    --like, or 5000 jobs of the model of Lublin and Feitelson on --nodes (by default 512). For the windows of a
    replay, see `transom snapshot`.
    """
    check_writable(out, ".jsonl", ".json")
    if klass == "windows":
        stated = {**given, **({} if objective is None else {"objective": objective})}
        made = _window_knapsacks(stated, count, like, nodes, seed)
    else:
        options.refuse({"--objective": objective, "--like": like, "--nodes": nodes}, f"--class {klass}")
        if "capacity" in given:
            others = {f"--{name}": given.get(name) for name in ("range", "ratio", "series")}
            options.refuse(others, "--capacity")
        made = _class_knapsacks(klass, count, given, seed)
    _write(out, made, "knapsack", json)


def _window_knapsacks(
    given: dict[str, Any], count: int, like: Path | None, nodes: int | None, seed: int
) -> Iterator[Knapsack]:
    workload = {"model": "lublin" if like is None else "trace", "like": like and str(like), "nodes": nodes}
    stated: dict[str, Any] = {name: value for name, value in workload.items() if value is not None}
    recipe = chosen_recipe(_KNAPSACKS, "windows", "knapsack", {**given, "windows": count, "workload": stated})
    if like is not None:
        for line in describe(WorkloadRecipe(**stated).trace()):
            note(line)
    return recipe.make(seed, count)


def _class_knapsacks(klass: str, count: int, given: dict[str, Any], seed: int) -> Iterator[Knapsack]:
    if "ratio" in given and "series" in given:
        raise SpecError("--ratio does not go with --series")
    if not given.keys() & {"ratio", "series", "capacity"}:
        given["length"] = count
    classes = CLASSES if klass == "all" else (klass,)
    made = [chosen_recipe(_KNAPSACKS, "classes", "knapsack", {**given, "class": each}) for each in classes]
    return chain.from_iterable(each.make(seed, count) for each in made)


_SELECTIONS = {"random families": FamilySelections, "--like": ReplayedSelections}


@with_recipes(_SELECTIONS)
def selection_command(
    out: options.DocumentsOut,
    given: dict[str, Any],
    like: Annotated[
        Path | None, typer.Option("--like", help="Take windows from a replay of this trace, instead of random ones.")
    ] = None,
    resources: Resources = None,
    start: Annotated[int | None, typer.Option("--start", min=0, help="like: position of the first job.")] = None,
    replay: Annotated[int | None, typer.Option("--replay", min=1, help="like: number of jobs to replay.")] = None,
    nodes: Annotated[int | None, typer.Option("--nodes", min=1, help="like: number of nodes.")] = None,
    count: options.SomeCount = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate selections: windows of jobs that ask for several resources.

    Families are random. uniform: independent demands. correlated: large jobs ask for much of everything. inverse: a
    job that asks for much of one resource asks for little of the others. ties: demands from 1 to 3. heavy:
    heavy-tailed demands. sparse: many demands are 0. Number i of a family does not depend on how many are
    generated.

    With --like TRACE, windows are taken from a replay: the head of the queue and what was free at that time.
    --resources adds demands for further resources. Every job has a waiting time, a walltime and a priority, which
    --objectives can name.
    """
    check_writable(out, ".jsonl", ".json")
    replayed = {"nodes": nodes, "start": start, "jobs": replay}
    if like is None:
        stated = {"--resources": resources, "--nodes": nodes, "--start": start, "--replay": replay}
        options.refuse(stated, "random families; it needs --like")
        made = _families(given, count or 1, seed)
    else:
        trace = {"model": "trace", "like": str(like), **replayed}
        workload = {name: value for name, value in trace.items() if value is not None}
        made = _replayed({**given, "workload": workload, "resources": resources}, count, seed)
    _write(out, made, "selection", json)


def _families(given: dict[str, Any], count: int, seed: int) -> Iterator[Selection]:
    names = tuple(FAMILIES) if given.get("family") == "all" else (given.get("family", "uniform"),)
    made = [chosen_recipe(_SELECTIONS, "random families", "selection", {**given, "family": each}) for each in names]
    return chain.from_iterable(each.make(seed, count) for each in made)


def _replayed(given: dict[str, Any], count: int | None, seed: int) -> Iterator[Selection]:
    recipe = chosen_recipe(_SELECTIONS, "--like", "selection", given)
    assert isinstance(recipe, ReplayedSelections)
    workload, provisions = recipe.equipped(seed, 1)
    for line in describe(workload) + Equipped(workload, provisions, {}).lines:
        note(line)
    with progress() as bars:
        task = bars.add_task(recipe.policy, total=len(workload))
        schedule = recipe.replay(workload, seed, lambda done: bars.update(task, completed=done))
    found = recipe.cut(schedule)
    first = next(found, None)
    if first is None:
        raise SpecError(f"{recipe.workload.like}: no window of the replay leaves {recipe.minimum} jobs to choose among")
    return islice(chain((first,), found), count)


_ALLOCATIONS = {"--family stream": StreamAllocations, "--family fragmented": FragmentedAllocations}
_FILL_UP = 15  # periods in which the empty cluster of the paper fills


@with_recipes(_ALLOCATIONS)
def tjap_command(
    out: Annotated[Path, typer.Option("--out", help="Output file: .jsonl or .jsonl.gz.")],
    given: dict[str, Any],
    family: Annotated[
        Family,
        typer.Option("--family", help="stream: the stream of the paper. fragmented: single windows of any size."),
    ] = "stream",
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=1, help="stream: number of runs from an empty cluster. By default 1.")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", min=1, help="fragmented: number of windows. By default 1.")
    ] = None,
    cost_model: options.CostModel = None,
    wrap: options.Wrap = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate windows of topology-aware job allocation on a fat tree.

    stream: jobs arrive at a cluster that is empty at first. In each period, the jobs with the highest priority
    (most periods waited, then fewest nodes) become a window, and the solver of --policy places them, which shapes
    the next windows. Defaults are those of the paper; --window code --pod-nodes 40 --cost-model authors gives those
    of the authors' code. Solving times play no part.

    fragmented: independent windows. Random busy runs leave the idle nodes, and jobs take up to a given share of
    them. There is no wrap-around unless --wrap is given.
    """
    check_writable(out, ".jsonl")
    if "k" in given:
        options.refuse({"--leaf-nodes": given.get("leaf_nodes"), "--pod-nodes": given.get("pod_nodes")}, "--k")
    options.refuse({"--count": count} if family == "stream" else {"--epochs": epochs}, f"--family {family}")
    common = {"cost_model": cost_model, "wrap": wrap}
    given |= {name: value for name, value in common.items() if value is not None}
    recipe = chosen_recipe(_ALLOCATIONS, f"--family {family}", "tjap", given)
    if isinstance(recipe, StreamAllocations):
        _write_stream(out, recipe, epochs or 1, seed, json)
    else:
        _write(out, recipe.make(seed, count or 1), "window", json)


def _write_stream(out: Path, recipe: StreamAllocations, epochs: int, seed: int, json: bool) -> None:
    from transom.io import write_documents

    reporter = _Progress(epochs, recipe.periods)

    def steps() -> Iterator[Any]:
        with progress(hidden=json) as bars:
            task = bars.add_task(recipe.policy, total=epochs)
            for epoch in range(1, epochs + 1):
                for step in recipe.steps(seed, epoch):
                    reporter.add(step)
                    yield recipe.document(step)
                bars.advance(task)

    count = write_documents(out, steps())
    facts = {"windows": count, "policy": recipe.policy, **reporter.facts()}
    if json:
        print_json({"out": str(out), **facts})
    else:
        many = f"{counted(count, 'window')} in {counted(epochs * recipe.periods, 'period')}"
        remark(f"{out}: {many}, {facts['jobs']} jobs each on average")
        costs = ", ".join(f"{where} {number(value)}" for where, value in facts["cost_per_period"].items())
        remark(f"{recipe.policy}, cost per period: {costs}")


class _Progress:
    """What a stream looks like, apart for the time in which the cluster fills."""

    def __init__(self, epochs: int, periods: int) -> None:
        self._epochs, self._periods = epochs, periods
        self._jobs = self._windows = 0
        self._cost = {"filling": 0.0, "steady": 0.0}

    def add(self, step: Step) -> None:
        """Take in a window."""
        self._windows += 1
        self._jobs += len(step.problem)
        early = (step.window.period or 0) <= _FILL_UP
        self._cost["filling" if early else "steady"] += step.problem.value(step.owner)

    def facts(self) -> dict[str, Any]:
        """Jobs of a window, and the mean cost of a period; a period without a window costs nothing."""
        filling = min(self._periods, _FILL_UP)
        length = {"filling": filling * self._epochs, "steady": (self._periods - filling) * self._epochs}
        costs = {"all": sum(self._cost.values()) / (self._periods * self._epochs)}
        costs.update({where: total / length[where] for where, total in self._cost.items() if length[where]})
        return {"jobs": round(self._jobs / max(self._windows, 1), 2), "cost_per_period": costs}


@with_recipes({"random costs": RandomPaths})
def csp_command(
    out: options.DocumentsOut,
    given: dict[str, Any],
    like: Annotated[
        Path | None, typer.Option("--like", help="Convert these allocations or windows to paths, without wrap-around.")
    ] = None,
    count: options.SomeCount = None,
    cost_model: options.CostModel = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate constrained shortest paths.

    Without --like, arcs have random integer costs, and a feasible path exists. With --like FILE, the paths are the
    static allocations of that file on a line; --cost-model sets the hop costs where the file holds windows.
    """
    check_writable(out, ".jsonl", ".json")
    if like is not None:
        options.refuse({f"--{name}": value for name, value in given.items()}, "--like")
        made = _paths_of(like, count, cost_model)
    else:
        options.refuse({"--cost-model": cost_model}, "random costs")
        made = recipe("csp", given).make(seed, count or 1)
    _write(out, made, "path", json)


def _paths_of(like: Path, count: int | None, cost_model: str | None) -> Iterator[ConstrainedPath]:
    from transom.io.instances import ReadOptions, read_instances

    return (problem for _, problem in islice(read_instances([like], ReadOptions("csp", cost_model=cost_model)), count))


_PLACEMENTS = {"a family": FamilyPlacements, "--like": ReplayedPlacements}


@with_recipes(_PLACEMENTS)
def placement_command(
    out: options.DocumentsOut,
    given: dict[str, Any],
    like: Annotated[
        Path | None, typer.Option("--like", help="Take windows from replays of this file of tasks, chunk by chunk.")
    ] = None,
    count: options.Count = 1,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate placements: instances of tasks on machines with several capacities.

    The family alibaba resembles windows of Alibaba's trace of 2017. With --like FILE, windows are taken from
    replays of a file of tasks, with the machines as busy as they were.
    """
    check_writable(out, ".jsonl", ".json")
    word, source = ("a family", {}) if like is None else ("--like", {"like": str(like)})
    made = chosen_recipe(_PLACEMENTS, word, "placement", {**source, **given}).make(seed, count)
    _write(out, made, "placement", json)


@with_recipes({"random tasks": RandomWorkflows})
def workflow_command(
    out: options.DocumentsOut,
    given: dict[str, Any],
    count: options.Count = 1,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate workflows: tasks with dependencies, in layers, chains, forks and joins, or trees.

    Tasks of one program have similar runtimes; runtimes of different programs differ a lot. With --gap, the workflows
    are a stream of Poisson arrivals.
    """
    check_writable(out, ".jsonl", ".json")
    _write(out, recipe("workflow", given).make(seed, count), "workflow", json)


@with_recipes({"random jobs": RandomJoints})
def joint_command(
    out: options.DocumentsOut,
    given: dict[str, Any],
    count: options.Count = 1,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate joint choices: which jobs start, weighted by node-hours, and on which idle nodes of a tree."""
    check_writable(out, ".jsonl", ".json")
    _write(out, recipe("joint", given).make(seed, count), "joint choice", json, "joint")


def _write(out: Path, documents: Iterable[Any], noun: str, json: bool, key: str = "") -> None:
    """Write documents, and print their number as ``noun``, in JSON under ``key``, by default its plural."""
    from transom.io import write_documents

    many = write_documents(out, documents)
    if json:
        print_json({"out": str(out), key or f"{noun}s": many})
    else:
        remark(f"{out}: {counted(many, noun)}")
