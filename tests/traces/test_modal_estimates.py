"""The modal model of Tsafrir, Etsion and Feitelson: its numbers, and how estimates are dealt out."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from transom.traces.modal_estimates import HEAD, Tsafrir, deal, head_values, tail_values

HOUR = 3600


def test_the_head_of_eighteen_hours() -> None:
    known = [5, 10, 15, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 720]
    # What is missing to 20 are multiples of 10 h, 5 h, 2 h ... from the longest down: 15 h, 16 h, 14 h, 17 h, 13 h.
    expected = sorted(60 * minutes for minutes in known) + [h * HOUR for h in (13, 14, 15, 16, 17)]
    assert head_values(18 * HOUR) == [18 * HOUR, *sorted(expected)]


@pytest.mark.parametrize("longest", [HOUR, 5000, 7 * HOUR, 36 * HOUR, 160 * HOUR, 10**7])
def test_the_head_in_general(longest: int) -> None:
    values = head_values(longest)
    assert values[0] == longest
    assert len(values) == HEAD or longest < 2 * HOUR
    assert sorted(set(values[1:])) == values[1:]
    assert all(0 < value < longest for value in values[1:])


def test_the_tail_follows_its_curve() -> None:
    head = set(head_values(18 * HOUR))
    tail = tail_values(18 * HOUR, 340, head)
    assert len(tail) > 250
    assert not head & set(tail)
    assert sorted(set(tail)) == tail
    a = 1 + 12.1039 * 340**-0.6026
    for rank in (1, 100, 200, 300):
        x = rank / 320
        assert min(abs(value - (a - 1) * x / (a - x) * 18 * HOUR) for value in tail) <= 60


def test_twenty_values_hold_89_per_cent() -> None:
    runtime = np.ones(100_000, np.int64)
    counts = Counter(Tsafrir(longest=18 * HOUR).walltimes(runtime, np.random.default_rng(4)).tolist())
    shares = [count / 1000 for _, count in counts.most_common()]
    sizes = [14.0491 * math.exp(-0.177531 * rank) + 0.462513 for rank in range(2, 21)]
    assert shares[0] == pytest.approx(89 - sum(sizes), abs=0.01)
    assert shares[1:20] == pytest.approx(sizes, abs=0.01)
    assert sum(shares[20:]) == pytest.approx(11, abs=0.01)
    assert counts.most_common(1)[0][0] == 18 * HOUR
    assert len(counts) == pytest.approx(340 + 30_000 / 180_000 * 225, abs=15)
    stated = Counter(Tsafrir(longest=18 * HOUR, share=0.05).walltimes(runtime, np.random.default_rng(4)).tolist())
    assert stated[18 * HOUR] == 5000
    assert sum(count for _, count in stated.most_common(20)) == pytest.approx(89_000, abs=5)


@pytest.mark.parametrize("jobs", [0, 1, 2, 19, 30, 300])
def test_few_jobs(jobs: int) -> None:
    runtime = np.random.default_rng(jobs).integers(1, 90_000, jobs)
    walltime = Tsafrir().walltimes(runtime, np.random.default_rng(0))
    assert (walltime >= runtime).all()
    assert len(walltime) == jobs


def test_runtimes_that_are_too_long_for_the_distribution() -> None:
    runtime = np.full(5000, 17 * HOUR)
    walltime = Tsafrir(longest=18 * HOUR, share=0.1).walltimes(runtime, np.random.default_rng(0))
    assert set(walltime.tolist()) <= {17 * HOUR, *range(17 * HOUR, 18 * HOUR + 1)}
    above = Tsafrir(longest=18 * HOUR).walltimes(np.full(50, 19 * HOUR), np.random.default_rng(0))
    assert set(above.tolist()) == {24 * HOUR}


def test_the_longest_is_what_nearly_all_need() -> None:
    runtime = np.append(np.full(9999, 50_000), 10**7)
    walltime = Tsafrir().walltimes(runtime, np.random.default_rng(0))
    assert walltime[-1] >= 10**7
    assert walltime[:-1].max() == 54_000


def test_estimates_are_dealt_out_as_by_hand() -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        runtime = np.sort(rng.integers(1, 9, 8))[::-1].copy()
        estimate = np.maximum(np.sort(rng.integers(1, 12, 8))[::-1], runtime)
        draw = rng.random(8)
        left, expected = estimate.tolist(), []
        for job in range(8):
            fitting = sum(value >= runtime[job] for value in estimate.tolist())
            at = job + int(draw[job] * (fitting - job))
            left[job], left[at] = left[at], left[job]
            expected.append(left[job])
        dealt = estimate.copy()
        deal(dealt, runtime, draw)
        assert dealt.tolist() == expected
        assert sorted(dealt.tolist()) == sorted(estimate.tolist())
        assert (dealt >= runtime).all()
