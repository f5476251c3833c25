from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from transom.errors import SpecError
from transom.models import Allocation, ConstrainedPath, Knapsack
from transom.registry import (
    COST_MODELS,
    OBJECTIVES,
    POLICIES,
    PRIORITY_RULES,
    SOLVERS,
    Seconds,
    WholeSeconds,
    build,
    entries,
    labelled_apart,
    load,
    make,
    names,
    parse,
)

pytestmark = pytest.mark.fast


@dataclass(frozen=True)
class Thing:
    steps: int = 3
    rate: float | None = 0.5
    mode: Literal["walk", "metropolis"] = "walk"
    strict: bool = True
    inner: str = "x"
    wait: WholeSeconds | None = None
    tau: Seconds = 10.0


def test_specifications() -> None:
    assert parse("dp") == ("dp", {})
    assert parse("sa:steps=10,rate=0.5") == ("sa", {"steps": "10", "rate": "0.5"})
    assert parse("window:solver=[sa:steps=1,rate=2],size=3") == ("window", {"solver": "sa:steps=1,rate=2", "size": "3"})
    assert parse("a:b=[c:d=[e:f=1]]") == ("a", {"b": "c:d=[e:f=1]"})


@pytest.mark.parametrize("spec", ["", ":", "a:", "a:b", "a:b=", "a:=1", "a:b=1,b=2", "a:b=[c", "a:b=c]", "a:b=1,,c=2"])
def test_malformed_specifications_are_refused(spec: str) -> None:
    with pytest.raises(SpecError, match="specification"):
        parse(spec)


def test_values_become_what_the_parameter_is() -> None:
    made = build(Thing, "thing", {"steps": "7", "rate": "none", "mode": "metropolis", "strict": "no", "inner": "y:z=1"})
    assert made == Thing(7, None, "metropolis", False, "y:z=1")
    assert build(Thing, "thing", {"rate": "1"}).rate == 1.0


def test_settings_of_seconds_take_durations() -> None:
    made = build(Thing, "thing", {"wait": "7d", "tau": "0.5m"})
    assert (made.wait, made.tau) == (604_800, 30.0)
    assert build(Thing, "thing", {"wait": "none", "tau": "10"}) == Thing()
    assert make(POLICIES, "nwp:period=30m").period == 1800
    assert make(POLICIES, "window:seconds=1.5m").seconds == 90
    made = make(POLICIES, "slurm-backfill:interval=2m,resolution=5m,window=1w,completing=0.6")
    assert (made.interval, made.resolution, made.window, made.completing) == (120, 300, 604_800, 0.6)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"step": "7"}, "'thing' has no parameter 'step'. Known: steps, rate, mode, strict, inner, wait, tau"),
        ({"steps": "7.5"}, "thing:steps: expected int, got '7.5'"),
        ({"rate": "fast"}, "thing:rate: expected float, got 'fast'"),
        ({"mode": "run"}, r"thing:mode: expected walk\|metropolis, got 'run'"),
        ({"strict": "maybe"}, "thing:strict: expected bool"),
        (
            {"wait": "0.5"},
            r"thing:wait: expected whole seconds, or a number with a unit: .*, got '0.5'",
        ),
        ({"tau": "soon"}, "thing:tau: expected seconds, or a number with a unit: .*, got 'soon'"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, str], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        build(Thing, "thing", settings)


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(SpecError, match=r"unknown solver 'cp-sat'; did you mean 'cpsat'\? Nearest of \d+: cpsat, "):
        load(SOLVERS, "cp-sat")
    with pytest.raises(SpecError, match=r"unknown objective 'zzz'\. Known: dras-capability"):
        make(OBJECTIVES, "zzz")


def test_everything_registered_can_be_built() -> None:
    for group in (SOLVERS, OBJECTIVES, PRIORITY_RULES, COST_MODELS):
        assert names(group)
        for name in names(group):
            for entry in entries(group, name):
                make(group, entry)


def test_one_name_stands_for_a_solver_of_each_problem() -> None:
    assert entries(SOLVERS, "sa") == ["sa", "sa.allocation", "sa.csp"]
    for problem in (Knapsack, Allocation, ConstrainedPath):
        solver = make(SOLVERS, "sa:steps=7", problem)
        assert (solver.name, solver.solves, solver.steps) == ("sa", problem, 7)
    assert make(SOLVERS, "sa").solves is Knapsack
    assert make(SOLVERS, "sa.csp:steps=7").solves is ConstrainedPath
    with pytest.raises(SpecError, match=r"unknown solver 'sa\.nothing'"):
        make(SOLVERS, "sa.nothing")


def test_labels_of_one_name_state_the_settings_that_differ() -> None:
    def labels(*texts: str) -> list[str]:
        return [label for label, _ in labelled_apart(texts)]

    assert labels("mars", "mars:min=16", "sjf-easy") == ["mars", "mars-min-16", "sjf-easy"]
    assert labels("mars:min=16,median=64", "mars:min=32,median=64") == ["mars-min-16", "mars-min-32"]
    assert labels("nwp:solver=[sa:steps=10],size=2", "nwp:size=2") == ["nwp-solver-sa-steps-10", "nwp"]
    assert labels("a=mars:min=1", "mars:min=2") == ["a", "mars"]
    assert labels("fcfs", "fcfs") == ["fcfs", "fcfs"]


def test_what_is_gone_says_what_to_use_instead() -> None:
    with pytest.raises(SpecError, match=r"no solver 'ortools-knapsack' any more: use 'cpsat'"):
        make(SOLVERS, "ortools-knapsack:algorithm=dp")
    assert "ortools-knapsack" not in names(SOLVERS)


def test_several_names_in_one_option_are_refused() -> None:
    with pytest.raises(SpecError, match="name one here, and repeat the option for each of sjf, saf-easy"):
        parse("sjf,saf-easy")


def test_case_does_not_count() -> None:
    assert type(make(SOLVERS, "DP")) is type(make(SOLVERS, "dp"))
    with pytest.raises(SpecError, match="unknown solver 'DPP'"):
        make(SOLVERS, "DPP")


@dataclass(frozen=True)
class Needy:
    first: int
    half_life: float = 1.0


def test_a_setting_that_has_no_default_is_asked_for() -> None:
    assert build(Needy, "needy", {"first": "3"}) == Needy(3)
    for settings in ({}, {"half-life": "2"}):
        with pytest.raises(SpecError, match=r"'needy' needs 'first': needy:first=\.\.\."):
            build(Needy, "needy", settings)
