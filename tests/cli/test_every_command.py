"""What holds for every command: ``--json`` is JSON and nothing else, ``-q`` is silent beside it, ``-v`` says more."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.bench.in_process import InProcess
from tests.cli.conftest import Ran
from tests.learned.repair.made import window
from tests.report.rows import solves
from transom.bench.store.store import Store
from transom.cli import run
from transom.cli.app import command_line
from transom.generate import generate_knapsack, generate_lublin
from transom.io import write_documents
from transom.simulation import simulate
from transom.slurm.advice import Adviser
from transom.slurm.advice_log import AdviceLog
from transom.slurm.audit import Audit
from transom.slurm.state import read_answers
from transom.slurm.window import window_of
from transom.traces import write_swf
from transom.traces.origin import Origin

PLAN = """
format = "transom/dataset/1"
name = "small"
licence = "CC0-1.0"
[[sets]]
recipe = "knapsack"
count = 4
parameters = { class = "circle", items = 8 }
"""
BENCH = "--instances {0}/library/packs.jsonl --solver greedy --iterations 10"
TASKS = """submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk
0,10,1,0.1,1,1,8,0
0,30,4,0.2,1,2,3,0
5,12,0.5,0.05,2,1,20,0
"""
BATSIM = """{"nb_res": 4, "profiles": {"one": {"type": "delay", "delay": 30}},
 "jobs": [{"id": "1", "subtime": 0, "walltime": 60, "res": 2, "profile": "one"}]}"""
EVOLUTION = "--generations 1 --population 4 --windows 2 --chunks 1"
SEEN = "--validation 2 --validation-length 30"
TRAINING = "--decisions 64 --settings batch=64,hidden=[8,8],laps=1,window=20,against=fcfs-easy"

EXAMPLES = Path(__file__).parents[2] / "examples"
ANSWERS = EXAMPLES / "slurm"

CASES = {
    "demo": "--out {0}/demo",
    "simulate": "{0}/trace.swf.gz --policy fcfs-easy --policy sjf --out {0}/replays --by mode",
    "when": "{0}/trace.swf.gz --job 5",
    "solve": "{0}/library/packs.jsonl --solver dp --out {0}/solved.jsonl",
    "check": "{0}/library/packs.jsonl {0}/results.jsonl",
    "conform": "{0}/starts.csv --trace {0}/trace.swf.gz",
    "snapshot": "{0}/trace.swf.gz --every 3600 --out {0}/windows.jsonl",
    "report": "{0}/store -o {0}/page.html",
    "calibrate": "{0}/logged.swf",
    "tune": "{0}/long.swf.gz --evaluations 4 --workers 1 --no-figures -o {0}/tuned.toml",
    "adapters raps": "--policy fcfs-easy -o {0}/raps.py",
    "solvers": "",
    "models": "",
    "schema": "",
    "import slurm": f"{EXAMPLES / 'sacct.txt'} -o {{0}}/site.parquet",
    "import pbs": f"{EXAMPLES / 'pbs.txt'} -o {{0}}/site.parquet",
    "import lsf": f"{EXAMPLES / 'lsb.acct'} -o {{0}}/site.swf",
    "import batsim": "{0}/batsim.json -o {0}/site.parquet",
    "import swf": "{0}/trace.swf.gz -o {0}/site.parquet",
    "generate workload": "--jobs 20 --out {0}/made.swf",
    "generate knapsack": "--class circle --items 8 --out {0}/made.jsonl",
    "generate selection": "--like {0}/trace.swf.gz --minimum 0 --count 2 --out {0}/made.jsonl",
    "generate joint": "--jobs 5 --out {0}/made.jsonl",
    "generate tjap": "--periods 3 --policy sequential --out {0}/made.jsonl",
    "generate csp": "--length 20 --out {0}/made.jsonl",
    "generate placement": "--tasks 5 --out {0}/made.jsonl",
    "generate workflow": "--tasks 5 --out {0}/made.jsonl",
    "generate dataset": "{0}/plan.toml --out {0}/dataset",
    "bench run": BENCH + " --out {0}/runs",
    "bench plan": BENCH,
    "bench score": "{0}/store --pairs",
    "bench compare": "{0}/store {0}/store",
    "library list": "--library {0}/library",
    "library add": "{0}/library/packs.jsonl --library {0}/library",
    "library update": "{0}/results.jsonl --library {0}/library",
    "library verify": "--library {0}/library",
    "library remove": "{0}/library/other.jsonl --library {0}/library",
    "slurm advise": f"{ANSWERS / 'jobs.txt'} {ANSWERS / 'nodes.txt'} --log {{0}}/advised.parquet",
    "slurm replay": "{0}/audit.jsonl",
    "slurm score": f"{{0}}/advice.parquet {ANSWERS / 'jobs.txt'}",
    "slurm window": f"{ANSWERS / 'jobs.txt'} {ANSWERS / 'nodes.txt'} -o {{0}}/window.json",
    "protocol rlscheduler": "{0}/trace.swf.gz --policy sjf --sequences 2 --length 20",
    "train nsa": "--network fcn-1 --decisions 64 --envs 2 --streams 1 --passes 1 --out {0}/nsa",
    "train nsa-cost": "--updates 1 --windows 2 --runs 2 --search-steps 5 --candidates 4 --out {0}/nsa-cost",
    "train kernel": "{0}/trace.swf.gz --generations 1 --pairs 1 --batch 1 --length 20 --validation 2 --out {0}/kernel",
    "train mars": "{0}/trace.swf.gz --updates 1 --batch 1 --length 20 " + SEEN + " --out {0}/mars",
    "train dras": "{0}/trace.swf.gz " + TRAINING + " --out {0}/dras",
    "train deepjs": "{0}/tasks.csv --machines count=2,cpu=8,memory=1 --steps 1 --episodes 2 --out {0}/deepjs",
    "train learned-priority": "{0}/tasks.csv --machines count=2,cpu=8,memory=1 " + EVOLUTION + " --out {0}/priority",
}
"""The least that each command can be asked for; ``{0}`` is a folder with what it reads."""

LONG = {"compile"}
"""What takes minutes: tests/test_wheel.py."""

NEEDS_PEER = {"serve batsim"}
"""What waits for another program: tests/adapters."""

NEEDS_SLURM = {"slurm run", "slurm release", "slurm play", "slurm record"}
"""What asks a Slurm: tests/slurm."""

REMOVED = "library remove"  # takes something away, which is put back before each run


def commands() -> Iterator[str]:
    """The commands that there are."""
    for name, command in command_line().commands.items():
        below: dict[str, Any] = getattr(command, "commands", {})
        yield from (f"{name} {each}" for each in below) if below else [name]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands read."""
    folder = tmp_path_factory.mktemp("every")
    trace = generate_lublin(80, 64, np.random.default_rng(1), load=1.2)
    write_swf(trace, folder / "trace.swf.gz")
    write_swf(generate_lublin(120, 64, np.random.default_rng(1), load=1.2), folder / "long.swf.gz")
    write_swf(replace(trace, origin=Origin(started=trace.jobs.submit)), folder / "logged.swf")
    started = simulate(trace, "fcfs-easy")
    started.to_frame().select("job_id", "start").write_csv(folder / "starts.csv")
    (folder / "batsim.json").write_text(BATSIM)
    (folder / "plan.toml").write_text(PLAN)
    (folder / "tasks.csv").write_text(TASKS)
    Audit(folder / "audit.jsonl").write("begin", policy="fcfs-easy", allocate=None, seed=0)
    seen = window_of(read_answers([ANSWERS / "jobs.txt", ANSWERS / "nodes.txt"]), order="fcfs", held=True)
    AdviceLog(folder / "advice.parquet", "fcfs-easy").add(Adviser("fcfs-easy").advise(seen))
    rng = np.random.default_rng(0)
    for name in ("packs", "other"):
        packs = [generate_knapsack("weakly-correlated", 12, 100, rng) for _ in range(2)]
        write_documents(folder / "library" / f"{name}.jsonl", packs)
    with Store(folder / "store") as store:
        for row in solves(2, 1, (1.0,)):
            store.append(row)
    return folder


