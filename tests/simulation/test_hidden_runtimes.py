"""Policies see windows; nothing that a window leads to holds a real runtime or a job of the future."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.workloads import workloads
from transom.models import Cluster, JobTable
from transom.simulation import Decision, simulate
from transom.traces import Workload

SECRET = 7_777_777  # a runtime that occurs nowhere else
FUTURE = 8_888_888  # the walltime of a job that is not submitted yet


def reachable(root: Any) -> list[Any]:
    """Everything that is reachable from an object through data: no modules, classes, functions."""
    seen: dict[int, Any] = {}
    stack = [root]
    while stack:
        thing = stack.pop()
        if id(thing) in seen or isinstance(thing, type) or type(thing).__name__ in ("module", "function", "frame"):
            continue
        seen[id(thing)] = thing
        stack += gc.get_referents(thing)
        if isinstance(thing, np.ndarray) and thing.base is not None:
            stack.append(thing.base)
    return list(seen.values())


def holds(things: list[Any], number: int) -> bool:
    return any(
        (isinstance(t, np.ndarray) and t.dtype.kind in "iuf" and (t == number).any())
        or (isinstance(t, int) and t == number)
        for t in things
    )


def test_no_window_leads_to_a_runtime_or_to_the_future() -> None:
    data = [[1, 10, 3, 8_000_000, 5, -1], [2, 10, 3, 8_000_000, 5, -1], [3, 50, 2, FUTURE, 5, -1]]
    workload = Workload("secret", Cluster(4), JobTable(data), [SECRET, SECRET, SECRET])
    looked = []

    class Spy:
        def decide(self, window):
            things = reachable(window)
            assert holds(things, int(window.queue.walltime[0])), "the search must see what is there"
            assert not holds(things, SECRET)
            if window.now < 50:
                assert not holds(things, FUTURE)
            looked.append(window.now)
            fits = window.queue.nodes[0] <= window.free_nodes
            return Decision(start=tuple(window.queue.id[:1].tolist()) if fits else ())

    simulate(workload, Spy())
    assert len(looked) >= 3


POLICIES = ["fcfs", "sjf-easy", "wfp3-easy", "fcfs-conservative", "saf-conservative", "largest-first", "random",
            "window:solver=dp,size=4", "window:solver=dp,size=4,easy=false"]  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=40)
@given(data=st.data())
def test_decisions_do_not_depend_on_runtimes_that_lie_ahead(policy: str, data: st.DataObject) -> None:
    # Lengthen what has not ended by `now`: until then every decision must stay as it was.
    workload = data.draw(workloads(max_jobs=12))
    first = simulate(workload, policy)
    now = data.draw(st.integers(0, int(first.end.max())))
    ahead = first.end > now
    runtime = np.where(ahead, workload.jobs.walltime, workload.runtime)
    second = simulate(Workload("changed", workload.cluster, workload.jobs, runtime), policy)
    started = first.start <= now
    assert np.array_equal(first.start[started], second.start[started])
    assert np.array_equal(first.mode[started], second.mode[started])
    assert (second.start[~started] > now).all()
