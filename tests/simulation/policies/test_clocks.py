"""The clock of F1 to F4: what they score on a part of a trace depends on when it began."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.plain_replay import replay
from tests.simulation.workloads import workloads
from transom.adapters.rules.locked_reading import read_locked
from transom.adapters.rules.rlscheduler import RLScheduler
from transom.errors import SpecError
from transom.models import Cluster, Job
from transom.simulation import make_policy, simulate
from transom.simulation.output.metrics import summary
from transom.simulation.policies.clocks import clock_of, clock_remarks
from transom.simulation.snapshots import snapshots
from transom.traces import TracedJob, Workload, cut

SCORES: dict[str, Callable[[TracedJob, float], float]] = {
    "f1": lambda t, s: math.log10(t.job.walltime) * t.job.nodes + 870 * math.log10(s),
    "f2": lambda t, s: math.sqrt(t.job.walltime) * t.job.nodes + 25600 * math.log10(s),
    "f3": lambda t, s: t.job.walltime * t.job.nodes + 6.86e6 * math.log10(s),
    "f4": lambda t, s: t.job.walltime * math.sqrt(t.job.nodes) + 5.3e5 * math.log10(s),
}


@settings(max_examples=60)
@given(workloads(max_jobs=20), st.sampled_from(sorted(SCORES)), st.sampled_from(["", "-easy"]), st.data())
def test_a_part_of_a_trace_is_ordered_by_the_clock_that_is_asked_for(
    workload: Workload, rule: str, tail: str, data: st.DataObject
) -> None:
    part = cut(workload, data.draw(st.integers(0, len(workload) - 1)))
    backfilling = tail.removeprefix("-") or "none"
    for clock, first in (("trace", workload.jobs.submit[0]), ("sequence", part.jobs.submit[0])):
        found = simulate(part, f"{rule}{tail}:clock={clock}")
        wanted = replay(part, lambda t, now: (SCORES[rule](t, t.job.submit - first + 1),), backfilling)  # noqa: B023
        assert dict(zip(found.jobs.id.tolist(), found.start.tolist(), strict=True)) == wanted
    assert (simulate(part, rule + tail).start == simulate(part, f"{rule}{tail}:clock=trace").start).all()


@given(workloads(max_jobs=20), st.integers(0, 19), st.integers(0, 19))
def test_a_part_of_a_part_knows_where_its_trace_began(workload: Workload, first: int, then: int) -> None:
    part = cut(workload, first % len(workload))
    again = cut(part, then % len(part)).jittered(3, np.random.default_rng(0))
    assert again.first_submission == part.first_submission == workload.jobs.submit[0]
    assert cut(workload) == workload
    if part.jobs.submit[0] > workload.jobs.submit[0]:
        # F1 to F4 decide otherwise there: it is not the same workload.
        alone = Workload(part.name, part.cluster, part.jobs, part.runtime, part.repairs)
        assert alone.first_submission == part.jobs.submit[0]
        assert alone.digest() != part.digest()


@pytest.mark.reference
def test_the_clock_decides_what_f4_comes_to(shared: Path) -> None:
    workload = read_locked(shared / "traces" / "lublin_256.swf.gz", None).workload
    by_id = np.argsort(workload.jobs.id)
    parts = [workload.take(by_id[start : start + 1024]) for start in RLScheduler().starts(len(workload))]

    def slowdown(spec: str, rules: str = "textbook") -> float:
        found = [summary(simulate(part, spec, rules=rules))["mean_bounded_slowdown"] for part in parts]
        return round(float(np.mean(found)), 2)

    assert slowdown("f4") == slowdown("f4:clock=trace") == 20.68
    assert slowdown("f4:clock=sequence") == 280.56
    assert slowdown("f4:clock=trace", "rlscheduler") == slowdown("f4", "rlscheduler")
    assert slowdown("f4:clock=sequence", "rlscheduler") > 1.5 * slowdown("f4", "rlscheduler")


def test_windows_of_a_part_are_ordered_by_its_clock() -> None:
    late = 5_000_000
    rows = [(1, 0, 8, 1), (2, late, 8, 500), (3, late + 1, 8, 300), (4, late + 60, 8, 200)]
    whole = Workload.of([TracedJob(Job(*row), row[3]) for row in rows], Cluster(8))
    part = cut(whole, 1)
    for clock, order in (("trace", [4, 3]), ("sequence", [3, 4])):
        schedule = simulate(part, f"f3:clock={clock}")
        windows = list(snapshots(schedule, 1, f"f3:clock={clock}", 2, part))
        assert [window.queue.id.tolist() for window in windows][-1] == order


def test_specifications() -> None:
    assert make_policy("f4-easy:clock=sequence").name == "f4-easy:clock=sequence"
    assert make_policy("f4-easy").name == "f4-easy"
    assert [clock_of(spec) for spec in ("f1", "f2-easy", "f3:clock=sequence", "sjf-easy", "random")] == [
        "trace", "trace", "sequence", None, None,
    ]  # fmt: skip
    assert clock_of("multisched:order=[f4:clock=sequence]") == "sequence"
    for spec, message in (
        ("f4-easy:clock=wall", "f4:clock: expected trace|sequence, got 'wall'"),
        ("sjf-easy:clock=trace", "'sjf' has no parameter 'clock'. Known: none"),
    ):
        with pytest.raises(SpecError) as caught:
            make_policy(spec)
        assert message in str(caught.value)


def test_remarks() -> None:
    assert clock_remarks([("sjf", None), ("a", "sequence"), ("f1", "trace"), ("f4-easy", "trace")]) == [
        "f1, f4-easy: submission times on the trace's clock (clock=trace)",
        "a: submission times on a clock that starts with the jobs that are replayed (clock=sequence)",
    ]
    assert clock_remarks([("sjf", None)]) == []
