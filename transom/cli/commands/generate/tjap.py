"""``transom generate tjap``: windows of topology-aware job allocation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options.recipe import chosen_recipe, with_recipes
from transom.cli.output.console import check_writable, number, print_json, progress, remark
from transom.cli.output.instances import write_and_report
from transom.generate.instances.tjap import Step
from transom.generate.instances.tjap_recipes import Family, FragmentedAllocations, StreamAllocations

_RECIPES = {"--family stream": StreamAllocations, "--family fragmented": FragmentedAllocations}
_FILL_UP = 15  # periods in which the empty cluster of the paper fills


@with_recipes(_RECIPES)
def command(
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
    recipe = chosen_recipe(_RECIPES, f"--family {family}", "tjap", given)
    if isinstance(recipe, StreamAllocations):
        _write_stream(out, recipe, epochs or 1, seed, json)
    else:
        write_and_report(out, recipe.make(seed, count or 1), "window", json)


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
