"""Solvers that go wrong in every way there is, installed the way other packages are.

``faulty_solvers`` is a fixture: it makes a distribution in a temporary folder and puts it on the path of this process
and of all that it starts. The solvers take knapsacks; in plans and tasks they are specifications such as
``faulty:how=segfault``. ``steady`` is one that works.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from transom import registry
from transom.bench.plan.task import Task
from transom.bench.run.watch import Watch
from transom.bench.run.worker import SCRATCH
from transom.io.documents import encode
from transom.models import Knapsack
from transom.stop import Stop

MODULE = '''
import ctypes
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass

import numpy as np

from transom.models import Knapsack


def spin_compiled():
    from numba import njit

    @njit
    def spin(n):
        total = 0
        while n > 0:
            total = total * 3 + n
        return total

    spin(1)


def spin():
    while True:
        pass


# The process of the tests is told by the name, so that what others left on this machine is not taken for ours.
NAP = "1000." + os.environ.get("FAULTY_FOR", "0")
CAST_OFF = f"import subprocess; subprocess.Popen(['sleep', '{NAP}'], start_new_session=True)"


def touch(gibibytes, pause=0.02):
    """Take memory step by step, so that whoever watches has the time to see it."""
    kept = []
    for _ in range(int(gibibytes * 32)):
        kept.append(np.ones(32 * 2**20, np.uint8))
        time.sleep(pause)


def hand_over_items(problem, budget):
    """Every item alone that fits, the cheapest first."""
    for item in np.argsort(problem.values):
        if problem.weights[item] <= problem.capacity:
            budget.found(np.arange(len(problem)) == item)


def wait_until_written(budget):
    """Where a run is watched, what was handed over last is in its files: a slow machine may write that a bit later."""
    while os.path.exists("../curve") and os.path.getsize("../curve") < 24 * len(budget.curve):
        time.sleep(0.001)


@dataclass(frozen=True)
class Faulty:
    how: str = "raise"
    first: str = "nothing"  # what it finds and proves before it goes wrong
    solves = Knapsack
    name = "faulty"

    def supports(self, problem):
        if self.how == "refuse":
            return "it is in a bad mood"
        if self.how == "raise-supports":
            raise RuntimeError("no idea what that is")
        return None

    def warm_up(self):
        if self.how == "raise-warm":
            raise RuntimeError("cannot get warm")
        if self.how == "hang-warm":
            while True:
                pass
        if self.how == "hang-warm-child":
            import subprocess

            subprocess.run([sys.executable, "-c", "while True: pass"])
        if self.how == "crash-warm":
            os._exit(7)

    def __call__(self, problem, budget, rng, start=None):
        empty = np.zeros(len(problem), bool)
        how = self.how
        if self.first == "infeasible":
            budget.prove_infeasible()
        if self.first == "dearer":
            object.__setattr__(problem, "values", problem.values * 10**6)
        if self.first in ("answers", "dearer"):
            budget.prove(float(problem.values.sum()) + 1)
            budget.found(empty)
            hand_over_items(problem, budget)
            budget.prove(float(problem.values.sum()))
        if self.first == "many":
            for _ in range(20_000):
                budget.prove(10.0**9 - len(budget.curve))
            hand_over_items(problem, budget)
        if self.first != "nothing":
            wait_until_written(budget)
        if how in ("spin", "spin-compiled", "ignore-signals") and os.path.exists("../curve"):
            open("spins", "w").close()
        if how == "raise":
            raise RuntimeError("deliberate\\nsecond line")
        if how == "leave":
            sys.exit(3)
        if how == "segfault":
            ctypes.string_at(0)
        if how == "exit":
            print("last words", flush=True)
            os._exit(9)
        if how == "exit-well":
            os._exit(0)
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "kill-parent":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        if how == "spin":
            while True:
                pass
        if how == "spin-compiled":
            spin_compiled()
        if how == "stop-late":
            budget.found(empty)
            while not budget.done():
                pass
            time.sleep(0.2)
        if how == "memory":
            touch(10)
        if how == "grow":  # as a search with a table of states does, as fast as it can
            rng = np.random.default_rng(0)
            states = []
            while sum(map(len, states)) < 10 * 2**30 // 8:
                states.append(rng.integers(0, 2**60, 2**18))
                if len(states) < 20:
                    budget.prove(10.0**6 - len(states))
        if how == "child-memory":
            import subprocess

            code = "import faulty_solvers; faulty_solvers.touch(10)"
            subprocess.run([sys.executable, "-c", code], start_new_session=True)
        if how == "child":
            import subprocess

            subprocess.Popen(["sleep", NAP])
            ctypes.string_at(0)
        if how == "infeasible":
            return np.ones(len(problem), bool)
        if how == "shape":
            return np.zeros(len(problem) + 1, bool)
        if how == "wrong-bound":
            budget.found(empty)
            budget.prove(-5.0 if problem.sense == "max" else 5.0)
        if how == "wrong-value":
            budget.found(empty)
            budget.value = 10**9
        if how == "wrong-proof":
            budget.found(empty)
            budget.prove_infeasible()
        if how == "change-problem":
            object.__setattr__(problem, "values", problem.values * 10**6)
        if how == "print":
            for _ in range(200):
                print("x" * 100_000)
            print("said enough", file=sys.stderr)
            os.write(1, b"y" * 5_000_000)
        if how == "curve":
            for i in range(100_000):
                budget.prove(10.0**9 - i)
        if how == "notes":
            budget.notes[1, 2] = "half \\udc80"
            budget.notes["odd"] = {1: np.float64("nan"), "set": {3}, "many": np.arange(3)}
        if how == "fork":
            os.fork()
        if how == "interrupt":
            raise KeyboardInterrupt
        if how == "close-output":
            os.close(1)
        if how == "write-then-die":
            open("model.lp", "w").close()
            os._exit(9)
        if how == "write-files":
            budget.notes["found"] = os.listdir()
            os.mkdir("logs")
            for name in ("model.lp", "logs/search.log", ".hidden"):
                with open(name, "w") as file:
                    file.write("x")
            os.symlink("/", "everything")
            budget.notes["folder"] = os.getcwd()
        if how == "take-alarm":
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
        if how == "tell-threads":
            budget.notes["threads"] = [os.environ["OMP_NUM_THREADS"], os.environ["NUMBA_NUM_THREADS"]]
        if how == "leave-thread":
            threading.Thread(target=spin, daemon=True).start()
        if how == "leave-idle-thread":
            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        if how == "leave-child":
            import subprocess

            subprocess.Popen([sys.executable, "-c", "while True: pass"])
        if how == "cast-off":
            import subprocess

            subprocess.run([sys.executable, "-c", CAST_OFF])
            time.sleep(0.3)
            ctypes.string_at(0)
        if how == "nap":
            time.sleep(0.3)
        if how == "ignore-signals":
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            while True:
                pass
        return empty


@dataclass(frozen=True)
class Reading:
    """Reads a file when it is warmed up, and again when it runs, as one that looks whether it has changed."""

    file: str = ""
    solves = Knapsack
    name = "reading"

    def supports(self, problem):
        return None

    def warm_up(self):
        open(self.file).close()

    def __call__(self, problem, budget, rng, start=None):
        with open(self.file) as file:
            budget.notes["read"] = file.read()
        return np.zeros(len(problem), bool)


@dataclass(frozen=True)
class Steady:
    iterations: int = 50
    solves = Knapsack
    name = "steady"

    def supports(self, problem):
        return None

    def __call__(self, problem, budget, rng, start=None):
        for _ in range(self.iterations):
            if budget.done():
                break
            budget.iterations += 1
            chosen = np.zeros(len(problem), bool)
            chosen[rng.integers(len(problem))] = True
            if not problem.violations(chosen):
                budget.found(chosen)
'''

ENTRY_POINTS = """[transom.solvers]
faulty = faulty_solvers:Faulty
steady = faulty_solvers:Steady
reading = faulty_solvers:Reading
"""

METADATA = "Metadata-Version: 2.1\nName: transom-faulty\nVersion: 1.0\n"


def install(folder: Path) -> None:
    """Write the distribution into a folder that is on the path of whoever uses it."""
    (folder / "faulty_solvers.py").write_text(MODULE)
    info = folder / "transom_faulty-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text(ENTRY_POINTS)


@pytest.fixture(scope="module")
def faulty_solvers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the distribution, found by this process and by all processes that it starts meanwhile."""
    folder = tmp_path_factory.mktemp("faulty")
    install(folder)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *([before] if before else [])])
    os.environ["FAULTY_FOR"] = str(os.getpid())
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    registry._entries.cache_clear()
    yield folder
    del os.environ["FAULTY_FOR"]
    sys.path.remove(str(folder))
    sys.modules.pop("faulty_solvers", None)
    registry._entries.cache_clear()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


