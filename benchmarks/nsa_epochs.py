"""Epochs of Lan et al. (2023), section VI, on which methods are measured, and the table that keeps what was measured.

An epoch is a stream of windows that begins on an empty cluster. It is the unit of all comparisons: windows of one
epoch depend on each other, epochs do not. Every method solves the same windows, one thread, the policy named in
``Setting`` places the jobs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from benchmarks.allocation import call
from transom import registry
from transom._system.files import atomic_path
from transom.cli.output.console import number, print_table, progress
from transom.errors import DocumentError, SpecError, TransomError
from transom.generate.instances.tjap_recipes import StreamAllocations
from transom.io import PeriodWindow, read_documents
from transom.learned.checkpoints import find, read_card
from transom.models import AUTHORS, Allocation
from transom.models.allocation import Rule
from transom.models.arrays import FloatArray
from transom.solving import warm_up

RESULTS = Path(__file__).parent / "results" / "nsa"
PERIODS = 100
CLUSTERS: dict[str, dict[str, Any]] = {
    "authors": {"nodes": 1000, "leaf_nodes": 10, "pod_nodes": 40, "window": "code", "cost_model": "authors"},
    "paper": {"nodes": 1000, "leaf_nodes": 10, "pod_nodes": 100, "window": "paper", "cost_model": "paper"},
}
"""Cluster, window rule and costs: of the authors' public code, which made the tables of the paper, and of its text."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Which epochs.

    Parameters
    ----------
    cluster : one of :data:`CLUSTERS`.
    epochs, periods : how many, and of how many periods each.
    policy : the solver that places the jobs of each window, so that the next ones depend on it.
    seed : of the jobs.
    """

    cluster: str = "authors"
    epochs: int = 10
    periods: int = PERIODS
    policy: str = "scas-dp"
    seed: int = 0


class Method(NamedTuple):
    """What solves the windows: its name in tables, the rule under which its states count, and its specification.

    ``every``, ``offset``: it is measured on each ``every``-th window of an epoch alone, from the ``offset``-th on.
    ``seconds``: limit for a window. ``native``: it works in threads of its own, so that its time is the clock's.
    """

    title: str
    rule: Rule
    spec: str
    seconds: float | None = None
    every: int = 1
    native: bool = False


class Epoch(NamedTuple):
    """Windows with their proved optima under the static and the dynamic rule, shape ``(windows,)``."""

    number: int
    windows: tuple[Allocation, ...]
    static: FloatArray
    dynamic: FloatArray


@dataclass(frozen=True, slots=True)
class Row:
    """One method on one epoch.

    Parameters
    ----------
    cluster, periods, policy, seed : of the setting.
    epoch, method, rule, spec, every : which; titles are unique in a table.
    weights : digest of the weights that a learned method had, else empty.
    windows, jobs : how many it met.
    total : cost of all windows that it solved.
    unsolved, cancelled : windows without an answer, and the jobs in them that its best state leaves without nodes.
    proved : windows whose optimum it proved.
    static_gap, dynamic_gap : mean of cost / optimum - 1 over the windows that it solved.
    mean, median, p99 : milliseconds for a window: of the processor, or of the clock where the method is native.
    """

    cluster: str
    periods: int
    policy: str
    seed: int
    epoch: int
    method: str
    rule: str
    spec: str
    every: int
    weights: str
    windows: int
    jobs: int
    total: float
    unsolved: int
    cancelled: int
    proved: int
    static_gap: float
    dynamic_gap: float
    mean: float
    median: float
    p99: float


_KINDS = {"str": pl.String, "int": pl.Int64, "float": pl.Float64}
_SCHEMA = {each.name: _KINDS[str(each.type)] for each in fields(Row)}


def generated(setting: Setting, numbers: Iterable[int]) -> list[tuple[int, tuple[Allocation, ...]]]:
    """The windows of some epochs, by number; jobs come from the stream ``(seed, "tjap", epoch)``."""
    recipe = StreamAllocations(**CLUSTERS[setting.cluster], periods=setting.periods, policy=setting.policy)
    return [(each, tuple(step.problem for step in recipe.steps(setting.seed, each))) for each in numbers]


def read_windows(path: Path) -> list[tuple[int, tuple[Allocation, ...]]]:
    """The epochs of a file of windows, with the costs of the authors' code.

    Raises
    ------
    DocumentError : one of its lines is something else.
    """
    epochs: dict[int, list[Allocation]] = {}
    for where, document in read_documents(path):
        if not isinstance(document, PeriodWindow) or document.epoch is None:
            raise DocumentError(f"{where}: not a window of a stream with epochs")
        epochs.setdefault(document.epoch, []).append(document.allocation("static", True, AUTHORS))
    return [(each, tuple(windows)) for each, windows in epochs.items()]


def proved(number: int, windows: Sequence[Allocation]) -> Epoch:
    """An epoch with its optima.

    Raises
    ------
    RuntimeError : one could not be proved.
    """
    optima = []
    for rule, spec in (("static", "scas-dp"), ("dynamic", "dcas-exact")):
        solver = _made(spec)
        values = []
        for window in windows:
            _, budget = call(solver, window.with_rule(rule), 60.0)
            if not budget.optimal:
                raise RuntimeError(f"epoch {number}: {spec} proved no optimum of {window}")
            values.append(float(budget.value))
        optima.append(np.array(values))
    return Epoch(number, tuple(windows), *optima)


def measure(setting: Setting, epoch: Epoch, method: Method) -> Row:
    """Solve the windows of an epoch, each with a seed of its own."""
    solver = _made(method.spec)
    chosen = range(method.every // 2, len(epoch.windows), method.every)
    total, unsolved, cancelled, optimal, jobs = 0.0, 0, 0, 0, 0
    static, dynamic, took = [], [], []
    for at in chosen:
        problem = epoch.windows[at].with_rule(method.rule)
        seconds, budget = call(solver, problem, method.seconds, 1000 * epoch.number + at)
        took.append(1000 * (budget.seconds() if method.native else seconds))
        jobs += len(problem)
        optimal += budget.optimal
        if budget.value is None:
            unsolved += 1
            # Where the best state of SCIP cancels some of the jobs, it says how many; the cost is then unknown.
            cancelled += budget.notes.get("cancelled", len(problem))
            continue
        total += budget.value
        static.append(budget.value / epoch.static[at] - 1)
        dynamic.append(budget.value / epoch.dynamic[at] - 1)
    nothing = float("nan")
    return Row(
        setting.cluster, setting.periods, setting.policy, setting.seed, epoch.number, method.title, method.rule,
        method.spec, method.every, weights_of(solver), len(took), jobs, total, unsolved, cancelled, optimal,
        *(round(float(np.mean(each)), 7) if each else nothing for each in (static, dynamic)),
        *(round(float(each), 5) for each in (np.mean(took), np.median(took), np.quantile(took, 0.99))),
    )  # fmt: skip


def weights_of(solver: Any) -> str:
    """The digest of the weights of a learned solver, empty for others."""
    model = getattr(solver, "model", None)
    return "" if model is None else read_card(find(model)).weights


def _made(spec: str) -> Any:
    solver = registry.make(registry.SOLVERS, spec, Allocation)
    warm_up(solver, Allocation)
    return solver


class Table:
    """Rows in a CSV file, which is written anew, whole, with each of them; the last one of a method and epoch counts.

    Parameters
    ----------
    path : the file; it need not exist.

    Raises
    ------
    DocumentError : it is no such table.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[tuple[str, int], Row] = {}
        if path.exists():
            try:
                frame = pl.read_csv(path, schema=_SCHEMA)
            except (pl.exceptions.PolarsError, OSError) as error:
                raise DocumentError(f"{path}: not a table of results: {str(error).splitlines()[0]}") from None
            for values in frame.rows():
                row = Row(*("" if value is None else value for value in values))
                self.rows[row.method, row.epoch] = row

    def add(self, row: Row) -> None:
        """Keep a row."""
        self.rows[row.method, row.epoch] = row
        ordered = [self.rows[key] for key in sorted(self.rows, key=self._place)]
        with atomic_path(self.path) as temporary:
            pl.DataFrame([astuple(each) for each in ordered], _SCHEMA, orient="row").write_csv(temporary)

    def of(self, title: str) -> list[Row]:
        """The rows of a method, by epoch."""
        return [row for (method, _), row in sorted(self.rows.items(), key=lambda each: each[0][1]) if method == title]

    def _place(self, key: tuple[str, int]) -> tuple[int, int]:
        return list(dict.fromkeys(method for method, _ in self.rows)).index(key[0]), key[1]


