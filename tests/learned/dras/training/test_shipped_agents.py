"""The agents that come with the package."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.dras.__main__ import main
from benchmarks.dras.cards import parameters
from benchmarks.dras.methods import DQL, GROWING, WAITING
from benchmarks.dras.tables import RESULTS
from benchmarks.dras.train import command
from benchmarks.dras.trained import read_trained
from transom.generate.workload.jobsets import by_months
from transom.learned import checkpoints
from transom.learned.dras.training.plan import asked
from transom.learned.dras.training.validation import AGAINST, FIGURES
from transom.simulation import simulate
from transom.traces import Workload, read_swf

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
    card = checkpoints.load(name, "dras", ("dras-compact/1",)).card
    (row,) = [
        each
        for each in read_trained(RESULTS / "trained.csv")
        if (each.label, each.agent) == (label, card.seed) and each.workload.startswith("theta_2022")
    ]
    assert (row.weights, row.decisions, row.seconds) == (card.weights, card.decisions, card.seconds)
    # The command of the card is the one by which `python -m benchmarks.dras train` made it.
    made = shlex.join(["transom", *command(Path("theta_2022.swf.gz"), variant, card.seed, Path("agents"))])
    assert card.command.startswith("transom train dras theta_2022.swf.gz ")
    (settings, plan), (stated, as_stated) = asked(parameters(made)), asked(parameters(card.command))
    assert settings == stated
    assert plan == replace(as_stated, name=None)
    assert as_stated.name == ("dras-pg-growing" if name == "dras-pg-growing" else None)
    assert 0 < card.scores["after_decisions"] <= card.decisions


@pytest.mark.parametrize("name", AGENTS)
def test_its_card_says_on_what_it_was_validated_and_where_the_rules_stood(name: str) -> None:
    card = checkpoints.load(name, "dras").card
    _, plan = asked(parameters(card.command))
    assert (plan.months, plan.validation, plan.overlap) == ("1-2", "1-3", True)
    assert card.validated_on == (
        "theta_2022-months-1-3: jittered copies in 2 laps, squeezed by 0.9-1.25, 3 episodes of 14,276 jobs; "
        "trained on as well: months 1-2"
    )
    assert set(card.rules) == set(AGAINST)
    assert all(set(figures) == set(FIGURES) for figures in card.rules.values())
    # What the page says of them.
    page = (RESULTS.parents[2] / "docs" / "dras.md").read_text(encoding="utf-8")
    assert f"{card.scores['validation_mean_wait']:,.0f} s" in page
    if name in ("dras-dql", "decima-pg"):
        ahead = [spec for spec in card.rules if card.rules[spec]["mean_wait"] < card.scores["validation_mean_wait"]]
        assert ahead == ["f4-easy:clock=trace"]


@pytest.mark.reference
def test_the_cards_are_what_the_command_measures(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {name: checkpoints.find(name).with_suffix(".json").read_bytes() for name in AGENTS}
    trace = str(shared / "traces" / "theta_2022.swf.gz")
    words = ["--check", "--names", "dras-pg", "dras-pg-growing", "--against", "fcfs-easy", "f4-easy:clock=trace"]
    assert main(["cards", trace, *words]) == 0
    assert capsys.readouterr().out.count("as its card says") == 2
    assert before == {name: checkpoints.find(name).with_suffix(".json").read_bytes() for name in AGENTS}


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
