"""``transom generate tjap``: windows of topology-aware job allocation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from transom._system.wording import counted, digits
from transom.cli.options import common as options
from transom.cli.output.console import check_writable, number, print_json, progress, remark
from transom.cli.output.instances import write_and_report

if TYPE_CHECKING:
    from transom.generate.instances.tjap import Step
    from transom.generate.instances.tjap_recipes import StreamAllocations


Family = Literal["stream", "fragmented"]
"""Which windows."""


WindowRule = Literal["paper", "code"]
"""Which waiting jobs a window takes."""


OneNode = Literal["lowest", "lost"]
"""What becomes of jobs of one node."""


Form = Literal["documents", "lines"]
"""What is written."""


Law = Literal["lognormal", "uniform"]
"""How sizes are distributed."""


ProblemName = Literal["scas", "dcas", "free"]
"""Which allocation problem."""


_FILL_UP = 15  # periods in which the empty cluster of the paper fills

_RANGES = ("gaps", "sizes", "runtimes")
_STREAM = (
    "epochs", "periods", "period", *_RANGES, "window", "most", "one_node", "policy", "iterations", "form",
)  # fmt: skip
_FRAGMENTED = ("count", "idle", "jobs", "law", "mean", "spread", "cap", "longest", "load")
_BOTH = ("nodes", "k", "leaf_nodes", "pod_nodes", "problem", "cost_model", "wrap")


def command(
    out: Annotated[Path, typer.Option("--out", help="Output file: .jsonl or .jsonl.gz.")],
    family: Annotated[
        Family,
        typer.Option("--family", help="stream: the stream of the paper. fragmented: single windows of any size."),
    ] = "stream",
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, help="Number of nodes. By default 1000, fragmented: 20000.")
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("--k", help="Ports of a switch: leaves of k/2 nodes, pods of k/2 leaves. stream: by default 20."),
    ] = None,
    leaf_nodes: Annotated[
        int | None,
        typer.Option("--leaf-nodes", min=1, help="Nodes of a leaf switch, instead of k/2. fragmented: by default 32."),
    ] = None,
    pod_nodes: Annotated[
        int | None,
        typer.Option(
            "--pod-nodes",
            min=1,
            help="Nodes of a pod, such as the authors' 40, instead of k*k/4. fragmented: by default 512.",
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=1, help="stream: number of runs from an empty cluster. By default 1.")
    ] = None,
    periods: Annotated[
        int | None, typer.Option("--periods", min=1, help="stream: number of periods of a run. By default 100.")
    ] = None,
    period: Annotated[int | None, typer.Option("--period", help="stream: length of a period. By default 60.")] = None,
    gaps: Annotated[
        str | None,
        typer.Option("--gaps", metavar="A-B", help="stream: range of interarrival times, in seconds. By default 5-30."),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option("--sizes", metavar="A-B", help="stream: range of job sizes, in nodes. By default 1-40."),
    ] = None,
    runtimes: Annotated[
        str | None,
        typer.Option("--runtimes", metavar="A-B", help="stream: range of runtimes, in seconds. By default 10-1800."),
    ] = None,
    window: Annotated[
        WindowRule | None,
        typer.Option(
            "--window",
            help="stream: which jobs form a window. paper: all that fit (default). code: a prefix "
            "of up to 5, as in the authors' code.",
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option("--most", min=1, help="stream: most jobs of more than one node in a window. code: by default 5."),
    ] = None,
    one_node: Annotated[
        OneNode | None,
        typer.Option("--one-node", help="stream: run one-node jobs on the lowest nodes left (default), or lose them."),
    ] = None,
    policy: Annotated[
        str | None, typer.Option("--policy", help="stream: solver that places the jobs. By default scas-dp.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option("--iterations", min=1, help="stream: iterations of the solver in each window.")
    ] = None,
    form: Annotated[
        Form | None,
        typer.Option("--form", help="stream: write documents of allocations, or lines with epoch and period."),
    ] = None,
    problem: Annotated[
        ProblemName | None,
        typer.Option("--problem", help="Allocation problem. By default, what the solver takes; fragmented: scas."),
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", min=1, help="fragmented: number of windows. By default 1.")
    ] = None,
    idle: Annotated[
        int | None, typer.Option("--idle", min=1, help="fragmented: number of idle nodes. By default 5000.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="fragmented: number of jobs. By default 50.")
    ] = None,
    law: Annotated[
        Law | None, typer.Option("--law", help="fragmented: distribution of job sizes. By default lognormal.")
    ] = None,
    mean: Annotated[
        float | None, typer.Option("--mean", help="fragmented: median of the lognormal distribution. By default 50.")
    ] = None,
    spread: Annotated[
        float | None, typer.Option("--spread", help="fragmented: standard deviation of the logarithm. By default 0.7.")
    ] = None,
    cap: Annotated[
        int | None, typer.Option("--cap", min=2, help="fragmented: largest job, in nodes. By default 256.")
    ] = None,
    longest: Annotated[
        int | None, typer.Option("--longest", min=1, help="fragmented: longest run of busy nodes. By default 512.")
    ] = None,
    load: Annotated[
        float | None,
        typer.Option("--load", help="fragmented: largest demand, as a share of the idle nodes. By default 0.95."),
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
    from transom.generate.instance_generator import read_parameters
    from transom.generate.instances.tjap_recipes import FragmentedAllocations, StreamAllocations

    check_writable(out, ".jsonl")
    given = dict(locals())
    if k is not None:
        options.refuse({"--leaf-nodes": leaf_nodes, "--pod-nodes": pod_nodes}, "--k")
    others = _FRAGMENTED if family == "stream" else _STREAM
    options.refuse({f"--{name.replace('_', '-')}": given[name] for name in others}, f"--family {family}")
    own = _STREAM if family == "stream" else _FRAGMENTED
    # What is not given is left to each family.
    chosen: dict[str, Any] = {name: given[name] for name in (*_BOTH, *own) if given[name] is not None}
    chosen.update({name: _range(name, chosen[name]) for name in _RANGES if name in chosen})
    if family == "stream":
        epochs = chosen.pop("epochs", 1)
        _write_stream(out, read_parameters(StreamAllocations, "tjap", chosen), epochs, seed, json)
    else:
        if law == "uniform":
            options.refuse({"--mean": mean, "--spread": spread}, "--law uniform")
        windows = chosen.pop("count", 1)
        recipe = read_parameters(FragmentedAllocations, "tjap", chosen)
        write_and_report(out, recipe.make(seed, windows), "window", json)


def _write_stream(out: Path, recipe: StreamAllocations, epochs: int, seed: int, json: bool) -> None:
    from transom.io import write_documents

    recipe.check()
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


def _range(name: str, text: str) -> tuple[int, int]:
    from transom.errors import SpecError

    least, dash, largest = text.partition("-")
    if not dash or not digits(least) or not digits(largest):
        raise SpecError(f"--{name}: expected A-B such as 5-30, got {text!r}")
    return int(least), int(largest)
