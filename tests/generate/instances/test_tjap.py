"""The stream of windows: who arrives, who is taken, and what a policy's placements lead to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from transom.errors import ModelError, SpecError, UnsupportedError
from transom.generate import StreamModel, solver_policy, stream_steps
from transom.generate.instances.tjap import Step
from transom.models import AUTHORS, Allocation
from transom.models.arrays import IntArray
from transom.rng import stream

SMALL = StreamModel(nodes=40, leaf_nodes=4, pod_nodes=8, gaps=(5, 30), sizes=(1, 12), runtimes=(10, 400))
CODE = StreamModel(pod_nodes=40, window="code", most=5)


def first_fit(problem: Allocation) -> IntArray:
    return problem.from_starts(problem.sizes.cumsum() - problem.sizes)


def steps(model: StreamModel, periods: int, seed: int = 0, **options: Any) -> list[Step]:
    return list(stream_steps(model, periods, stream(seed, "test"), first_fit, **options))


def plain(model: StreamModel, periods: int, seed: int = 0) -> Iterator[tuple[int, list[int], list[tuple[int, int]]]]:
    """The same, told again in the plainest words: period, idle nodes, (id, nodes) of the window's jobs."""
    submit, nodes, runtime = model.arrivals(periods * model.period, stream(seed, "test"))
    owner: dict[int, int] = {}  # node -> end of its job
    nwp = dict.fromkeys(range(len(submit)), 0)
    for period in range(1, periods + 1):
        now = period * model.period
        owner = {node: end for node, end in owner.items() if end > now}
        idle = [node for node in range(model.nodes) if node not in owner]
        queue = sorted((job for job in nwp if submit[job] <= now), key=lambda job: (-nwp[job], nodes[job], job))
        room, taken, full = len(idle), [], False
        for job in queue:
            several = [each for each in taken if nodes[each] > 1]
            fits = nodes[job] <= room and (nodes[job] == 1 or model.most is None or len(several) < model.most)
            if fits and not full:
                taken.append(job)
                room -= nodes[job]
            else:
                nwp[job] += 1
                full = full or model.window == "code"
        several = [job for job in taken if nodes[job] > 1]
        if several:
            yield period, idle, [(job + 1, int(nodes[job])) for job in several]
        free = list(idle)
        for job in several + [job for job in taken if nodes[job] == 1]:
            del nwp[job]
            if nodes[job] == 1 and model.one_node == "lost":
                continue
            for node in free[: nodes[job]]:
                owner[node] = now + runtime[job]
            free = free[nodes[job] :]


@pytest.mark.parametrize("window", ["paper", "code"])
@pytest.mark.parametrize("most", [None, 2])
@pytest.mark.parametrize("one_node", ["lowest", "lost"])
def test_the_stream_is_what_the_words_say(window: Any, most: int | None, one_node: Any) -> None:
    model = replace(SMALL, window=window, most=most, one_node=one_node)
    told = list(plain(model, 60))
    found = steps(model, 60)
    assert len(found) > 40
    assert [
        (step.window.period, step.window.idle.tolist(), list(zip(*_jobs(step), strict=True))) for step in found
    ] == told
    for step in found:
        assert step.problem.violations(step.owner) == []
        assert step.problem == step.window.allocation()


def _jobs(step: Step) -> tuple[list[int], list[int]]:
    return step.window.ids.tolist(), step.window.nodes.tolist()


def test_window_rules_differ() -> None:
    by_rule = {window: steps(replace(SMALL, window=window), 60) for window in ("paper", "code")}
    assert [step.window for step in by_rule["paper"]] != [step.window for step in by_rule["code"]]
    assert max(len(step.problem) for step in steps(replace(SMALL, window="code", most=2), 60)) == 2


def test_short_streams_begin_long_ones_and_do_not_depend_on_the_policy() -> None:
    long, short = steps(CODE, 20), steps(CODE, 10)
    assert [step.window for step in short] == [step.window for step in long if (step.window.period or 0) <= 10]
    until = CODE.arrivals(600, stream(0, "test")), CODE.arrivals(1200, stream(0, "test"))
    for of_short, of_long in zip(*until, strict=True):
        assert (of_long[: len(of_short)] == of_short).all()
    (options,) = {(step.problem.rule, step.problem.wrap, step.window.epoch) for step in steps(CODE, 5)}
    assert options == ("static", True, None)
    changed = steps(CODE, 5, rule="free", wrap=False, cost=AUTHORS, epoch=3)
    assert {(s.problem.rule, s.problem.wrap, s.problem.cost, s.window.epoch) for s in changed} == {
        ("free", False, AUTHORS, 3)
    }


def test_arrivals_are_those_of_the_paper() -> None:
    submit, nodes, runtime = CODE.arrivals(600_000, stream(1, "test"))
    assert len(submit) / 10_000 == pytest.approx(60 / 17.5, rel=0.02)  # 3.43 jobs a period
    assert set(np.diff(submit)) == set(range(5, 31))
    assert set(nodes) == set(range(1, 41))
    assert (runtime.min(), runtime.max()) == (10, 1800)
    load = (nodes * runtime).sum() / (1000 * 600_000)
    assert load == pytest.approx(1.06, abs=0.02)


def test_ten_epochs_are_like_those_of_the_authors() -> None:
    """Seq. 104,856 and SCAS 82,911 a period over ten other epochs; the mean of ten has an error of about 1.3 %."""
    policy, rule = solver_policy("scas-dp")
    assert rule == "static"
    total, first, windows = 0.0, 0.0, 0
    for epoch in range(1, 11):
        for step in stream_steps(CODE, 100, stream(0, "tjap", epoch), policy, cost=AUTHORS):
            total += step.problem.value(step.owner)
            first += step.problem.value(first_fit(step.problem))
            windows += 1
    assert total / 1000 == pytest.approx(82_911, rel=0.04)
    assert first / total == pytest.approx(104_856 / 82_911, rel=0.03)
    assert 0.92 <= windows / 1000 <= 0.95


def test_policies_by_name() -> None:
    policy, rule = solver_policy("sequential", "dynamic")
    assert rule == "dynamic"
    problem = Allocation(SMALL.tree(), np.arange(10), [4, 3], "dynamic")
    assert problem.violations(policy(problem)) == []
    with pytest.raises(UnsupportedError, match="policy 'scas-dp' cannot take free"):
        solver_policy("scas-dp", "free")
    with pytest.raises(UnsupportedError, match="policy 'dp' cannot take scas: it solves Knapsack problems"):
        solver_policy("dp")
    with pytest.raises(SpecError, match="unknown solver"):
        solver_policy("scas")
    policy, _ = solver_policy("scas-dp")
    with pytest.raises(SpecError, match="found no allocation of 2 jobs: infeasible"):
        policy(Allocation(SMALL.tree(), np.arange(6), [4, 3]))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"gaps": (0, 3)}, "gaps must be 1 <= least <= largest"),
        ({"sizes": (5, 3)}, "sizes must be 1 <= least <= largest"),
        ({"runtimes": (1, 2**40)}, "runtimes must be"),
        ({"sizes": (1, 41)}, "a job of 41 nodes never fits into 40"),
        ({"period": 0}, "period must be > 0, got 0"),
        ({"most": 0}, "most must be > 0"),
        ({"window": "fifo"}, "window must be one of paper, code, got 'fifo'"),
        ({"one_node": "first"}, "one_node must be one of lowest, lost"),
        ({"pod_nodes": 6}, "pod_nodes must be a multiple of leaf_nodes"),
    ],
)
def test_what_is_no_model_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises((SpecError, ModelError), match=says):
        replace(SMALL, **changes)