def complete(table: Table, setting: Setting, methods: Sequence[Method], source: Path | None = None) -> None:
    """Measure what is missing in a table, epoch by epoch; a row of another specification or other weights is, too.

    Raises
    ------
    SpecError : the table is of another setting.
    """
    numbers: Iterable[int] = range(1, setting.epochs + 1)
    windows = None
    if source is not None:
        windows = dict(read_windows(source))
        numbers, setting = windows, replace(setting, policy=f"as in {source.name}")
    for row in table.rows.values():
        stated = {name: getattr(row, name) for name in ("cluster", "periods", "policy", "seed")}
        wanted = {name: value for name, value in asdict(setting).items() if name in stated}
        if stated != wanted:
            raise SpecError(f"{table.path}: its rows are of {stated}, and {wanted} is asked for; name another --table")

    weights = {method.spec: weights_of(registry.make(registry.SOLVERS, method.spec, Allocation)) for method in methods}

    def missing(epoch: int) -> list[Method]:
        found = ((method, table.rows.get((method.title, epoch))) for method in methods)
        return [
            method
            for method, row in found
            if row is None
            or (row.spec, row.rule, row.every) != (method.spec, method.rule, method.every)
            or row.weights != weights[method.spec]
        ]

    left = {epoch: wanted for epoch in numbers if (wanted := missing(epoch))}
    if not left:
        return
    with progress() as bars:
        bar = bars.add_task("measured", total=sum(map(len, left.values())))
        for each, wanted in left.items():
            own = generated(setting, [each])[0][1] if windows is None else windows[each]
            epoch = proved(each, own)
            for method in wanted:
                bars.update(bar, description=f"epoch {each}, {method.title}")
                table.add(measure(setting, epoch, method))
                bars.advance(bar)


