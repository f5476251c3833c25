"""In the core install shipped agents solve and replay; what trains says what to install."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

import pytest

from tests.learned.mars.made import checkpoint
from transom.io import write_documents
from transom.learned.checkpoints import shipped_names
from transom.models import Allocation, FatTree, Knapsack

BLOCKED = ("torch", "gymnasium", "tensorboard")

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

# The nodes of Theta, for the agents that were trained on it: jobs wait, so that there is something to choose.
LARGE = "; MaxNodes: 4360\n" + "".join(
    f"{i} {10 * i} -1 {900 + i} {500 * (1 + i % 4)} -1 -1 {500 * (1 + i % 4)} {1000 + i} -1 1 1 1 1 1 -1 -1 -1\n"
    for i in range(1, 40)
)

TASKS = """submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk
0,10,1,0.1,1,1,8,0
0,30,4,0.2,1,2,3,0
5,12,0.5,0.05,2,1,20,0
"""
MACHINES = ("--machines", "count=2,cpu=8,memory=1")

POLICIES = {
    "dras-pg": "dras-pg",
    "dras-pg-growing": "dras-pg:model=dras-pg-growing",
    "dras-dql": "dras-dql",
    "decima-pg": "decima-pg",
}
PLACING = {"learned-priority": "learned-priority", "deepjs": "deepjs"}
SOLVERS = {"nsa": "nsa:steps=20", "nsa-cost": "nsa-cost:steps=20"}
"""What uses each shipped checkpoint, by the name of the checkpoint."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """What came of the commands below, by a word for each, in one process without the packages."""
    folder = tmp_path_factory.mktemp("without")
    trace, large, knapsack = folder / "eight.swf", folder / "large.swf", folder / "knapsack.json"
    window, wide = folder / "window.json", folder / "wide.json"
    tasks = folder / "tasks.csv"
    tasks.write_text(TASKS)
    trace.write_text(TRACE)
    large.write_text(LARGE)
    write_documents(knapsack, [Knapsack([3, 4, 5], [2, 3, 4], 6)])
    write_documents(window, [Allocation(FatTree.uniform(8, 2, 4), range(8), [3, 2], "static", True)])
    write_documents(wide, [Allocation(FatTree.uniform(1000, 10, 40), range(0, 1000, 3), [30, 20, 9, 9], "dynamic")])
    model = checkpoint(folder)
    commands = {
        "solvers": ["solvers", "--json"],
        "models": ["models"],
        "simulate": ["simulate", str(trace), "--policy", "fcfs-easy", "--json"],
        "solve a knapsack": ["solve", str(knapsack), "--solver", "dp", "--json"],
        "solve a window": ["solve", str(window), "--solver", "scas-dp", "--json"],
        **{
            name: ["solve", str(wide), "--problem", "dcas", "--solver", spec, "--iterations", "20", "--json"]
            for name, spec in SOLVERS.items()
        },
        **{name: ["simulate", str(large), "--policy", spec, "--json"] for name, spec in POLICIES.items()},
        **{name: ["simulate", str(tasks), *MACHINES, "--policy", spec, "--json"] for name, spec in PLACING.items()},
        "mars": ["simulate", str(large), "--policy", f"mars:model={model},cost=0.5", "--json"],
        "learning on": ["simulate", str(large), "--policy", "dras-pg:adapt=yes"],
        "train nsa": ["train", "nsa", "--out", str(folder / "nsa")],
        "train nsa-cost": ["train", "nsa-cost", "--out", str(folder / "nsa-cost")],
        "train dras": ["train", "dras", str(trace), "--out", str(folder / "dras")],
        "train mars": ["train", "mars", str(trace), "--out", str(folder / "mars")],
        "train kernel": ["train", "kernel", str(trace), "--out", str(folder / "kernel")],
        "train deepjs": ["train", "deepjs", str(tasks), "--out", str(folder / "deepjs")],
    }
    asked = json.dumps([BLOCKED, list(commands.values())])
    done = subprocess.run([sys.executable, "-c", PROGRAM, asked], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["blocked"] == []
    assert told["wrong"] == []
    assert {"transom.learned.dras", "transom.learned.repair"} <= set(told["packages"])
    # What cannot begin leaves nothing behind.
    assert sorted(folder.iterdir()) == sorted([
        knapsack, large, model, model.with_suffix(".json"), tasks, trace, wide, window
    ])  # fmt: skip
    return {name: Ran(*each) for name, each in zip(commands, told["ran"], strict=True)}


def test_every_checkpoint_is_tried() -> None:
    assert sorted([*SOLVERS, *POLICIES, *PLACING]) == shipped_names()


def test_learned_solvers_are_listed_as_there(ran: dict[str, Ran]) -> None:
    assert (ran["solvers"].status, ran["solvers"].err) == (0, "")
    listed = json.loads(ran["solvers"].out)
    missing = {each["name"]: each["missing"] for group in listed.values() for each in group}
    assert [missing[name] for name in ("nsa", "nsa-cost", "dras-pg", "dras-dql", "decima-pg")] == [None] * 5


@pytest.mark.parametrize("name", SOLVERS)
def test_shipped_repairs_solve(ran: dict[str, Ran], name: str) -> None:
    assert ran[name].status == 0, ran[name].err
    told = json.loads(ran[name].out)
    assert told["status"] == "feasible"


@pytest.mark.parametrize("name", POLICIES)
def test_shipped_agents_replay(ran: dict[str, Ran], name: str) -> None:
    assert ran[name].status == 0, ran[name].err
    (told,) = json.loads(ran[name].out)["policies"]
    assert told["metrics"]["jobs"] == 39
    assert told["metrics"]["mean_wait"] > 0


def test_a_checkpoint_of_mars_replays(ran: dict[str, Ran]) -> None:
    assert ran["mars"].status == 0, ran["mars"].err
    (told,) = json.loads(ran["mars"].out)["policies"]
    assert told["metrics"]["jobs"] == 39


@pytest.mark.parametrize("name", PLACING)
def test_shipped_policies_place_tasks(ran: dict[str, Ran], name: str) -> None:
    assert ran[name].status == 0, ran[name].err
    told = json.loads(ran[name].out)
    assert told["makespan"] >= told["bound"] > 0


def test_models_are_listed(ran: dict[str, Ran]) -> None:
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


@pytest.mark.parametrize(
    "asked", ["learning on", *(f"train {kind}" for kind in ("nsa", "nsa-cost", "dras", "mars", "kernel", "deepjs"))]
)
def test_what_learns_says_what_to_install(ran: dict[str, Ran], asked: str) -> None:
    assert (ran[asked].status, ran[asked].out) == (2, "")
    assert ran[asked].err.startswith("error: ")
    assert ran[asked].err.endswith(": pip install 'transom[learned]'\n")
    assert ran[asked].err.count("\n") == 1