@pytest.fixture
def prepared(folder: Path, transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with results and a library, and no processes and no streams where they are not what is tested."""

    def windows(seed: int, name: str, streams: int) -> dict[str, list[Any]]:
        return {"paper": [window()], "authors": [window(wrap=False)]}

    for module in ("nsa_cost_evaluation", "nsa_cost_training"):
        monkeypatch.setattr(f"transom.learned.repair.{module}.dynamic_windows", windows)

    def here(command: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        with redirect_stdout(StringIO()) as printed:
            status = run(command[3:])
        return subprocess.CompletedProcess(command, status, printed.getvalue().encode())

    # The name in that module alone: other processes, such as the one that asks for the commit, are left as they are.
    monkeypatch.setattr("transom.cli.commands.demo.subprocess", SimpleNamespace(run=here, PIPE=subprocess.PIPE))
    engine = InProcess()
    monkeypatch.setattr("transom.cli.commands.bench_run.chosen_engine", lambda *_: engine)
    packs = folder / "library" / "packs.jsonl"
    assert transom("solve", packs, "--solver", "dp", "--out", folder / "results.jsonl").status == 0
    assert transom("library", "add", packs, folder / "library" / "other.jsonl", "--library", packs.parent).status == 0
    return folder


def test_every_command_stands_here() -> None:
    assert sorted(commands()) == sorted([*CASES, *LONG, *NEEDS_PEER, *NEEDS_SLURM])


@pytest.mark.parametrize("name", CASES)
def test_json_is_all_that_stands_on_standard_output(name: str, prepared: Path, transom: Callable[..., Ran]) -> None:
    if name.startswith("train"):
        pytest.importorskip("torch", reason="needs the extra 'learned'")
    words = [*name.split(), *CASES[name].format(prepared).split()]
    loud = transom(*words, "--json", "--verbose")
    assert loud.status == 0, loud.err
    assert loud.lines
    assert all(isinstance(line, dict | list) for line in loud.lines)
    assert loud.err.splitlines()[-1].startswith("in all: ")
    if name == REMOVED:
        library = prepared / "library"
        assert transom("library", "add", library / "other.jsonl", "--library", library).status == 0
    quiet = transom(*words, "--json", "--quiet")
    assert (quiet.status, quiet.err) == (0, "")
    assert quiet.lines


@pytest.mark.parametrize(
    "name",
    [
        "solve", "simulate", "bench run", "library verify", "generate knapsack", "generate joint", "generate placement",
        "generate workflow",
    ],
)  # fmt: skip
def test_quiet_leaves_results_and_no_remarks(name: str, prepared: Path, transom: Callable[..., Ran]) -> None:
    words = [*name.split(), *CASES[name].format(prepared).split()]
    usual, quiet = transom(*words), transom("-q", *words)
    assert (quiet.status, quiet.err) == (0, "")
    shown = {
        "solve": " dp ",
        "simulate": " fcfs-easy ",
        "bench run": " greedy ",
        "library verify": "all sound",
    }
    assert shown.get(name, "") in quiet.out
    assert bool(quiet.out) == (name in shown)
    if name == "solve" or name.startswith("generate"):
        assert len(quiet.out) < len(usual.out)
    assert len(transom(*words).err.splitlines()) == len(usual.err.splitlines())  # as loud as before


def test_verbose_names_steps_and_what_all_of_it_took(prepared: Path, transom: Callable[..., Ran]) -> None:
    told = transom("simulate", prepared / "trace.swf.gz", "--policy", "fcfs", "-v", "--out", prepared / "told").err
    assert "in all: " in told
    again = transom("-v", "simulate", prepared / "trace.swf.gz", "--policy", "fcfs", "--out", prepared / "told").err
    assert f"fcfs: read from {prepared / 'told' / 'fcfs'}, where it was finished before" in again
    assert "in all: " not in transom("schema").err


def test_quiet_and_verbose_do_not_go_together(transom: Callable[..., Ran]) -> None:
    for words in (("-q", "schema", "-v"), ("schema", "-qv")):
        ran = transom(*words)
        assert (ran.status, ran.out, ran.err) == (2, "", "error: --quiet does not go with --verbose\n")


def test_errors_are_printed_under_quiet(transom: Callable[..., Ran]) -> None:
    assert transom("solve", "-q", "nowhere.json").err == "error: nowhere.json: no such file\n"


def test_the_document_of_a_library(prepared: Path, transom: Callable[..., Ran]) -> None:
    library = prepared / "library"
    (told,) = transom("library", "verify", "--library", library, "--json").lines
    assert (told["sound"], told["entries"], told["wrong"], told["further"]) == (True, 4, [], [])
    (added,) = transom("library", "add", library / "packs.jsonl", "--library", library, "--json").lines
    assert added == {"library": str(library), "new": 0, "entries": 4}


def test_compile_replaces_nothing_but_what_it_made(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    (tmp_path / "mine").write_text("kept")
    ran = transom("compile", "--out", tmp_path)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"error: {tmp_path}: holds something else than built functions, and would be replaced\n"
    assert (tmp_path / "mine").read_text() == "kept"


def test_compile_needs_a_folder_for_other_interpreters_and_says_which_one_does_not_run(
    tmp_path: Path, transom: Callable[..., Ran]
) -> None:
    ran = transom("compile", "--python", "python0.0")
    assert (ran.status, ran.err) == (2, "error: --python needs --out\n")
    ran = transom("compile", "--python", "python0.0", "--out", tmp_path)
    assert (ran.status, ran.err) == (2, "error: functions cannot be built here: python0.0 does not run\n")
