"""The card of a data set: contents, provenance and statistics as Markdown."""

from __future__ import annotations

from typing import Any

import msgspec

from transom.generate.dataset.index import DatasetIndex, Tally
from transom.generate.dataset.instance_statistics import meaning
from transom.generate.dataset.plan import DatasetPlan, DatasetSet, Splits


def card(index: DatasetIndex) -> str:
    """The card, as Markdown; everything in it is out of the index."""
    plan = index.plan
    removed = sum(each.removed for each in index.sets)
    lines = [
        f"# {plan.name}",
        "",
        *([plan.description, ""] if plan.description else []),
        f"{index.count:,} instances of {len(plan.sets)} sets, generated: nothing here was logged on a real machine"
        + (", but for what was drawn from the traces named below." if index.inputs else "."),
        "",
        f"- Licence: {plan.licence}",
        f"- Seed: {plan.seed}",
        f"- Plan: digest `{index.digest}`, in full in `dataset.json`",
        f"- Made by: `transom generate dataset`, code `{index.code}`, "
        + ", ".join(f"{name} {number}" for name, number in index.versions.items()),
        *(f"- Trace: `{name}`, SHA-256 `{digest}`" for name, digest in index.inputs.items()),
        f"- Left out because the same instance stands before: {removed:,}",
        "",
        "## Sets",
        "",
        *_table(
            ["set", "recipe", "seed", *index.splits, "repeated"],
            [
                [
                    each.name,
                    each.recipe,
                    each.seed,
                    *(each.splits.get(name, 0) for name in index.splits),
                    each.removed,
                ]
                for each in index.sets
            ],
        ),
        "",
    ]
    for of, tally in zip(plan.sets, index.sets, strict=True):
        lines += _of_set(of, tally)
    return "\n".join([*lines, *_splitting(plan), *_again()]) + "\n"


def _of_set(of: DatasetSet, tally: Tally) -> list[str]:
    number = f"{of.count} instances" if of.count else f"{of.epochs} epochs"
    parameters = msgspec.json.encode(of.parameters, order="sorted").decode()
    rows = [
        [name, meaning(name), each.least, each.total / each.number, each.largest]
        for name, each in tally.statistics.items()
        if each.number
    ]
    return [
        f"### {of.called}",
        "",
        f"Recipe `{of.recipe}`, {number}, seed {tally.seed}, parameters `{parameters}`; what is not stated has the "
        "defaults of the recipe.",
        "",
        *_table(["", "what", "least", "mean", "largest"], rows),
        "",
    ]


def _splitting(plan: DatasetPlan) -> list[str]:
    def shares(splits: Splits) -> str:
        return ", ".join(f"{name} {value:g}" for name, value in splits.items())

    own = [f"- {each.called}: {shares(each.splits)}" for each in plan.sets if each.splits]
    return [
        "## Splits",
        "",
        f"{shares(plan.splits)}" + (", but for:" if own else "."),
        "",
        *own,
        *([""] if own else []),
        "No instance stands in two splits, and none stands twice: instances are compared by a digest of all their "
        "data, which does not see that two are the same but for the order of their jobs. Under shares, the digest "
        "and the seed decide where an instance goes. Where numbers are stated, a random order decides; and where "
        "instances come out of one replay or one run of a cluster (an epoch), the whole epoch goes to one split, "
        "because its instances have jobs in common and a solver tuned on one would have seen half of the other.",
        "",
    ]


def _again() -> list[str]:
    return [
        "## Files",
        "",
        "`SPLIT/SET-NUMBER.jsonl.gz` holds one JSON document a line; `transom schema` prints the schema of each "
        "format, and `transom solve` takes the files as they are. `SPLIT/SET-NUMBER-N.swf.gz` is a trace in the "
        "Standard Workload Format. `dataset.json` lists every file with its SHA-256, and that of what it holds once "
        "it is unpacked.",
        "",
        "To check all of it: `transom generate dataset --check .`",
        "",
        "To make it again, put the plan (`plan` in `dataset.json`) into a TOML file: "
        "`transom generate dataset plan.toml --out FOLDER`. The same code and versions give the same bytes with any "
        "number of workers.",
    ]


def _table(columns: list[str], rows: list[list[Any]]) -> list[str]:
    def shown(value: Any) -> str:
        if isinstance(value, float):
            return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"
        return str(value)

    lines = [columns, ["---"] * len(columns), *([shown(value) for value in row] for row in rows)]
    return ["| " + " | ".join(line) + " |" for line in lines]
