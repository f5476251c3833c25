"""The agents that come with the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.dras.methods import DQL, GROWING, WAITING
from benchmarks.dras.tables import RESULTS
from benchmarks.dras.train import MONTHS, VARIANTS
from benchmarks.dras.trained import read_trained
from transom.generate.jobsets import by_months
from transom.learned import checkpoints
from transom.simulation import simulate
from transom.traces import Workload, read_swf

pytest.importorskip("safetensors", reason="needs the extra 'learned'")

AGENTS = {
    "dras-pg": (WAITING, "waiting"),
    "dras-pg-growing": (GROWING, "growing"),
    "dras-dql": (DQL, "dql"),
    "decima-pg": ("Decima-PG", "decima"),
}
"""By checkpoint: its name in tables, and that of its training."""


@pytest.fixture(scope="module")
def months(shared: Path) -> Workload:
    return by_months(read_swf(shared / "traces" / "theta_2022.swf.gz"), 1, 2)


@pytest.mark.parametrize("name", AGENTS)
def test_it_is_one_of_those_that_were_measured(name: str) -> None:
    label, variant = AGENTS[name]
    card = checkpoints.load(name, "dras", "dras-compact/1", {"nodes": 4360}).card
    (row,) = [
        each
        for each in read_trained(RESULTS / "trained.csv")
        if (each.label, each.agent) == (label, card.seed) and each.workload.startswith("theta_2022")
    ]
    assert (row.weights, row.decisions, row.seconds) == (card.weights, card.steps, card.seconds)
    # The command of the card is the one by which `python -m benchmarks.dras train` made it.
    asked = f"{' '.join(MONTHS)} {VARIANTS[variant]} --seed {card.seed} --out DIR"
    called = " --name dras-pg-growing" if name == "dras-pg-growing" else ""
    assert card.command.startswith("transom train dras theta_2022.swf.gz ")
    assert options(card.command) == options(asked + called)
    assert 0 < card.scores["after_decisions"] <= card.steps
    assert re.fullmatch("[0-9a-f]{16}", card.sources)


def options(command: str) -> list[str]:
    """The parts of a command in one order, each option with its value."""
    return sorted(re.findall(r"--\S+(?: [^-]\S*)?", command))


@pytest.mark.reference
@pytest.mark.parametrize("name", ["dras-pg", "dras-dql", "decima-pg"])
def test_it_schedules_the_months_of_its_training_well(name: str, months: Workload) -> None:
    waits = {policy: simulate(months, policy).wait.mean() for policy in (name, "fcfs-easy", "sjf-easy")}
    assert waits[name] < 0.4 * waits["fcfs-easy"]
    assert waits[name] < 1.3 * waits["sjf-easy"]


@pytest.mark.reference
def test_the_growing_penalty_bounds_the_longest_wait(months: Workload) -> None:
    growing, easy = (simulate(months, policy).wait for policy in ("dras-pg:model=dras-pg-growing", "fcfs-easy"))
    assert growing.max() < 2.2 * easy.max()
    assert growing.mean() < 0.6 * easy.mean()
