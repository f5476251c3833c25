"""What is compared: rules, the paper's methods, and agents that were trained."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from transom.errors import SpecError


class Method(NamedTuple):
    """What decides in a replay: its name in tables and how the policy is asked for.

    What was trained has one method for each ``agent``, the seed of its training, all of one name, and a checkpoint.
    """

    label: str
    spec: str
    agent: int | None = None
    checkpoint: Path | None = None


FCFS, SJF, SAF = "FCFS+EASY", "SJF+EASY", "SAF+EASY"

RULES: dict[str, str] = {
    FCFS: "fcfs-easy",
    SJF: "sjf-easy",
    SAF: "saf-easy",
    "WFP3+EASY": "wfp3-easy",
    "F1+EASY": "f1-easy",
    "F2+EASY": "f2-easy",
    "F3+EASY": "f3-easy",
    "F4+EASY": "f4-easy",
    "F1+EASY, own clock": "f1-easy:clock=sequence",
    "F2+EASY, own clock": "f2-easy:clock=sequence",
    "F3+EASY, own clock": "f3-easy:clock=sequence",
    "F4+EASY, own clock": "f4-easy:clock=sequence",
    "BinPacking": "largest-first",
    "Random": "random",
    "Optimization, eq. 1": "optimization",
    "Optimization, eq. 2": "optimization:objective=dras-capacity",
}
"""Methods without training, in the order of tables: rules with EASY, then those of section IV-A.

F1 to F4 take the logarithm of the submission on the trace's clock; on their "own clock" it starts with the test months.
"""

WAITING, DQL, GROWING, SLOWDOWN = "DRAS-PG", "DRAS-DQL", "DRAS-PG, growing wait", "DRAS-PG, slowdown"

DRAWN = {"untrained": "untrained, drawn", "untrained-reselect": "untrained, re-selected, drawn"}
"""Untrained agents whose choices are drawn by the softmax, which is nearly uniform then."""

AGENTS: dict[str, str] = {
    "untrained": "untrained",
    "untrained-reselect": "untrained, re-selected",
    "decima": "Decima-PG",
    "waiting": WAITING,
    "dql": DQL,
    "slowdown": SLOWDOWN,
    "growing": GROWING,
    "eq1": "DRAS-PG, eq. 1",
    "eq2": "DRAS-PG, eq. 2",
}
"""What was trained, in the order of tables: the folder that holds the seeds, and the name in tables."""


PAPER = (FCFS, "BinPacking", "Random", "Optimization, eq. 1", "Decima-PG", WAITING, DQL)
"""The methods of the paper's figures."""


def rules() -> list[Method]:
    """The methods that need no training."""
    return [Method(label, spec) for label, spec in RULES.items()]


def agents(folder: Path) -> Iterator[Method]:
    """The trained agents under ``FOLDER/VARIANT/SEED``, each with the checkpoint that lies there.

    Raises
    ------
    SpecError : a folder holds no checkpoint or several, or there is no agent at all.
    """
    found = 0
    for variant, label in AGENTS.items():
        seeds = [path for path in (folder / variant).glob("*") if path.name.isdecimal()]
        for place in sorted(seeds, key=lambda path: int(path.name)):
            path = checkpoint_in(place)
            spec = f"{_policy(variant)}:model={path}"
            yield Method(label, spec, int(place.name), path)
            if variant in DRAWN:
                yield Method(DRAWN[variant], f"{spec},choose=sample", int(place.name), path)
            found += 1
    if not found:
        raise SpecError(f"{folder}: holds none of {', '.join(f'{name}/SEED' for name in AGENTS)}")


def checkpoint_in(folder: Path) -> Path:
    """The one checkpoint in a folder.

    Raises
    ------
    SpecError : there is none, or there are several.
    """
    files = sorted(folder.glob("*.safetensors"))
    if len(files) != 1:
        raise SpecError(f"{folder}: expected one .safetensors file, found {len(files)}")
    return files[0]


def _policy(variant: str) -> str:
    return {"dql": "dras-dql", "decima": "decima-pg"}.get(variant, "dras-pg")
