"""What the commands of ``transom train`` have in common: their options, and how to use what they wrote."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transom.cli.output import number, print_json, print_table

if TYPE_CHECKING:
    from transom.learned.checkpoints import Card

Out = Annotated[
    Path, typer.Option("--out", help="A folder; an interrupted training of the same settings that lies there goes on.")
]
Rate = Annotated[float, typer.Option("--learning-rate", help="At the beginning; it falls to a tenth.")]
Writing = Annotated[int, typer.Option("--every", min=1, help="Updates between two writings of the state.")]
Device = Annotated[str, typer.Option("--device", help="Of torch: cpu, cuda, or auto: cuda where there is one.")]
Threads = Annotated[
    int, typer.Option("--threads", min=1, help="Of torch on the processor; another number rounds otherwise.")
]


def print_repair(solver: str, card: Card, path: Path, title: str, digits: int, json: bool) -> None:
    """Say what a training of a repair has written, how it scored, and how to use it."""
    use = with_model(["transom", "solve", "FILE", "--problem", "dcas", "--solver"], solver, path)
    if json:
        facts = {"out": str(path), "steps": card.steps, "seconds": card.seconds, "scores": card.scores, "use": use}
        print_json(facts)
        return
    print(f"{path}: {card.parameters:,} weights, {card.steps:,} decisions in {card.seconds:,.0f} s")
    print(title)
    print_table("", ("", "cost"), [(rule, number(cost, digits)) for rule, cost in card.scores.items()])
    print(f"use it: {use}")


def with_model(words: list[str], name: str, path: Path) -> str:
    """A command that ends in a solver or policy with a checkpoint, as a shell takes it."""
    model = f"[{path}]" if set(",[]") & set(str(path)) else str(path)
    return shlex.join([*words, f"{name}:model={model}"])
