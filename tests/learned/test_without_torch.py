"""Everything but the learned components themselves works where their packages are not installed."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

import pytest

from transom.io import write_documents
from transom.models import Allocation, FatTree, Knapsack

BLOCKED = ("torch", "gymnasium", "stable_baselines3", "sb3_contrib", "safetensors", "tensorboard")

# Every finder of modules is asked through one that does not know the blocked packages: importing them fails as it
# does where they are not installed, and importlib.util.find_spec returns None.
PROGRAM = """
import contextlib, importlib, io, json, pkgutil, sys

class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in BLOCKED else self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)

BLOCKED, commands = json.loads(sys.argv[1])
sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
importlib.invalidate_caches()

def imported(name):
    try:
        importlib.import_module(name)
    except ImportError as error:
        return f"{name}: {error}"

import transom
import transom.learned
packages = ["transom.learned"] + [
    module.name for module in pkgutil.walk_packages(transom.learned.__path__, "transom.learned.") if module.ispkg
]
wrong = [imported(name) for name in packages]

from transom.cli import run
ran = []
for arguments in commands:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = run(arguments)
    ran.append([status, out.getvalue(), err.getvalue()])
print(json.dumps({"wrong": [w for w in wrong if w], "ran": ran, "packages": packages,
                  "blocked": sorted({name.partition(".")[0] for name in sys.modules} & set(BLOCKED))}))
"""


@dataclass(frozen=True)
class Ran:
    """What came of a command."""

    status: int
    out: str
    err: str


TRACE = "; MaxNodes: 4\n" + "".join(
    f"{i} {10 * i} -1 {50 + i} {1 + i % 4} -1 -1 {1 + i % 4} {100 + i} -1 1 1 1 1 1 -1 -1 -1\n" for i in range(1, 9)
)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """What came of the commands below, by a word for each, in one process without the packages."""
    folder = tmp_path_factory.mktemp("without")
    trace, knapsack, window = folder / "eight.swf", folder / "knapsack.json", folder / "window.json"
    trace.write_text(TRACE)
    write_documents(knapsack, [Knapsack([3, 4, 5], [2, 3, 4], 6)])
    write_documents(window, [Allocation(FatTree.uniform(8, 2, 4), range(8), [3, 2], "static", True)])
    commands = {
        "solvers": ["solvers", "--json"],
        "models": ["models"],
        "simulate": ["simulate", str(trace), "--policy", "fcfs-easy", "--json"],
        "solve a knapsack": ["solve", str(knapsack), "--solver", "dp", "--json"],
        "solve a window": ["solve", str(window), "--solver", "scas-dp", "--json"],
        "nsa": ["solve", str(window), "--solver", "nsa"],
        "nsa-cost": ["solve", str(window), "--solver", "nsa-cost"],
        "dras-pg": ["simulate", str(trace), "--policy", "dras-pg"],
        "dras-dql": ["simulate", str(trace), "--policy", "dras-dql"],
        "decima-pg": ["simulate", str(trace), "--policy", "decima-pg"],
        "learning on": ["simulate", str(trace), "--policy", "dras-pg:adapt=yes"],
        "train nsa": ["train", "nsa", "--out", str(folder / "nsa")],
        "train nsa-cost": ["train", "nsa-cost", "--out", str(folder / "nsa-cost")],
        "train dras": ["train", "dras", str(trace), "--out", str(folder / "dras")],
    }
    asked = json.dumps([BLOCKED, list(commands.values())])
    done = subprocess.run([sys.executable, "-c", PROGRAM, asked], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["blocked"] == []
    assert told["wrong"] == []
    assert {"transom.learned.dras", "transom.learned.repair"} <= set(told["packages"])
    assert sorted(folder.iterdir()) == sorted([knapsack, trace, window])  # what cannot begin leaves nothing behind
    return {name: Ran(*each) for name, each in zip(commands, told["ran"], strict=True)}


def test_solvers_are_listed_and_say_what_is_missing(ran: dict[str, Ran]) -> None:
    assert (ran["solvers"].status, ran["solvers"].err) == (0, "")
    listed = json.loads(ran["solvers"].out)
    missing = {each["name"]: each["missing"] for group in listed.values() for each in group if each["missing"]}
    learned = {"nsa", "nsa-cost", "dras-pg", "dras-dql", "decima-pg"}
    assert learned <= missing.keys()
    assert all("pip install 'transom[learned]'" in missing[name] for name in learned)


def test_models_are_listed(ran: dict[str, Ran]) -> None:
    from transom.learned.checkpoints import shipped_names

    assert (ran["models"].status, ran["models"].err) == (0, "")
    assert all(name in ran["models"].out for name in shipped_names())


def test_traces_are_replayed(ran: dict[str, Ran]) -> None:
    assert ran["simulate"].status == 0
    (told,) = json.loads(ran["simulate"].out)["policies"]
    assert told["metrics"]["mean_wait"] > 0


def test_exact_solvers_work(ran: dict[str, Ran]) -> None:
    for name in ("solve a knapsack", "solve a window"):
        assert ran[name].status == 0, ran[name].err
        (line,) = ran[name].out.splitlines()
        told = json.loads(line)
        assert told["status"] == "optimal"


LEARNED = ("nsa", "nsa-cost", "dras-pg", "dras-dql", "decima-pg", "learning on")


@pytest.mark.parametrize("asked", [*LEARNED, "train nsa", "train nsa-cost", "train dras"])
def test_what_is_learned_says_what_to_install(ran: dict[str, Ran], asked: str) -> None:
    assert (ran[asked].status, ran[asked].out) == (2, "")
    assert ran[asked].err.startswith("error: ")
    assert ran[asked].err.endswith(": pip install 'transom[learned]'\n")
    assert ran[asked].err.count("\n") == 1