class EndsSpinning(Watch):
    """Supervision under which the time of a run is over as soon as it only spins, and not before."""

    def well(self) -> bool:
        if (self._output.parent / SCRATCH / "spins").exists():
            self._status._set("deadline", self._status.since)
        return super().well()


@pytest.fixture
def ends_spinning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that would spin for ever have all the time until they do: a busy machine may stop them for a while."""
    monkeypatch.setattr("transom.bench.run.isolation.Watch", EndsSpinning)


def knapsack(n: int = 8, seed: int = 0) -> Knapsack:
    """A small knapsack into which not everything fits."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 20, n)
    return Knapsack(weights, rng.integers(1, 50, n), int(weights.sum()) // 2)


def dearest(problem: Knapsack) -> float:
    """What the best item is worth alone: what ``faulty:first=answers`` hands over last."""
    return float(problem.values[problem.weights <= problem.capacity].max())


def task(spec: str, problem: object | None = None, seconds: float = 1.0, **changes: object) -> Task:
    """A run of a solver, by default on a small knapsack.

    Its end past the budget is far off: a busy machine may stop a worker for seconds, and a run that is to be ended says
    so itself.
    """
    problem = knapsack() if problem is None else problem
    facts: dict[str, object] = {
        "set": "tests",
        "label": "tests:1",
        "document": msgspec.Raw(encode(problem)),
        "instance": problem.digest(),
        "problem": problem.kind,
        "name": spec.partition(":")[0],
        "spec": spec,
        "stop": Stop(seconds=seconds),
        "seed": 0,
        "grace": 30.0,
        "memory": 600,
    }
    return Task(**{**facts, **changes})