def arguments(doc: str | None, name: str) -> argparse.ArgumentParser:
    """The options that all of these commands have."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=RESULTS / f"{name}.csv", help="what is in it is not measured")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--periods", type=int, default=PERIODS, help="of an epoch")
    parser.add_argument("--cluster", choices=tuple(CLUSTERS), default="authors")
    parser.add_argument("--policy", default="scas-dp", help="the solver that places the jobs between the windows")
    parser.add_argument("--seed", type=int, default=0, help="of the jobs")
    parser.add_argument("--stored", action="store_true", help="measure nothing, print what the table has")
    parser.add_argument("--markdown", action="store_true", help="print tables in Markdown")
    return parser


def run_command(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], None], words: Sequence[str] | None
) -> int:
    """Do what the command line says; what the user got wrong ends it with one line and status 2."""
    options = parser.parse_args(words)
    try:
        run(options)
    except TransomError as error:
        parser.error(str(error))
    return 0


def setting_of(options: argparse.Namespace) -> Setting:
    """The epochs that the command line names."""
    return Setting(**{each.name: getattr(options, each.name) for each in fields(Setting)})


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], markdown: bool) -> None:
    """Print a table: for people, or for a page."""
    if not markdown:
        print_table(title, columns, rows)
        return
    print(f"{title}\n" if title else "")
    for line in (columns, ["---", *("---:" for _ in columns[1:])], *rows):
        print("| " + " | ".join(line) + " |")
    print()


def paired(first: Sequence[Row], second: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows of two methods on the epochs that both have."""
    both = {row.epoch for row in first} & {row.epoch for row in second}
    return [row for row in first if row.epoch in both], [row for row in second if row.epoch in both]


def unequal(table: Table) -> str:
    """What is to be said of a table that is not complete yet; nothing of one that is."""
    counts = {len(table.of(method)) for method, _ in table.rows}
    return f"Not complete: some methods have {min(counts)} epochs, others {max(counts)}." if len(counts) > 1 else ""


def costs(rows: Sequence[Row]) -> FloatArray:
    """The paper's cost of each epoch: the sum over its windows by its periods; one without a window counts 0."""
    return np.array([row.total / row.periods for row in rows])


def mean_of(rows: Sequence[Row], figure: Callable[[Row], float]) -> float:
    """The mean of a figure over windows."""
    if not rows:
        return float("nan")
    return float(np.average([figure(row) for row in rows], weights=[row.windows for row in rows]))


def brief(milliseconds: float) -> str:
    """A time with two digits that count."""
    return f"{milliseconds:.2g}" if milliseconds < 100 else number(milliseconds, 0)


def between(values: FloatArray, digits: int = 2) -> str:
    """A mean over epochs, with the least and the largest."""
    mean, least, most = (number(float(each), digits) for each in (np.mean(values), np.min(values), np.max(values)))
    return mean if least == most else f"{mean} ({least} to {most})"
