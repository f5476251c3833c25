"""How snapshots of an agent, and the policies that it is compared with, do on the validation workloads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from transom.learned.dras.process.rewards import WAITING, Reward, holding_cost, parse_reward
from transom.simulation.core.schedule import Schedule
from transom.simulation.engine import simulate
from transom.simulation.output.metrics import summary
from transom.traces import Workload

FIGURES = ("mean_wait", "mean_bounded_slowdown", "max_wait")
"""Figures of validation workloads, means over them but for the largest waiting time."""

AGAINST = (
    "fcfs-easy",
    "sjf-easy",
    "saf-easy",
    "wfp3-easy",
    "f1-easy:clock=trace",
    "f2-easy:clock=trace",
    "f3-easy:clock=trace",
    "f4-easy:clock=trace",
    "largest-first",
    "random",
    "optimization",
    "optimization:objective=dras-capacity",
)
"""The policies that an agent is compared with: rules with EASY, then the paper's methods that do not learn."""


class Validation(NamedTuple):
    """How somebody does on the validation workloads.

    Parameters
    ----------
    reward : the sum of an agent's rewards per job; None where it is not known.
    figures : by the names of :data:`FIGURES`.
    rank : by which snapshots are compared, the larger the better.
    merit : by which agents and policies are compared, the larger the better.
    after : decisions learned from by then.
    """

    reward: float | None
    figures: dict[str, float]
    rank: tuple[float, float]
    merit: tuple[float, float]
    after: int = 0


class Judge:
    """Compares snapshots with each other, and with policies that do not learn.

    Both are judged by what the agent is rewarded with; where that is not known of a policy, because it is a reward for
    selections, by the mean wait. With a bound it is the mean wait of those under whom nobody waits too long.

    Parameters
    ----------
    workloads : of the validation.
    reward : a specification (:func:`~transom.learned.dras.process.rewards.parse_reward`).
    bound : see :class:`~transom.learned.dras.training.settings.TrainingSettings`.

    Attributes
    ----------
    policies : how those that were replayed do, by their specifications.
    """

    def __init__(self, workloads: Sequence[Workload], reward: str, bound: float) -> None:
        self.workloads = tuple(workloads)
        self.reward = parse_reward(reward)
        self.bound = bound
        self.policies: dict[str, Validation] = {}
        self._longest_waits: list[float] | None = None

    @property
    def measure(self) -> str:
        """What decides who is ahead, in words."""
        if self.bound:
            return f"mean wait, with a longest wait of at most {self.bound:g} times that of fcfs-easy"
        if self.reward.kind != WAITING:
            return "mean wait"
        grown = "penalised " if self.reward.growth else "mean "
        return grown + ("wait over runtime" if self.reward.by_runtime else "wait")

    def judged(self, schedules: Sequence[Schedule], total: float | None = None, after: int = 0) -> Validation:
        """What schedules of the workloads come to.

        Parameters
        ----------
        schedules : one for each workload.
        total : the rewards of all decisions, where those are for selections.
        after : decisions learned from.
        """
        summaries = [summary(schedule) for schedule in schedules]
        figures = {name: float(np.mean([each[name] for each in summaries])) for name in FIGURES}
        figures["max_wait"] = max(each["max_wait"] for each in summaries)
        if self.reward.kind == WAITING:
            pairs = zip(self.workloads, schedules, strict=True)
            total = sum(waiting_total(self.reward, schedule, workload) for workload, schedule in pairs)
        reward = None if total is None else total / sum(map(len, self.workloads))
        rank = merit = (0.0, -figures["mean_wait"])
        if self.bound:
            ratios = [
                each["max_wait"] / max(most, 1.0) for each, most in zip(summaries, self.longest_waits(), strict=True)
            ]
            rank = merit = (min(0.0, self.bound - max(ratios)), -figures["mean_wait"])
        elif reward is not None:
            rank = (0.0, reward)
            merit = rank if self.reward.kind == WAITING else merit
        return Validation(reward, figures, rank, merit, after)

    def compare_with(self, specs: Iterable[str], begun: Callable[[str], None] = lambda spec: None) -> None:
        """Replay the workloads under these policies, but for those that were replayed before; others are left out.

        Parameters
        ----------
        specs : of the policies.
        begun : called with each that is replayed.

        Raises
        ------
        SpecError : there is no such policy.
        """
        known, self.policies = self.policies, {}
        for spec in specs:
            if spec not in known:
                begun(spec)
                known[spec] = self.judged([simulate(each, spec) for each in self.workloads])
            self.policies[spec] = known[spec]

    def ahead_of(self, found: Validation) -> list[str]:
        """The policies that do better, the best first."""
        better = {spec: each.merit for spec, each in self.policies.items() if each.merit > found.merit}
        return sorted(better, key=lambda spec: better[spec], reverse=True)

    def better_in(self, figure: str, found: Validation) -> list[str]:
        """The policies that do better in one figure, the best first."""
        better = {spec: each.figures[figure] for spec, each in self.policies.items()}
        return sorted((spec for spec in better if better[spec] < found.figures[figure]), key=lambda spec: better[spec])

    def longest_waits(self) -> list[float]:
        """The longest waiting times under FCFS with EASY backfilling [s], workload by workload."""
        if self._longest_waits is None:
            self._longest_waits = [float(simulate(each, "fcfs-easy").wait.max()) for each in self.workloads]
        return self._longest_waits

    def state(self) -> dict[str, Any]:
        """What has been replayed, as plain values."""
        return {spec: list(each) for spec, each in self.policies.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`state` gave for the same workloads, reward and bound."""
        self.policies = {spec: validation_of(plain) for spec, plain in state.items()}


def validation_of(plain: Sequence[Any]) -> Validation:
    """A validation out of its plain values."""
    reward, figures, rank, merit, after = plain
    return Validation(reward, figures, tuple(rank), tuple(merit), after)


def waiting_total(reward: Reward, schedule: Schedule, workload: Workload) -> float:
    r"""The sum of a reward for waiting over a whole schedule.

    A job that waited w costs :math:`c_j (w + g \tau (w / \tau)^{p + 1} / (p + 1))`.
    """
    waited, p = schedule.wait.astype(np.float64), reward.power + 1
    grown = reward.growth * reward.tau * (waited / reward.tau) ** p / p
    return -float((holding_cost(reward, workload.runtime) * (waited + grown)).sum())
