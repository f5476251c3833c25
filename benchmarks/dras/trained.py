"""How the agents of a comparison were trained, kept beside the rows that they gave."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from benchmarks.dras.methods import DRAWN, Method
from benchmarks.dras.rows import reading
from transom._system.files import atomic_write
from transom.learned.checkpoints import read_card

COLUMNS = ("workload", "method", "agent", "seconds", "decisions", "parameters", "weights")


class Trained(NamedTuple):
    """One training: for which trace, what came out and of which seed, its seconds and decisions, and a digest."""

    workload: str
    label: str
    agent: int
    seconds: float
    decisions: int
    parameters: int
    weights: str


def trained(workload: str, methods: Iterable[Method]) -> list[Trained]:
    """What the cards of some agents say.

    Raises
    ------
    DocumentError : a card cannot be read.
    """
    found = []
    for method in methods:
        drawn = method.label in DRAWN.values()  # of agents that are there already
        if method.agent is not None and method.checkpoint is not None and not drawn:
            card = read_card(method.checkpoint)
            found.append(
                Trained(
                    workload, method.label, method.agent, card.seconds, card.decisions, card.parameters, card.weights
                )
            )
    return found


def write_trained(path: Path, made: Iterable[Trained]) -> None:
    """Write trainings; those of the same method and seed that the file holds are replaced."""
    kept = {each[:3]: each for each in (read_trained(path) if path.exists() else [])}
    kept.update({each[:3]: each for each in made})
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        out.writerows([*each[:3], f"{each.seconds:.1f}", *each[4:]] for each in kept.values())


def read_trained(path: Path) -> list[Trained]:
    """Read what :func:`write_trained` wrote.

    Raises
    ------
    DocumentError : it is no such table.
    """
    with reading(path) as lines:
        return [
            Trained(
                line["workload"],
                line["method"],
                int(line["agent"]),
                float(line["seconds"]),
                int(line["decisions"]),
                int(line["parameters"]),
                line["weights"],
            )
            for line in lines
        ]
