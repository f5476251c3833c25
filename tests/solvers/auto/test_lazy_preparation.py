"""``auto`` compiles what a problem needs, when it comes to it, and no clock counts that."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from transom import Stop
from transom.models import Allocation, FatTree, Knapsack
from transom.solvers.auto.auto import Auto
from transom.solving import warm_up

PROGRAM = """
from time import process_time
from numba.core import event
import numpy as np
from transom import Allocation, FatTree, Stop, solve

class Listener(event.Listener):
    def on_start(self, event):
        compiled.add(event.data["dispatcher"].py_func.__module__)
    def on_end(self, event):
        pass

compiled = set()
event.register("numba:compile", Listener())
problem = Allocation(FatTree.uniform(24, 4, 12), np.arange(20), np.array([6, 4, 3]), "static")
result = solve(problem, "auto", Stop(seconds=1), clock=process_time)  # others may hold the processor
assert result.status == "optimal", result
print(result.seconds < 1, *sorted(name for name in compiled if name.startswith("transom.")))
"""


def test_a_static_allocation_compiles_nothing_of_the_other_rules(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": ""}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment)
    in_time, *compiled = done.stdout.split()
    assert in_time == "True"
    assert "transom.solvers.allocation.block_dp" in compiled
    assert not [name for name in compiled if ".dcas" in name or ".free" in name or ".heuristics." in name]


def test_who_measures_from_outside_prepares_for_one_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[str] = []
    monkeypatch.setattr("transom.solvers.auto.auto.warm_up", lambda solver, kind: prepared.append(solver.name))
    static, free = (Allocation(FatTree.uniform(8, 2, 4), range(8), [2, 3], rule) for rule in ("static", "free"))
    warm_up(Auto(), static)
    assert "scas-dp" in prepared
    assert not {"dcas-exact", "free-exact"} & {*prepared}
    prepared.clear()
    warm_up(Auto(), free)
    assert "free-exact" in prepared
    prepared.clear()
    warm_up(Auto(), Allocation)
    assert {"scas-dp", "dcas-exact", "free-exact"} <= {*prepared}


def test_what_is_prepared_is_not_counted() -> None:
    now = [0.0]
    budget = Stop(seconds=10).start(Knapsack([1], [1], 1), clock=lambda: now[0])
    now[0] = 3.0
    with budget.uncounted():
        now[0] = 50.0
    now[0] = 52.0
    assert (budget.seconds(), budget.seconds_left(), budget.done()) == (5.0, 5.0, False)
    with contextlib.suppress(RuntimeError), budget.uncounted():
        now[0] = 60.0
        raise RuntimeError
    assert budget.seconds() == 5.0
