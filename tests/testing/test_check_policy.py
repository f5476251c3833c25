"""``check_policy`` passes every registered policy, and finds each fault in policies that have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.own_policy import ShortestAged
from transom import read_swf, simulate
from transom.models import Window
from transom.simulation import Decision, policy_names
from transom.testing import check_policy

SHIPPED = {"dras-pg", "dras-dql", "decima-pg"}  # for the cluster of their paper
TIMED = ("selection", "bbsched", "multisched", "weighted", "constrained")  # stop at a time by default
FILED = {"tuned"}  # whatever policy a file states


@pytest.mark.parametrize("name", [name for name in policy_names() if name not in FILED])
def test_every_policy_passes(name: str) -> None:
    spec = f"{name}:anywhere=yes" if name in SHIPPED else name
    check_policy(f"{spec}:iterations=5,seconds=none" if name in TIMED else spec)


def test_the_one_of_the_example_passes() -> None:
    check_policy(ShortestAged())


def test_the_one_of_the_example_waits_less_than_fcfs_with_easy() -> None:
    workload = read_swf(Path(__file__).parents[2] / "instances" / "workloads" / "lublin_5000.swf.gz")
    ours, theirs = (simulate(workload, policy) for policy in (ShortestAged(), "fcfs-easy"))
    assert ours.wait.mean() < theirs.wait.mean()
    assert ours.summary()["mean_bounded_slowdown"] < theirs.summary()["mean_bounded_slowdown"]


class First:
    def decide(self, window: Window, /) -> Any:
        fits = window.queue.nodes[0] <= window.free_nodes
        return Decision(start=tuple(window.queue.id[:1].tolist()) if fits else ())


class Overfull(First):
    def decide(self, window: Window, /) -> Any:
        return Decision(start=tuple(window.queue.id.tolist()))


class Idle(First):
    def decide(self, window: Window, /) -> Any:
        return Decision()


class Forgetful(First):
    """Looks at the queue from either end in turn, and forgets at which one a replay begins."""

    decided = 0

    def decide(self, window: Window, /) -> Any:
        self.decided += 1
        turn = slice(None, None, 1 if self.decided % 2 else -1)
        for job, nodes in zip(window.queue.id[turn].tolist(), window.queue.nodes[turn].tolist(), strict=True):
            if nodes <= window.free_nodes:
                return Decision(start=(job,))
        return Decision()


class Weighty(First):
    digest = 3


FAULTS = [
    (Overfull(), "Overfull, workload .*: at .* s: job .* is started but does not fit"),
    (Idle(), "Idle, workload .*: policy 'Idle' never starts job 1"),
    (Forgetful(), r"Forgetful, workload .*: a second replay with the same seed differs; what a policy keeps .* reset"),
    (Weighty(), "Weighty: digest must be a text, got 3"),
    (object(), r"object: has no decide\(window\)"),
]


@pytest.mark.parametrize(("policy", "message"), FAULTS)
def test_a_fault_is_named(policy: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_policy(policy)


def test_looking_ahead_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """No window leads to a runtime; this policy has the workload in its pocket."""

    class Clairvoyant(First):
        workload: Any = None

        def decide(self, window: Window, /) -> Any:
            places = [self.workload.jobs.id.tolist().index(job) for job in window.queue.id]
            for job in window.queue.id[np.argsort(self.workload.runtime[places], kind="stable")].tolist():
                if window.queue.nodes[window.queue.id.tolist().index(job)] <= window.free_nodes:
                    return Decision(start=(job,))
            return Decision()

    from transom.testing import policies

    plain, policy = policies.simulate, Clairvoyant()

    def simulate(workload: Any, chosen: Any, **options: Any) -> Any:
        policy.workload = workload
        return plain(workload, chosen, **options)

    monkeypatch.setattr(policies, "simulate", simulate)
    with pytest.raises(AssertionError, match="change with runtimes that lie ahead"):
        check_policy(policy)
