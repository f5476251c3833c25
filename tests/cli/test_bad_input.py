"""Bad input: one line that names file, line and condition, exit status 2, no traceback."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Ran
from transom.cli import run
from transom.generate import generate_lublin, hard_knapsack
from transom.io import encode, write_documents
from transom.models import Knapsack
from transom.solving import solve
from transom.traces import write_swf

JOB = "1 0 -1 100 4 -1 -1 4 200 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"
HEADER = "; MaxProcs: 64\n"
SMALL = Knapsack(np.array([60, 100, 120]), np.array([1, 2, 3]), 5)
OTHER = Knapsack(np.array([60, 100, 120]), np.array([1, 2, 3]), 4)
HUGE = """
format = "transom/dataset/1"
name = "huge"
licence = "MIT"
[[sets]]
recipe = "knapsack"
count = 100000000000000
parameters = { class = "circle", items = 8 }
"""
DOCUMENT = json.loads(encode(SMALL))


def changed(**fields: object) -> str:
    return json.dumps({**DOCUMENT, **fields}) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of every kind, sound and broken."""
    folder = tmp_path_factory.mktemp("input")
    workload = generate_lublin(60, 64, np.random.default_rng(1), load=0.9)
    write_swf(workload, folder / "good.swf.gz")
    write_documents(folder / "good.json", [SMALL])
    write_documents(folder / "large.jsonl", [SMALL, hard_knapsack("circle", np.random.default_rng(1), 100)])
    write_documents(folder / "result.json", [solve(SMALL, "dp")])
    write_documents(folder / "other.jsonl", [solve(SMALL, "dp"), solve(OTHER, "dp")])
    packed = (folder / "good.swf.gz").read_bytes()
    lines = b"".join(encode(hard_knapsack("circle", np.random.default_rng(i), 100)) + b"\n" for i in range(20))
    texts: dict[str, str | bytes] = {
        "empty": b"",
        "binary": bytes(range(256)) * 8,
        "cut.swf.gz": packed[: len(packed) // 2],
        "cut.jsonl.gz": gzip.compress(lines)[:-200],
        "columns.swf": HEADER + JOB + JOB.rsplit(" ", 1)[0].replace("1 0", "2 0", 1) + "\n",
        "negative.swf": HEADER + JOB + JOB.replace("1 0 -1 100 4 -1 -1 4", "2 0 -1 100 -4 -1 -1 -4"),
        "nan.swf": HEADER + JOB + JOB.replace("1 0 -1 100", "2 nan -1 100"),
        "large.swf": HEADER + JOB.replace("1 0 -1 100 4 -1 -1 4", "1 0 -1 100 65 -1 -1 65"),
        "twice.swf": HEADER + JOB + JOB,
        "header.swf": HEADER,
        "nodes.swf": f"; MaxProcs: {2**40 + 1}\n" + JOB,
        "huge.toml": HUGE,
        "plan.toml": 'format = "transom/plan/1"\nname = 3\n',
        "version.json": changed(format="transom/knapsack/2"),
        "format.json": changed(format="knapsack"),
        "untagged.json": json.dumps({"values": [1], "weights": [1], "capacity": 1}),
        "nan.json": json.dumps(DOCUMENT).replace("[60,", "[NaN,").replace("[60 ,", "[NaN,"),
        "weight.json": changed(weights=[1, -2, 3]),
        "shape.json": changed(weights=[1, 2]),
        "extra.json": changed(colour="red"),
        "broken.jsonl": changed() + "\n" + changed()[:-10] + "\n" + changed(),
        "text.json": "hello\n",
        "odd.kp": "2\n10\n5 6\n7\n",
        "few.kp": "3\n10\n5 6\n7 8\n",
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    for name in ("empty", "binary"):
        for suffix in (".swf", ".json", ".jsonl", ".kp"):
            (folder / f"{name}{suffix}").write_bytes((folder / name).read_bytes())
    for name, bad in (("corrupt", b"PAR1" + bytes(500)), ("cutoff", b"")):
        (folder / name).mkdir()
        (folder / name / "jobs.parquet").write_bytes(bad)
    (folder / "folder").mkdir()
    return folder


SIMULATE = ["simulate", "--policy", "fcfs"]
SNAPSHOT = ["snapshot", "--every", "60", "--out", "w.jsonl"]
SOLVE = ["solve", "--solver", "dp"]
CASES: dict[str, tuple[list[str], tuple[str, ...]]] = {
    # traces
    "trace is empty": ([*SIMULATE, "empty.swf"], ("empty.swf: line 1", "the file is empty")),
    "trace is binary": ([*SIMULATE, "binary.swf"], ("binary.swf: line 1", "zero byte")),
    "trace is cut off": ([*SIMULATE, "cut.swf.gz"], ("cut.swf.gz: line ", "gzip stream is broken or cut off")),
    "trace has 17 columns": ([*SIMULATE, "columns.swf"], ("columns.swf: line 3", "18", "17")),
    "trace has a negative size": (
        [*SIMULATE, "negative.swf", "--nonpositive", "error"],
        ("negative.swf: line 3", "job 2", "size must be > 0"),
    ),
    "trace has NaN": ([*SIMULATE, "nan.swf"], ("nan.swf: line 3", "nan")),
    "job is larger than the machine": (
        [*SNAPSHOT, "large.swf", "--oversized", "error"],
        ("large.swf: line 2", "job 1", "size 65 exceeds the 64 nodes"),
    ),
    "no job fits": ([*SIMULATE, "large.swf"], ("large.swf: line 2", "none of its 1 jobs can be used")),
    "id stands twice": ([*SIMULATE, "twice.swf"], ("twice.swf: line 3", "this id stands already in line 2")),
    "trace has no job": ([*SIMULATE, "header.swf"], ("header.swf: line 1", "without any job")),
    "trace is missing": ([*SIMULATE, "missing.swf"], ("missing.swf", "No such file")),
    "trace is a folder": ([*SNAPSHOT, "folder"], ("folder", "directory")),
    "cut begins after the end": ([*SIMULATE, "good.swf.gz", "--start", "60"], ("start must be from 0 to 59, got 60",)),
    "cut is too long": ([*SNAPSHOT, "good.swf.gz", "--jobs", "61"], ("jobs must be from 1 to 60", "got 61")),
    "trace to be like is missing": (
        ["generate", "workload", "--model", "weekly", "--jobs", "5", "--like", "missing.swf", "--out", "o.swf"],
        ("missing.swf",),
    ),
    # documents
    "instance is empty": ([*SOLVE, "empty.json"], ("empty.json: the file is empty",)),
    "set is empty": ([*SOLVE, "empty.jsonl"], ("empty.jsonl: the file is empty",)),
    "instance is binary": ([*SOLVE, "binary.json"], ("binary.json: not a text file",)),
    "set is binary": ([*SOLVE, "binary.jsonl"], ("binary.jsonl:1: not",)),
    "kplib's is binary": ([*SOLVE, "binary.kp"], ("binary.kp:1: expected 1 integers",)),
    "set is cut off": ([*SOLVE, "cut.jsonl.gz"], ("cut.jsonl.gz", "truncated")),
    "version is not known": ([*SOLVE, "version.json"], ("version.json: version 2 of transom/knapsack is not known",)),
    "format is not known": ([*SOLVE, "format.json"], ("format.json: format 'knapsack' is not known",)),
    "format is missing": ([*SOLVE, "untagged.json"], ('untagged.json: "format" is missing',)),
    "value is NaN": ([*SOLVE, "nan.json"], ("nan.json: NaN is not a number",)),
    "weight is negative": ([*SOLVE, "weight.json"], ("weight.json: $.weights[1]", ">= 0", "got -2")),
    "shapes differ": ([*SOLVE, "shape.json"], ("shape.json: knapsack: weights", "(3,)", "(2,)")),
    "field is not known": ([*SOLVE, "extra.json"], ("extra.json", "unknown field `colour`")),
    "line is not JSON": ([*SOLVE, "broken.jsonl"], ("broken.jsonl:3: not JSON",)),
    "file is not JSON": ([*SOLVE, "text.json"], ("text.json: not JSON",)),
    "kplib's line is short": ([*SOLVE, "odd.kp"], ("odd.kp:4: expected 2 integers, got 1",)),
    "kplib's n is wrong": ([*SOLVE, "few.kp"], ("few.kp:1: n = 3, but 2 items follow",)),
    "instance is missing": ([*SOLVE, "missing.json"], ("missing.json: no such file",)),
    "instance is a folder": ([*SOLVE, "folder"], ("folder: is a folder, not a file",)),
    "instance is a result": (
        [*SOLVE, "result.json"],
        ("result.json: holds a result; expected an instance",),
    ),
    "second file is missing": ([*SOLVE, "good.json", "missing.json"], ("missing.json: no such file",)),
    # names and parameters
    "solver is not known": (["solve", "good.json", "--solver", "primaldual"], ("unknown solver", "'primal-dual'?")),
    "policy is not known": (["simulate", "good.swf.gz", "--policy", "fcfs-eazy"], ("unknown policy", "'fcfs-easy'?")),
    "policy of a snapshot": ([*SNAPSHOT, "good.swf.gz", "--policy", "windw"], ("unknown policy", "mean 'window'?")),
    "objective is not known": ([*SOLVE, "good.json", "--objective", "waits"], ("unknown objective", "mean 'wait'?")),
    "order is not known": ([*SNAPSHOT, "good.swf.gz", "--order", "wpf3"], ("unknown priority rule", "mean 'wfp3'?")),
    "problem is not known": ([*SOLVE, "good.json", "--problem", "knapsak"], ("unknown problem", "mean 'knapsack'?")),
    "label is that of the pictures": (
        ["simulate", "good.swf.gz", "--policy", "Figures=fcfs"],
        ("label 'Figures': a policy cannot be called so: figures/ is the folder of pictures",),
    ),
    "label has a blank": (
        ["simulate", "good.swf.gz", "--policy", "my policy=fcfs"],
        ("label 'my policy': expected a letter or digit, then up to 99 letters, digits, '.', '_' or '-'",),
    ),
    "label is a path": (
        ["simulate", "good.swf.gz", "--policy", "../out=window:size=5"],
        ("label '../out': expected a",),
    ),
    "label is empty": (["simulate", "good.swf.gz", "--policy", "=fcfs"], ("label '': expected a letter or digit",)),
    "label is alone": (["simulate", "good.swf.gz", "--policy", "mine="], ("'mine=': expected LABEL=SPEC",)),
    "parameter is not known": (["solve", "good.json", "--solver", "dp:memroy=5"], ("no parameter 'memroy'", "memory")),
    "parameter is not a number": (["solve", "good.json", "--solver", "dp:memory=x"], ("dp:memory", "int", "'x'")),
    "parameter is out of range": (["solve", "good.json", "--solver", "dp:memory=-1"], ("memory must be > 0 MiB",)),
    "parameter is set twice": (["solve", "good.json", "--solver", "dp:memory=1,memory=2"], ("set twice",)),
    "brackets do not match": (["simulate", "good.swf.gz", "--policy", "window:solver=[dp"], ("brackets do not match",)),
    "solver has no name": (["solve", "good.json", "--solver", ":memory=5"], ("expected NAME or NAME:KEY=VALUE",)),
    "nested solver is not known": (
        ["simulate", "good.swf.gz", "--policy", "window:solver=[ddp:memory=5]"],
        ("unknown solver 'ddp'; did you mean 'dp'?",),
    ),
    "rule takes no parameters": (["simulate", "good.swf.gz", "--policy", "fcfs:size=5"], ("no parameter 'size'",)),
    "document is not known": (["schema", "windows"], ("unknown document 'windows'", "window, knapsack, sel")),
    # what the parser of the command line finds
    "too few jobs": ([*SNAPSHOT, "good.swf.gz", "--jobs", "0"], ("error: --jobs: must be >= 1, got 0",)),
    "jobs are a word": ([*SNAPSHOT, "good.swf.gz", "--jobs", "all"], ("--jobs: expected a whole number, got 'all'",)),
    "jobs are half": ([*SNAPSHOT, "good.swf.gz", "--jobs", "1.5"], ("--jobs: expected a whole number, got '1.5'",)),
    "tau is a word": (
        [*SIMULATE, "good.swf.gz", "--tau", "long"],
        ("--tau: expected seconds, or a number with a unit: 90, 90s, 30m",),
    ),
    "choice is not known": (
        [*SIMULATE, "good.swf.gz", "--by", "hour"],
        ("error: --by: 'hour' is not one of 'mode', 'size', 'week', 'partition', 'account', 'user'\n",),
    ),
    "option is misspelt": (
        [*SOLVE, "good.json", "--sedonds", "1"],
        ("unknown option '--sedonds'; did you mean '--sec",),
    ),
    "command is misspelt": (["slove", "good.json"], ("unknown command 'slove'; did you mean 'solve'?",)),
    "command of a group": (["bench", "ran"], ("unknown command 'ran'; did you mean 'run'? Known: compare, plan,",)),
    # files and folders
    "file for a folder": (
        [*SIMULATE, "good.swf.gz", "--out", "text.json"],
        ("error: text.json: is a file, not a folder",),
    ),
    "folder in a file": ([*SOLVE, "good.json", "--out", "text.json/a.jsonl"], ("error: text.json: is a file, not a",)),
    "training in a file": (["train", "nsa", "--out", "text.json"], ("error: text.json: is a file, not a folder",)),
    "checked instance is missing": (
        ["check", "missing.json", "result.json"],
        ("missing.json: no such file or folder",),
    ),
    "a command that is gone": (["bench", "portfolio", "--json"], ("auto needs no training", "`transom bench score`")),
    # names and numbers
    "suite is not known": (["bench", "plan", "smok"], ("did you mean 'smoke'?", "workflow, or a file PLAN.toml")),
    "plan has a number for a name": (["bench", "plan", "plan.toml"], ("plan.toml: name: expected `str`, got `int`",)),
    "density is too large": (
        ["generate", "csp", "--density", "9", "--out", "o.jsonl"],
        ("error: csp: density must be from 0 to 1, got 9",),
    ),
    "range is too small": (
        ["generate", "knapsack", "--class", "circle", "--range", "1", "--out", "o.jsonl"],
        ("error: circle: the range R must be from 10 to 10**9, got 1",),
    ),
    # stops and other options
    "more nodes than there can be": (
        [*SIMULATE, "good.swf.gz", "--nodes", str(2**63 - 1)],
        ("--nodes:", "1099511627776"),
    ),
    "more nodes than there can be in the header": (
        [*SIMULATE, "nodes.swf"],
        ("nodes.swf: cluster: num_nodes must be <= 2**40 (1099511627776), got 1099511627777",),
    ),
    "more jobs than fit into memory": (
        ["generate", "workload", "--jobs", "99999999999", "--out", "o.swf"],
        ("99,999,999,999 jobs need about 23 TiB of memory, this machine has",),
    ),
    "more jobs like a trace than fit into memory": (
        [
            "generate",
            "workload",
            "--model",
            "weekly",
            "--like",
            "good.swf.gz",
            "--jobs",
            "99999999999",
            "--out",
            "o.swf",
        ],
        ("99,999,999,999 jobs need about 23 TiB of memory, this machine has",),
    ),
    "more items than fit into memory": (
        ["generate", "knapsack", "--class", "circle", "--items", "99999999999", "--out", "o.jsonl"],
        ("not enough memory: Unable to allocate 745",),
    ),
    "a data set that fits nowhere": (
        ["generate", "dataset", "huge.toml", "--out", "huge"],
        ("huge: 100,000,000,000,000 instances or epochs in 100,000,000,000 shards, about", " on disk", "of memory"),
    ),
    "seconds are negative": ([*SOLVE, "good.json", "--seconds", "-1"], ("seconds must be > 0 and finite, got -1",)),
    "seconds are infinite": ([*SOLVE, "good.json", "--seconds", "inf"], ("seconds must be > 0 and finite, got inf",)),
    "seconds are a word": ([*SOLVE, "good.json", "--seconds", "ten"], ("--seconds:",)),
    "iterations are negative": ([*SOLVE, "good.json", "--iterations", "-5"], ("iterations must be >= 0",)),
    "gap is negative": ([*SOLVE, "good.json", "--gap", "-0.1"], ("gap must be >= 0",)),
    "target is NaN": ([*SOLVE, "good.json", "--target", "nan"], ("target must be a number",)),
    "target is infinite": ([*SOLVE, "good.json", "--target", "inf"], ("--target must be finite",)),
    "stall is zero": ([*SOLVE, "good.json", "--stall", "0"], ("stall must be > 0",)),
    "seed is negative": ([*SOLVE, "good.json", "--seed", "-1"], ("--seed:",)),
    "no thread": ([*SOLVE, "good.json", "--threads", "0"], ("--threads:",)),
    "every zero seconds": (["snapshot", "good.swf.gz", "--every", "0", "--out", "w.jsonl"], ("--every:",)),
    "every is missing": (["snapshot", "good.swf.gz", "--out", "w.jsonl"], ("'--every'",)),
    "every is a word": (["snapshot", "good.swf.gz", "--every", "day", "--out", "w.jsonl"], ("--every:",)),
    "file is missing": (["solve"], ("Missing argument",)),
    "option is not known": ([*SOLVE, "good.json", "--sedonds", "1"], ("--sedonds",)),
    "command is not known": (["solv", "good.json"], ("'solv'",)),
    "two solvers": (
        ["solve", "good.json", "--solver", "dp", "--solver", "greedy"],
        ("--solver greedy: one is taken", "transom bench run"),
    ),
    "solutions without JSON": ([*SOLVE, "good.json", "--solutions"], ("--solutions needs --json",)),
    "objective for a knapsack": (
        [*SOLVE, "good.json", "--objective", "wait"],
        ("good.json: a knapsack states its values; --objective is for windows",),
    ),
    "solver refuses one of a set": (
        [*SOLVE, "large.jsonl"],
        ("large.jsonl:2: solver 'dp' cannot take this knapsack", "100 items x 100000001 capacities", "memory=512"),
    ),
    # where the output goes
    "out is a folder": ([*SNAPSHOT[:-1], "folder.jsonl", "good.swf.gz"], ("folder.jsonl: is a folder",)),
    "out cannot be written": (
        [*SOLVE, "good.json", "--out", "good.json/r.jsonl"],
        ("error: good.json: is a file, not a folder",),
    ),
    "out has another ending": ([*SOLVE, "good.json", "--out", "r.csv"], ("r.csv", "must end in .jsonl")),
    "out holds a trace": ([*SOLVE, "good.json", "--out", "trace.jsonl"], ("trace.jsonl:1: not JSON",)),
    # what is checked
    "result for another instance": (
        ["check", "good.json", "other.jsonl"],
        ("other.jsonl:2: is for instance", "which good.json does not hold"),
    ),
    "result is a knapsack": (["check", "good.json", "good.json"], ("good.json: holds a knapsack; expected a result",)),
    "result is missing": (["check", "good.json", "missing.json"], ("missing.json: no such file or folder",)),
    "instance is missing in a check": (["check", "missing.json", "result.json"], ("missing.json: no such file",)),
    "parquet is corrupt": (["check", "good.swf.gz", "corrupt"], ("corrupt/jobs.parquet: not a Parquet file",)),
    "parquet is empty": (["check", "good.swf.gz", "cutoff"], ("cutoff/jobs.parquet: not a Parquet file",)),
    "folder holds no replay": (["check", "good.swf.gz", "folder"], ("folder: no jobs.parquet",)),
}


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (folder / "folder.jsonl").mkdir(exist_ok=True)
    (folder / "trace.jsonl").write_text(HEADER + JOB)
    monkeypatch.chdir(folder)
    return folder


def is_one_line(err: str, fragments: tuple[str, ...]) -> None:
    assert err.startswith("error: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    for fragment in fragments:
        assert fragment in err, f"{fragment!r} is not in {err!r}"


@pytest.mark.parametrize("case", CASES)
def test_one_line_and_status_2(transom: Callable[..., Ran], inside: Path, case: str) -> None:
    arguments, fragments = CASES[case]
    before = {path.name: path.stat().st_mtime_ns for path in inside.rglob("*")}
    ran = transom(*arguments)
    assert ran.status == 2
    assert ran.out == ""
    is_one_line(ran.err, fragments)
    assert {path.name: path.stat().st_mtime_ns for path in inside.rglob("*") if path.is_file()} == {
        path.name: before[path.name] for path in inside.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("case", ["trace is cut off", "line is not JSON", "option is not known", "parquet is corrupt"])
def test_the_same_in_a_process_of_its_own(inside: Path, case: str) -> None:
    arguments, fragments = CASES[case]
    program = "from transom.cli import main; main()"
    ran = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    is_one_line(ran.stderr, fragments)


def test_an_error_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["solve", "no\x1b[2Jfile\u2028é.json"]) == 2
    assert "no\\x1b[2Jfile é.json" in capsys.readouterr().err
