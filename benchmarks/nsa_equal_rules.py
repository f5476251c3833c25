"""What a learned repair is worth under equal rules: greedy, annealed, learned and exact, cost against seconds.

    python -m benchmarks.nsa_equal_rules --stored --figure out/figures/nsa_equal_rules.png
    python -m benchmarks.nsa_equal_rules --table out/equal.csv                    # measure; goes on where it was
    python -m benchmarks.nsa_equal_rules --cluster paper --table out/paper.csv    # tree and costs as in the text

All solve the dynamic problem (DCAS, wrap-around on): every state that counts can be reached by some order of placing
jobs. The searches are one and the same annealing, true Metropolis, Tmax 2500, and differ in nothing but the repair: a
random first node, the cheapest one, or the one that a network chooses. "nsa-cost, untrained" has the weights that its
training begins with, a rule made by hand: the dearer a start, together with the next job, in temperatures, the less
likely. All have all idle nodes for first nodes; NSA
sees the first 100 as in the paper, and a uniform repair with those alone stands beside it. Gaps are the mean of
cost / proved DCAS optimum - 1 over every second window (``--every``) of each epoch, times processor time of the call
with the network included.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.nsa_epochs import (
    Method,
    Table,
    arguments,
    between,
    brief,
    complete,
    mean_of,
    paired,
    run_command,
    setting_of,
    show,
    unequal,
)
from transom.cli.output.console import number
from transom.plot import Search, gap_by_seconds, save

STEPS = (50, 100, 200, 500, 1000, 2000, 5000)
COMPARED = 500  # steps at which searches are compared
UNTRAINED = Path("benchmarks/results/nsa/nsa-cost-untrained.safetensors")  # seen from the checkout
SEARCHES = {
    "uniform repair": "sa:steps={}",
    "uniform, first 100": "sa:steps={},first=100",
    "cheapest start": "sa:steps={},repair=cheapest",
    "NSA": "nsa:steps={}",
    "nsa-cost": "nsa-cost:steps={}",
    "nsa-cost, untrained": f"nsa-cost:steps={{}},heat=1,model={UNTRAINED}",
}
RIVALS = {
    "NSA": ("uniform, first 100", "uniform repair", "cheapest start"),
    "nsa-cost": ("uniform repair", "cheapest start", "nsa-cost, untrained"),
}
"""Whom the learned repairs are set against at equal steps."""
SINGLE = (
    Method("Seq.", "dynamic", "sequential"),
    Method("scas-dp", "static", "scas-dp", 30.0),
    Method("dp-polish", "dynamic", "dp-polish"),
    Method("dcas-exact", "dynamic", "dcas-exact", 30.0),
)


def write_untrained(path: Path) -> None:
    """Write the weights with which the training of ``nsa-cost`` begins, where they are not there yet."""
    from transom.learned.checkpoints import Checkpoint, make_card, save
    from transom.learned.repair.candidates import SCHEMA
    from transom.learned.repair.nsa_cost_training import first_weights
    from transom.learned.repair.training_settings import CostTraining

    if path.exists():
        return
    settings = CostTraining()
    weights = {f"actor.{name}": array for name, array in first_weights(settings)._asdict().items()}
    card = make_card(
        weights, name=path.stem, component="repair", network="shared scorer", schema=SCHEMA, cluster={},
        settings=asdict(settings), trained_on="nothing", command="python -m benchmarks.nsa_equal_rules",
        seed=settings.seed, decisions=0, seconds=0.0,
    )  # fmt: skip
    save(path, Checkpoint(weights, card))


def methods(every: int = 1) -> list[Method]:
    """What is compared: every search with every number of steps, and the others."""
    searches = [
        Method(_title(name, steps), "dynamic", spec.format(steps)) for name, spec in SEARCHES.items() for steps in STEPS
    ]
    return [method._replace(every=every) for method in (*SINGLE, *searches)]


def print_table(table: Table, markdown: bool) -> None:
    """One line per method: its gap and milliseconds at each number of steps."""
    lines = []
    for method in SINGLE:
        if rows := table.of(method.title):
            gap, took = mean_of(rows, lambda row: row.dynamic_gap), mean_of(rows, lambda row: row.mean)
            single = f"{100 * gap:.2f} in {brief(took)}"
            lines.append([method.title, single, *[""] * (len(STEPS) - 1), _interval(table, method.title)])
    for name in SEARCHES:
        cells = []
        for steps in STEPS:
            rows = table.of(_title(name, steps))
            gap, took = mean_of(rows, lambda row: row.dynamic_gap), mean_of(rows, lambda row: row.mean)
            cells.append(f"{100 * gap:.2f} in {brief(took)}" if rows else "-")
        if set(cells) != {"-"}:
            lines.append([name, *cells, _interval(table, _title(name, COMPARED))])
    columns = ["gap to the DCAS optimum [%] in ms", *(f"{steps:,} steps" for steps in STEPS)]
    show("", [*columns, f"SCAS optimum at {COMPARED} [%]"], lines, markdown)


def print_verdicts(table: Table) -> None:
    """How each learned repair stands against the others at equal steps, and in its own time."""
    for name in RIVALS:
        own = table.of(_title(name, COMPARED))
        if not own:
            continue
        gap, took = mean_of(own, lambda row: row.dynamic_gap), mean_of(own, lambda row: row.mean)
        for rival in RIVALS[name]:
            both = zip(*paired(own, table.of(_title(rival, COMPARED))), strict=True)
            each = 100 * np.array([mine.dynamic_gap - his.dynamic_gap for mine, his in both])
            if not len(each):
                continue
            lower = int((each < 0).sum())
            print(
                f"{name} against {rival}, {COMPARED} steps each: {between(each)} points of the gap, "
                f"lower in {lower} of {len(each)} epochs."
            )
        best: dict[str, tuple[float, float, str]] = {}
        for method in methods():
            rows = table.of(method.title)
            family = method.title.partition(":")[0]
            if rows and family != name and (time := mean_of(rows, lambda row: row.mean)) <= took:
                known = mean_of(rows, lambda row: row.dynamic_gap)
                best[family] = min(best.get(family, (np.inf, 0.0, "")), (known, time, method.title))
        ahead = [
            f"{title} ({100 * value:.2f} % in {brief(time)} ms)"
            for value, time, title in sorted(best.values())
            if value < gap
        ]
        told = ", ".join(ahead) if ahead else "none"
        print(f"{name} reaches {100 * gap:.2f} % in {brief(took)} ms; lower in that time: {told}.\n")


def draw(table: Table, path: Path) -> Path:
    """The figure: gaps against seconds."""
    lines = {}
    for name in SEARCHES:
        rows = [found for steps in STEPS if (found := table.of(_title(name, steps)))]
        if rows:
            lines[name] = Search(
                [mean_of(each, lambda row: row.mean) / 1000 for each in rows],
                [mean_of(each, lambda row: row.dynamic_gap) for each in rows],
            )
    single = {
        method.title: (mean_of(rows, lambda row: row.mean) / 1000, mean_of(rows, lambda row: row.dynamic_gap))
        for method in SINGLE
        if (rows := table.of(method.title))
    }
    epochs = table.of("dcas-exact")
    told = f"{len(epochs)} epochs, {sum(row.windows for row in epochs)} windows, {STEPS[0]} to {STEPS[-1]:,} steps"
    return save(gap_by_seconds(lines, single, told), path)


def _title(name: str, steps: int) -> str:
    return f"{name}: {steps}"


def _interval(table: Table, title: str) -> str:
    """The gap to the SCAS optimum with its range over epochs."""
    rows = table.of(title)
    return between(100 * np.array([row.static_gap for row in rows])) if rows else "-"


def main(words: Sequence[str] | None = None) -> int:
    """Measure what is missing, print the table, draw the figure."""
    parser = arguments(__doc__, "equal_rules")
    parser.add_argument("--every", type=int, default=2, help="solve each n-th window of an epoch")
    parser.add_argument("--figure", type=Path, help="draw it there: .png, .pdf or .svg")
    return run_command(parser, run, words)


def run(options: argparse.Namespace) -> None:
    """Do what the command line says."""
    table = Table(options.table)
    if not options.stored:
        write_untrained(UNTRAINED)
        complete(table, setting_of(options), methods(options.every))
    epochs = table.of("dcas-exact")
    told = f"{len(epochs)} epochs, {number(sum(row.windows for row in epochs), 0)} windows"
    if not options.markdown:
        print(f"{told}, cluster and costs: {options.cluster}\n")
    if note := unequal(table):
        print(f"{note}\n")
    print_table(table, options.markdown)
    print_verdicts(table)
    if options.figure:
        print(f"figure: {draw(table, options.figure)}")


if __name__ == "__main__":
    raise SystemExit(main())
