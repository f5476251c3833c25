"""``transom bench portfolio``: make the table of ``auto`` out of results, and score ``auto``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from transom.cli.options import common as options
from transom.cli.output.console import check_writable, note, print_json, print_table, remark

if TYPE_CHECKING:
    from transom.bench.portfolio.scoring import Score
    from transom.solvers.auto.table import Leaf, Split, Table


By = Literal["problem", "set"]
"""What is scored apart."""


def command(
    train: Annotated[
        list[Path] | None,
        typer.Argument(help="Results to learn from. Without any, show the table of the package."),
    ] = None,
    test: Annotated[list[Path] | None, typer.Option(help="Results of auto on other instances, to score it.")] = None,
    out: Annotated[Path | None, typer.Option(help="Output file for the table (JSON).")] = None,
    by: Annotated[By, typer.Option(help="Score by type of problem, or by set of instances.")] = "problem",
    require: Annotated[
        float | None,
        typer.Option(
            help="Exit with status 1 if the mean gap of auto is more than X points above that of the best single "
            "solver, or if a run stops for time before its time is up."
        ),
    ] = None,
    require_proofs: Annotated[
        float,
        typer.Option(help="With --require: also if its share of proofs is more than X points below the largest one."),
    ] = 2.0,
    as_json: options.Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the scores as a Markdown table.")] = False,
) -> None:
    """Learn the table of auto from results of the bench, and score auto on other instances.

    Kinds of problems without results keep their trees of the package.
    Without results, show the table of the package.
    """
    from transom.errors import SpecError
    from transom.solvers.auto.table import packaged

    if out is not None:
        if not train:
            raise SpecError("bench portfolio: --out needs results to learn from")
        check_writable(out, ".json")
    if require is not None and not test:
        raise SpecError("bench portfolio: --require needs --test")
    table = _made(train, out) if train else None if test else packaged()
    document: dict[str, object] = {}
    found = _scored(test, set((table or packaged()).made.plans.values()), train or (), by) if test else []
    if as_json:
        import msgspec

        if table is not None:
            document["table"] = msgspec.to_builtins(table)
        print_json({**document, "scores": [_plain(score) for score in found]})
    else:
        if table is not None:
            for kind, choice in table.problems.items():
                for words, root in (("", choice.timed), (", without a limit of time", choice.untimed)):
                    print(f"{kind}{words}:")
                    print("\n".join(_words(root, "  ")))
                print(f"  if time is left without a proof: {choice.otherwise}, then {choice.improve}")
        if test:
            _print_scores(found, markdown)
    if require is not None:
        short = [score for score in found if not score.holds(require, require_proofs)]
        for score in short:
            note(f"does not hold: {' '.join(filter(None, (score.problem, score.family)))} at {score.seconds:g} s")
        if short or not found:
            raise typer.Exit(1)


def _made(train: Sequence[Path], out: Path | None) -> Table:
    from transom.bench.portfolio.table_making import make_table, write_table

    table, kept = make_table(train)
    if kept:
        note(f"without results of {', '.join(kept)}: those trees are the ones of the package")
    if out is not None:
        write_table(out, table)
        note(f"wrote {out}")
    return table


def _scored(test: Sequence[Path], plans: set[str], train: Sequence[Path], by: By) -> list[Score]:
    import polars as pl

    from transom.bench.portfolio.scoring import scores
    from transom.bench.store.store import read_plans, read_results

    for folder in test:
        if folder.is_dir() and any(plan.digest() in plans for plan in read_plans(folder)):
            note(f"{folder}: the table was made from these instances; the score says little")
    rows = pl.concat([read_results(folder) for folder in test])
    learnt = {digest for folder in train for digest in read_results(folder)["instance"].unique()}
    if again := len(learnt.intersection(rows["instance"])):
        note(f"{again} of {rows['instance'].n_unique()} instances were learnt from; the score says little")
    return scores(rows, by=by)


def _words(node: Split | Leaf, indent: str) -> list[str]:
    from transom.solvers.auto.table import SECONDS, Leaf

    if isinstance(node, Leaf):
        parts = [f"{step.solver}{'' if step.share == 1 else f' ({100 * step.share:.0f} %)'}" for step in node.steps]
        by_hand = "" if node.chosen is None else f", {node.chosen}"
        text = f"[{node.cases} cases, gap {node.gap:.3g} %, {100 * node.proved:.0f} % proved{by_hand}]"
        return [f"{indent}{', then '.join(parts)}   {text}"]
    name, at_most = (SECONDS, 10**node.at_most) if node.feature == SECONDS else (node.feature, node.at_most)
    return [
        f"{indent}if {name} <= {at_most:.3g}:",
        *_words(node.yes, indent + "  "),
        f"{indent}else:",
        *_words(node.no, indent + "  "),
    ]


_COLUMNS = ("problem", "seconds", "instances", "auto [%]", "best for each [%]", "best single [%]", "which", "behind",
            "way closed [%]", "better [%]", "worse [%]", "proved [%]", "most [%]", "early")  # fmt: skip


def _row(score: Score) -> list[str]:
    closed = "-" if score.closed != score.closed else f"{100 * score.closed:.0f}"
    numbers = (score.auto, score.virtual, score.single)
    name = score.family or score.problem
    return [
        f"of tjap: {name}" if score.part else name, f"{score.seconds:g}", f"{score.instances}",
        *(f"{number:.4f}" for number in numbers), score.name, f"{score.behind:+.4f}", closed,
        *("{:.0f} ({:.0f} to {:.0f})".format(*(100 * end for end in share)) for share in (score.better, score.worse)),
        f"{100 * score.proved:.1f}", f"{100 * score.most:.1f}", f"{score.early}",
    ]  # fmt: skip


def _print_scores(found: Sequence[Score], markdown: bool) -> None:
    rows = [_row(score) for score in found]
    if markdown:
        print("| " + " | ".join(_COLUMNS) + " |")
        print("|---|" + "---:|" * 5 + "---|" + "---:|" * 7)
        for row in rows:
            print("| " + " | ".join(row) + " |")
        return
    print_table("Mean primal gap of auto, of the best solver for each instance, of the best single one", _COLUMNS, rows)
    remark(
        "No solution counts 100 %. Better, worse: instances on which the gap of auto is smaller or larger than that of "
        "the single solver; in brackets exact 95 % limits."
    )


def _plain(score: Score) -> dict[str, object]:
    from dataclasses import asdict

    figures = {name: None if value != value else value for name, value in asdict(score).items()}
    return {**figures, "behind": score.behind}
