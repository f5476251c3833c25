"""The agents that come with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.generate.jobsets import by_months
from transom.learned import checkpoints
from transom.simulation import simulate
from transom.traces import Workload, read_swf

pytest.importorskip("safetensors", reason="needs the extra 'learned'")

AGENTS = {"dras-pg": ("ppo", 2), "dras-dql": ("dql", 2), "decima-pg": ("ppo", 1)}


@pytest.fixture(scope="module")
def months(shared: Path) -> Workload:
    return by_months(read_swf(shared / "traces" / "theta_2022.swf.gz"), 1, 2)


@pytest.mark.parametrize("name", AGENTS)
def test_its_card_says_what_it_is(name: str) -> None:
    made = checkpoints.load(name, "dras", "dras-compact/1", {"nodes": 4360})
    agent, levels = AGENTS[name]
    assert made.card.settings["agent"] == agent
    assert made.card.settings["levels"] == levels
    assert made.card.settings["reward"] == "waiting"
    assert made.card.seconds <= 600
    assert "--months 1-2 --validation 1-3" in made.card.command
    assert "/" not in made.card.command


@pytest.mark.reference
@pytest.mark.parametrize("name", AGENTS)
def test_it_schedules_the_months_of_its_training_well(name: str, months: Workload) -> None:
    waits = {policy: simulate(months, policy).wait.mean() for policy in (name, "fcfs-easy", "sjf-easy")}
    assert waits[name] < 0.4 * waits["fcfs-easy"]
    assert waits[name] < 1.3 * waits["sjf-easy"]
