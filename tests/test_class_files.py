"""Classes in files of the user: what is loaded, from where, and what is refused."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from transom import Knapsack, Stop, registry, simulate, solve
from transom.class_files import load_from_file, trust_files, trust_same, trusted_files
from transom.errors import SpecError
from transom.generate import generate_lublin
from transom.simulation import make_policy

CONTENT = '''
from dataclasses import dataclass

import numpy as np
from beside import BIG

from transom import Decision, Knapsack


@dataclass(frozen=True)
class Shortest:
    """Shortest jobs first, until one does not fit."""

    most: int = BIG

    def decide(self, window):
        free, started = window.free_nodes, []
        for i in np.argsort(window.queue.walltime, kind="stable")[: self.most]:
            if window.queue.nodes[i] > free:
                break
            free -= window.queue.nodes[i]
            started.append(int(window.queue.id[i]))
        return Decision(tuple(started))


class Rule:
    timeless = True

    def __call__(self, jobs, now, origin):
        return jobs.walltime.astype(float)


def widest(jobs, now, origin):
    return -jobs.nodes.astype(float)


widest.timeless = True
made = Shortest(1)


class Dense:
    name = "dense"
    solves = Knapsack

    def supports(self, problem):
        return None

    def __call__(self, problem, budget, rng, /, start=None):
        chosen, left = np.zeros(len(problem), np.bool_), problem.capacity
        for i in np.argsort(-problem.values / problem.weights, kind="stable"):
            if problem.weights[i] <= left:
                chosen[i] = True
                left -= problem.weights[i]
        return chosen
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of policies, rules and a solver, with another one beside it, in the current folder."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    (tmp_path / "beside.py").write_text("BIG = 10**9\n")
    path = tmp_path / "mine.py"
    path.write_text(CONTENT)
    monkeypatch.chdir(tmp_path)
    return path


@pytest.mark.parametrize(
    ("own", "registered"),
    [
        ("./mine.py:Shortest", "sjf"),
        ("mine.py:Shortest:most=100000", "sjf"),
        ("./mine.py:Rule", "sjf"),
        ("./mine.py:Rule-easy", "sjf-easy"),
        ("./mine.py:Rule-conservative:depth=2", "sjf-conservative:depth=2"),
        ("window:solver=[./mine.py:Dense],size=5", "window:solver=greedy,size=5"),
    ],
)
def test_it_starts_what_a_registered_policy_starts(mine: Path, own: str, registered: str) -> None:
    workload = generate_lublin(200, 64, np.random.default_rng(3), load=0.9)
    trust_files(own)
    found = simulate(workload, make_policy(own))
    np.testing.assert_array_equal(found.start, simulate(workload, registered).start)


def test_a_file_holds_objects_and_functions(mine: Path) -> None:
    trust_files("./mine.py:made")
    workload = generate_lublin(100, 64, np.random.default_rng(3), load=0.9)
    assert make_policy("./mine.py:made").most == 1  # type: ignore[attr-defined]
    assert simulate(workload, make_policy("./mine.py:widest-easy")).start.min() >= 0


def test_a_solver_of_a_file_solves(mine: Path) -> None:
    trust_files("mine=./mine.py:Dense")
    problem = Knapsack(values=[6, 5, 4], weights=[3, 3, 2], capacity=5)
    result = solve(problem, "./mine.py:Dense", Stop(seconds=1))
    assert (result.solver, result.value, result.status) == ("dense", 10, "feasible")


def test_labels_are_the_classes(mine: Path) -> None:
    texts = ["./mine.py:Shortest", "./mine.py:Shortest:most=3", "short=./mine.py:Rule-easy", "/a/b.py:Rule-easy"]
    labels = [label for label, _ in registry.labelled_apart(texts)]
    assert labels == ["Shortest", "Shortest-most-3", "short", "Rule-easy"]


def test_only_what_was_named_is_run(mine: Path) -> None:
    mine.write_text("raise SystemExit('it was run')\n")
    with pytest.raises(SpecError, match="run only where the command line itself names it, or with --trust"):
        make_policy("./mine.py:Shortest")


def test_a_file_that_was_changed_is_not_run(mine: Path) -> None:
    trust_files("./mine.py:Shortest")
    digest = registry.weights_of(make_policy("./mine.py:Shortest"), spec="./mine.py:Shortest")
    assert trusted_files()[str(mine)] == digest
    mine.write_text(CONTENT + "# another\n")
    with pytest.raises(SpecError, match="changed since it was named, or is another one on this machine"):
        make_policy("./mine.py:Shortest")
    trust_files("./mine.py:Shortest")
    make_policy("./mine.py:Shortest")
    assert trusted_files()[str(mine)] not in ("", digest)
    trust_same({str(mine): digest})  # what another process says about it
    with pytest.raises(SpecError, match="changed since"):
        make_policy("./mine.py:Shortest")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("./mine.py:Longest", r"\./mine\.py has no 'Longest'\. It has: Shortest, Rule, widest, made, Dense"),
        ("./mine.py:Shortest:least=1", "has no parameter 'least'. Known: most"),
        ("./mine.py:Shortest:most=x", "expected int, got 'x'"),
        ("./mine.py:Dense", "expected the name of a policy, a policy or a priority rule"),
        ("./none.py:Shortest", "./none.py: no such file"),
        ("./mine.py", "expected FILE.py:NAME"),
        ("./mine.py:", "expected FILE.py:NAME"),
        ("/etc/hostname:Shortest", "expected FILE.py:NAME|no such file"),
    ],
)
def test_what_is_wrong_is_said(mine: Path, spec: str, message: str) -> None:
    trust_files("./mine.py:Shortest")
    with pytest.raises(SpecError, match=message):
        make_policy(spec)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("import numpy\n\nboom = 1 / 0\n", "line 3: ZeroDivisionError"),
        ("import numpy\ndef (\n", "line 2: SyntaxError"),
        ("import nothing_of_this_name\n", "line 1: ModuleNotFoundError"),
    ],
)
def test_a_file_that_fails_names_its_line(mine: Path, content: str, message: str) -> None:
    mine.write_text(content)
    trust_files("./mine.py:Shortest")
    with pytest.raises(SpecError, match=f"mine.py, {message}"):
        load_from_file("./mine.py:Shortest")


@pytest.mark.parametrize("mode", [0o666, 0o664])
def test_a_file_that_others_may_write_is_not_run(mine: Path, mode: int) -> None:
    os.chmod(mine, mode)
    os.chown(mine, -1, 7) if os.geteuid() == 0 else None
    trust_files("./mine.py:Shortest")
    if os.geteuid() == 0 or mode == 0o666:
        with pytest.raises(SpecError, match=r"not run, because (anybody|group .*) may write"):
            make_policy("./mine.py:Shortest")
