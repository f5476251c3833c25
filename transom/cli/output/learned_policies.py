"""What is said beside the figures of what was learned: its card, and how simple rules do on the same jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom._system.wording import counted
from transom.cli.output.console import note, remark

if TYPE_CHECKING:
    from transom.simulation.runs import Run

RULES = ("saf-easy", "f4-easy")
"""What policies of traces are replayed beside."""

TASK_RULES = ("tetris", "longest-first")
"""What policies of tasks on machines are replayed beside."""

ReferenceOption = Annotated[
    bool,
    typer.Option(
        "--reference/--no-reference",
        help="Replay simple rules beside learned policies, for the tables alone: saf-easy and f4-easy, of tasks "
        "tetris and longest-first.",
    ),
]


def card_lines(policies: Iterable[tuple[str, Any]], nodes: int | None = None, classes: Sequence[str] = ()) -> list[str]:
    """A line for each checkpoint that decides, after the label of its policy; none where nothing was learned.

    Parameters
    ----------
    policies : pairs of label and policy or solver, or of label and the parts of one.
    nodes : of the machine; a checkpoint that was made for another number says so.
    classes : of the workflows; a checkpoint that was trained on others says so.
    """
    from transom.registry import parts_of

    lines: dict[str, None] = {}
    for label, policy in policies:
        for part in parts_of(policy):
            if hasattr(part, "card"):
                lines[f"{label}: {_stated(part.card, nodes, classes)}"] = None
    return list(lines)


def _stated(card: Any, nodes: int | None, classes: Sequence[str]) -> str:
    if card is None:
        return "a network that was not trained"
    said = f"checkpoint {card.name}, trained on {card.trained_on}; validated on {card.validated_on or 'nothing'}"
    made = card.cluster.get("nodes")
    if made is not None and nodes is not None and made != nodes:
        said += f"; made for {counted(made, 'node')}, used on {nodes:,}"
    if more := set(classes).difference(card.settings.get("classes", classes)):
        said += f"; not trained on {len(more)} of {len(set(classes))} classes of these workflows"
    return said if said.isprintable() else ascii(said)  # a file from elsewhere may hold what steers a terminal


def print_cards(lines: Sequence[str], json: bool) -> None:
    """Print the lines of cards: beside tables on standard output, beside JSON as notes."""
    for line in lines:
        (note if json else remark)(line)


def references(
    runs: Sequence[Run], rules: Sequence[str] = RULES, make: Callable[[str], Any] | None = None
) -> list[Run]:
    """Runs of the simple rules that are not among ``runs`` yet, under the event rules and outages of these.

    ``make`` builds their policies, by default those of jobs on nodes.
    """
    known = {run.spec for run in runs}
    return [
        replace(runs[0], label=f"{spec} (reference)", spec=spec, policy=make(spec) if make else None)
        for spec in rules
        if spec not in known
    ]
