"""``transom models``: the checkpoints that come with the package, and what a checkpoint is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.output.console import print_json, print_table

if TYPE_CHECKING:
    from pathlib import Path

    from transom.learned.checkpoints import Card


def command(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|PATH]",
            help="Checkpoint of the package, or .safetensors file. Without it, list the checkpoints.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """List the checkpoints of the package, or show the card of one.

    A card says what the weights are for, on which cluster, how they were trained, and how they and other policies
    scored. Its digest is that of the weights. Using the weights needs nothing but Transom; training needs
    transom[learned].
    """
    from transom.learned import checkpoints

    if source is not None:
        path = checkpoints.find(source)
        card = checkpoints.load(source, checkpoints.read_card(path).component).card
        if json:
            print_json(_document(path, card))
        else:
            print_table("", ["checkpoint", _printable(card.name)], _facts_of(path, card), left=2)
        return
    paths = [checkpoints.find(name) for name in checkpoints.shipped_names()]
    found = [(path, checkpoints.load(path, checkpoints.read_card(path).component).card) for path in paths]
    if json:
        print_json([_document(path, card) for path, card in found])
        return
    rows = [
        [
            *map(_printable, (card.name, card.component, card.network)),
            _pairs(card.cluster),
            _printable(card.schema),
            f"{card.parameters:,}",
            _size(path),
        ]
        for path, card in found
    ]
    columns = ["name", "part of", "network", "cluster", "observations", "parameters", "size kB"]
    print_table("", columns, rows, left=5)


def _document(path: Path, card: Card) -> dict[str, Any]:
    import msgspec

    return {"path": str(path), **msgspec.to_builtins(card)}


def _facts_of(path: Path, card: Card) -> list[list[str]]:
    """The rows of a card below its name: every field, and the figures and settings one by one."""
    rows = []
    for name, value in _document(path, card).items():
        if name == "name":
            continue
        if isinstance(value, dict):
            rows += [[f"{name}: {_printable(key)}", _printable(each)] for key, each in value.items()]
        else:
            rows.append([name, _printable(value)])
    return rows


def _printable(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, dict):
        return _pairs(value)
    text = "-" if value is None else str(value)
    return text if text.isprintable() else ascii(text)  # a file from elsewhere may hold what steers a terminal


def _pairs(facts: dict[str, Any]) -> str:
    return ", ".join(f"{_printable(key)} = {_printable(value)}" for key, value in facts.items()) or "any"


def _size(path: Path) -> str:
    """Of the weights, in thousands of bytes."""
    return f"{path.stat().st_size / 1000:,.1f}"
