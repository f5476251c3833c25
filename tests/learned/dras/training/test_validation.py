"""Agents and policies are compared by what the agent is rewarded with."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.dras.methods import RULES
from transom.generate import generate_lublin
from transom.learned.dras.training.jobsets import compared
from transom.learned.dras.training.validation import AGAINST, Judge, Validation, validation_of
from transom.simulation import make_policy, simulate
from transom.traces import Workload

SPECS = ("fcfs-easy", "sjf-easy", "saf-easy", "ljf")


@pytest.fixture(scope="module")
def workloads() -> list[Workload]:
    return compared(generate_lublin(200, 64, np.random.default_rng(3), load=1.1), (1.0, 1.2), count=2)


def judge(workloads: list[Workload], reward: str = "waiting", bound: float = 0.0) -> Judge:
    made = Judge(workloads, reward, bound)
    made.compare_with(SPECS)
    return made


def seen(workloads: list[Workload], made: Judge, spec: str, total: float | None = None) -> Validation:
    """A policy, judged as if it were an agent."""
    return made.judged([simulate(each, spec) for each in workloads], total)


@pytest.mark.parametrize(
    ("reward", "measure"),
    [
        ("waiting", "mean wait"),
        ("waiting:growth=1,tau=3600,power=3", "penalised wait"),
        ("slowdown", "mean wait over runtime"),
    ],
)
def test_policies_are_ahead_in_what_is_rewarded(workloads: list[Workload], reward: str, measure: str) -> None:
    made = judge(workloads, reward)
    assert made.measure == measure
    order = sorted(SPECS, key=lambda spec: made.policies[spec].merit, reverse=True)
    for place, spec in enumerate(order):
        found = seen(workloads, made, spec)
        assert found.merit == found.rank == made.policies[spec].merit
        # Nobody is ahead of itself, and those ahead come the best first.
        assert made.ahead_of(found) == order[:place]
    if reward == "waiting":
        waits = {spec: made.policies[spec].figures["mean_wait"] for spec in SPECS}
        assert order == sorted(SPECS, key=lambda spec: waits[spec])
    if reward == "slowdown":
        schedules = {spec: [simulate(each, spec) for each in workloads] for spec in SPECS}
        costs = {
            spec: np.mean([(each.wait / np.maximum(each.runtime, 10)).mean() for each in made])
            for spec, made in schedules.items()
        }
        assert order == sorted(SPECS, key=lambda spec: costs[spec])


def test_rewards_for_selections_are_compared_by_the_mean_wait(workloads: list[Workload]) -> None:
    made = judge(workloads, "capability")
    found = seen(workloads, made, "sjf-easy", total=1e9)
    assert made.measure == "mean wait"
    assert found.rank == (0.0, found.reward)
    assert made.policies["sjf-easy"].reward is None
    best = min(SPECS, key=lambda spec: made.policies[spec].figures["mean_wait"])
    # However much it is rewarded, who waits less is ahead.
    assert made.ahead_of(seen(workloads, made, "ljf", total=1e9))[0] == best


def test_a_bound_on_the_longest_wait_comes_first(workloads: list[Workload]) -> None:
    made = judge(workloads, bound=1.0)
    assert made.measure == "mean wait, with a longest wait of at most 1 times that of fcfs-easy"
    assert made.policies["fcfs-easy"].merit[0] == 0.0
    starving = [spec for spec in SPECS if made.policies[spec].merit[0] < 0]
    assert starving, "nobody waits longer than under fcfs-easy: another workload is needed"
    for spec in starving:
        assert "fcfs-easy" in made.ahead_of(seen(workloads, made, spec))


def test_figures_are_compared_one_by_one(workloads: list[Workload]) -> None:
    made = judge(workloads)
    for figure in ("mean_wait", "mean_bounded_slowdown", "max_wait"):
        values = {spec: made.policies[spec].figures[figure] for spec in SPECS}
        worst = max(SPECS, key=lambda spec: values[spec])
        ordered = [spec for spec in sorted(SPECS, key=lambda spec: values[spec]) if values[spec] < values[worst]]
        assert made.better_in(figure, made.policies[worst]) == ordered


def test_what_was_replayed_is_not_replayed_again(workloads: list[Workload], monkeypatch: pytest.MonkeyPatch) -> None:
    made = judge(workloads)
    again = Judge(workloads, "waiting", 0.0)
    again.restore(made.state())
    assert again.policies == made.policies
    replayed = []

    def counted(workload: Workload, spec: str):
        replayed.append(spec)
        return simulate(workload, spec)

    monkeypatch.setattr("transom.learned.dras.training.validation.simulate", counted)
    again.compare_with(["sjf-easy", "smallest"])
    assert replayed == ["smallest"] * len(workloads)
    assert list(again.policies) == ["sjf-easy", "smallest"]
    assert validation_of(list(made.policies["ljf"])) == made.policies["ljf"]


def test_the_usual_policies_are_those_of_the_page() -> None:
    assert {spec.removesuffix(":clock=trace") for spec in AGAINST} == {
        spec for label, spec in RULES.items() if "own clock" not in label
    }
    for spec in AGAINST:
        make_policy(spec)
