"""Two stores side by side: what is told as a change, and what is taken for noise."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from tests.bench.made_rows import curve, row
from transom.bench.plan.task import Row
from transom.bench.score.comparison import Comparison, compare
from transom.bench.store.frame import to_frame
from transom.errors import DocumentError
from transom.stop import Stop


def compared(before: list[Row], after: list[Row]) -> Comparison:
    return compare(to_frame(before), to_frame(after))


def kinds(found: Comparison) -> list[str]:
    return [event.kind for event in found.events]


def test_a_store_against_itself_is_the_same() -> None:
    rows = [row(name, f"i{number}", value=float(number)) for name in "ab" for number in range(8)]
    found = compared(rows, rows)
    assert (found.shared, found.missing, found.added, found.provenance, found.events) == (16, [], [], [], [])
    assert [(change.quality, change.speed, change.time_ratio) for change in found.changes] == [("same", "same", 1)] * 2
    assert not found.regressed


EARLY = {"steps": 3, "ended": "early: less time was left than its next step takes"}
PROOF = {**curve((0.1, 10, 10)), "status": "optimal", "seconds": 0.1, "reason": "proof"}


@pytest.mark.parametrize(
    ("before", "after", "kind", "regressed"),
    [
        ({"value": 10.0}, {"outcome": "wrong", "cause": "too heavy"}, "wrong", True),
        ({"value": 10.0}, {"outcome": "crash", "cause": "signal 11"}, "failing", True),
        ({"value": 10.0}, {"outcome": "refused", "cause": "too large"}, "failing", True),
        ({"outcome": "error", "cause": "x"}, {"value": 10.0}, "recovered", False),
        ({"value": 10.0}, {}, "solution lost", True),
        ({}, {"value": 10.0}, "solution new", False),
        (PROOF, {**curve((0.1, 10, 12)), "seconds": 1.0, "reason": "time"}, "proof lost", True),
        ({**curve((0.1, 10, 12)), "seconds": 1.0, "reason": "time"}, PROOF, "proof new", False),
        ({"value": 10.0}, {"value": 9.0}, "value worse", True),
        ({"value": 9.0}, {"value": 10.0}, "value better", False),
        # The clock ended one of them: one run says nothing about values, nor about what came late.
        ({"value": 10.0, "reason": "time"}, {"value": 9.0, "reason": "time"}, None, False),
        ({"value": 10.0, "seconds": 0.9}, {"reason": "time", "seconds": 1.0}, None, False),
        # What ended early because its next step would have taken too long was ended by the clock, too.
        ({"value": 10.0, "parameters": EARLY}, {"value": 9.0, "parameters": EARLY}, None, False),
        ({"value": 10.0, "parameters": EARLY}, {"value": 9.0}, None, False),
        # What came early counts, however long the run went on.
        (
            {**curve((0.01, 10, None)), "reason": "time", "seconds": 1.0},
            {"reason": "time", "seconds": 1.0},
            "solution lost",
            True,
        ),
        (
            {"reason": "time", "seconds": 1.0},
            {**curve((0.0, None, 12), (0.01, 10, 12)), "reason": "time", "seconds": 1.0},
            "solution new",
            False,
        ),
        ({**curve((0.5, 10, None)), "reason": "time", "seconds": 1.0}, {"reason": "time", "seconds": 1.0}, None, False),
        ({**PROOF, "seconds": 0.8}, {"value": 10.0, "reason": "time", "seconds": 1.0}, None, False),
        # Several threads need not come to the same end twice.
        ({"value": 10.0, "threads": 2}, {"value": 9.0, "threads": 2}, None, False),
        # Under a budget of iterations there is no clock.
        (
            {"value": 10.0, "reason": "iterations", "stop": Stop(iterations=9), "seconds": 50.0},
            {"value": 9.0, "reason": "iterations", "stop": Stop(iterations=9), "seconds": 1.0},
            "value worse",
            True,
        ),
        ({"value": 10.0 + 1e-12}, {"value": 10.0}, None, False),
    ],
)
def test_single_runs(before: dict[str, Any], after: dict[str, Any], kind: str | None, regressed: bool) -> None:
    found = compared([row("a", **before)], [row("a", **after)])
    assert kinds(found) == ([] if kind is None else [kind])
    assert found.regressed == regressed
    if kind is not None:
        assert found.events[0].before != found.events[0].after


def test_a_bound_that_the_other_store_contradicts_is_wrong() -> None:
    honest, before = row("b", value=10.0), row("a", value=9.0, bound=12.0)
    found = compared([honest, before], [honest, row("a", value=9.0, bound=9.0, status="optimal")])
    assert kinds(found) == ["wrong"]
    assert "contradicts" in found.events[0].after


def under_the_clock(shift: float, count: int = 12, noise: float = 0.0, seed: int = 0) -> list[Row]:
    """Runs that the clock ended, of a value of about 90 less a shift, beside one that has 100."""
    rng = np.random.default_rng(seed)
    rows = [row("best", f"i{number}", value=100.0) for number in range(count)]
    for number in range(count):
        value = 90 - shift + noise * rng.standard_normal()
        rows.append(row("sa", f"i{number}", **curve((0.2, value, None)), reason="time", seconds=1.0))
    return rows


def change_of(found: Comparison, solver: str) -> Any:
    return next(change for change in found.changes if change.solver == solver)


def test_values_under_the_clock_are_tested_over_instances() -> None:
    worse = compared(under_the_clock(0), under_the_clock(2))
    assert (change_of(worse, "sa").quality, change_of(worse, "best").quality) == ("worse", "same")
    assert (change_of(worse, "sa").gap_before, change_of(worse, "sa").gap_after) == pytest.approx((0.1, 0.12))
    assert worse.regressed
    assert worse.events == []
    better = compared(under_the_clock(2), under_the_clock(0))
    assert change_of(better, "sa").quality == "better"
    assert not better.regressed


def test_noise_under_the_clock_is_no_change() -> None:
    alarms = 0
    for seed in range(0, 24, 2):
        found = compared(under_the_clock(0, noise=1.0, seed=seed), under_the_clock(0, noise=1.0, seed=seed + 1))
        alarms += found.regressed
    assert alarms <= 1  # of 12: 5 % one way or the other, half of them to the worse


def test_many_small_losses_and_few_large_gains_are_what_the_ranks_say() -> None:
    def runs(values: list[float]) -> list[Row]:
        rows = [row("best", f"i{number}", value=100.0) for number in range(30)]
        for number, value in enumerate(values):
            rows.append(row("sa", f"i{number}", **curve((0.2, value, None)), reason="time", seconds=1.0))
        return rows

    before = runs([90.0] * 16 + [70.0] * 14)
    after = runs([90.0 - 0.1 * (i + 1) for i in range(16)] + [80.0 + 0.1 * i for i in range(14)])
    assert change_of(compared(before, after), "sa").quality == "better"
    assert change_of(compared(after, before), "sa").quality == "worse"


def test_few_instances_are_unclear() -> None:
    found = compared(under_the_clock(0, count=4), under_the_clock(2, count=4))
    assert change_of(found, "sa").quality == "unclear"
    assert not found.regressed


def timed(factor: float, count: int = 10, seconds: float = 0.2) -> list[Row]:
    rng = np.random.default_rng(5)
    return [
        row("dp", f"i{number}", value=1.0, seconds=factor * seconds * (1 + 0.2 * rng.random()), reason="proof")
        for number in range(count)
    ]


@pytest.mark.parametrize(("factor", "speed"), [(1.5, "slower"), (0.5, "faster"), (1.05, "same"), (1.0, "same")])
def test_times_of_runs_that_ended_by_themselves(factor: float, speed: str) -> None:
    found = compared(timed(1), timed(factor))
    (change,) = found.changes
    assert change.speed == speed
    assert change.time_ratio == pytest.approx(factor, rel=0.01)
    assert change.timed == 10
    assert not found.regressed  # slower is told, and is no fault


def test_runs_that_do_not_come_to_an_end_any_more_are_slower() -> None:
    ended = [row("dp", f"i{n}", **{**PROOF, "seconds": 0.5}) for n in range(8)]
    cut = [row("dp", f"i{n}", **curve((0.1, 10, 12)), seconds=1.0, reason="time") for n in range(8)]
    found = compared(ended, cut)
    (change,) = found.changes
    assert (change.speed, change.timed) == ("slower", 8)
    assert change.time_ratio == pytest.approx(2, rel=0.01)
    assert compared(cut, ended).changes[0].speed == "faster"
    assert compared(cut, cut).changes[0].timed == 0


def test_runs_that_ended_early_for_want_of_time_have_no_times_of_their_own() -> None:
    early = [row("dp", f"i{n}", **curve((0.1, 10, 12)), seconds=0.6, parameters=EARLY) for n in range(8)]
    later = [row("dp", f"i{n}", **curve((0.1, 10, 12)), seconds=0.9, parameters=EARLY) for n in range(8)]
    (change,) = compared(early, later).changes
    assert (change.timed, change.time_ratio, change.speed) == (0, None, "same")


def test_microseconds_are_no_change_of_speed() -> None:
    (change,) = compared(timed(1, seconds=1e-5), timed(3, seconds=1e-5)).changes
    assert change.speed == "same"


def test_runs_that_the_clock_ended_are_slower_by_their_integral() -> None:
    def found_at(seconds: float) -> list[Row]:
        return [row("sa", f"i{number}", **curve((seconds, 9, None)), seconds=1.0, reason="time") for number in range(8)]

    (change,) = compared(found_at(0.1), found_at(0.4)).changes
    assert (change.speed, change.time_ratio, change.quality) == ("slower", None, "same")
    assert (change.integral_before, change.integral_after) == pytest.approx((0.1, 0.4))


def test_what_is_missing_or_new_is_reported_by_set_and_solver() -> None:
    found = compared([row("a"), row("a", "j"), row("b", "k")], [row("a"), row("c")])
    assert found.shared == 1
    assert found.missing == ["1 of a on made", "1 of b on made"]
    assert found.added == ["1 of c on made"]


def test_nothing_in_common_is_an_error() -> None:
    with pytest.raises(DocumentError, match="no run in common"):
        compared([row("a")], [row("a", seed=1)])


def test_provenance_that_differ_are_reported() -> None:
    before = row("a", machine={"host": "x", "cores": 4}, versions={"numpy": "1"}, code="c1")
    after = row("a", machine={"host": "y", "cores": 4}, versions={"numpy": "2", "scipy": "1"}, code="c2", workers=3)
    before, after = (msgspec.structs.replace(run, load=load) for run, load in ((before, 0.2), (after, 4.0)))
    assert compared([before], [after]).provenance == [
        "machine: host: x before, y after",
        "versions: numpy: 1 before, 2 after",
        "versions: scipy: none before, 1 after",
        "load of the machine: 0.2 before, 4.0 after (median)",
        "code of Transom: c1 before, c2 after",
        "runs side by side: 1 before, 3 after",
    ]


def replay(**facts: Any) -> Row:
    return row("fcfs", what="replay", problem="sequence", sense="min", stop=Stop(), **facts)


def test_replays_give_the_same_figures_or_changed() -> None:
    before, after = replay(metrics={"mean_wait": 10.0}), replay(metrics={"mean_wait": 11.0})
    assert compared([before], [before]).events == []
    found = compared([before], [after])
    assert kinds(found) == ["metric changed"]
    assert (found.events[0].before, found.events[0].after) == ("mean_wait 10", "mean_wait 11")
    assert not found.regressed
    assert compared([before], [replay(outcome="crash", cause="killed")]).regressed


def test_a_renamed_solver_is_the_same_by_its_specification() -> None:
    found = compared([row("old", spec="sa", value=1.0)], [row("new", spec="sa", value=1.0)])
    assert [change.solver for change in found.changes] == ["old"]
