"""What must stay as it is while the code gets lighter: stored once, compared after each step.

    python -m benchmarks.baseline store [PART...]       # writes benchmarks/results/baseline/stored.json
    python -m benchmarks.baseline compare [PART...]     # status 1 where something differs or is lost
    python -m benchmarks.baseline compare digests --checkout OTHER      # the work of another checkout; for git bisect
    python -m benchmarks.baseline compare speeds --against OTHER        # both in turn, in one run; ratios

Parts: `digests` of recordings (job, start, end and nodes of every row), by trace and policy; `conservative`, the same
of conservative backfilling; `suites`, proofs, gaps and answers of the suites of the bench; `commands`, CPU seconds of
twelve commands, and of three of them without compiled kernels; `speeds`, CPU seconds of replays and solvers.

Seconds carry over to no other moment: `commands` and `speeds` judge only with `--against`, a checkout of the stored
commit (`git worktree add OTHER COMMIT`). Digests with `--against` are compared with that checkout, and the first job
that differs is printed. Traces that are not part of the project are read from `../shared/traces` beside this checkout;
where one is missing, a line says what is skipped.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import polars as pl

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks" / "results" / "baseline"
STORED = FOLDER / "stored.json"
TRACES = ROOT.parent / "shared" / "traces"
FLOWS = ROOT.parent / "shared" / "workflows"
LUBLIN = ROOT / "instances" / "workloads" / "lublin_5000.swf.gz"
PARTS = ("digests", "conservative", "suites", "commands", "speeds")

CONSERVATIVE = "fcfs-conservative sjf-conservative wfp3-conservative"
EASY = "fcfs-easy wfp3-easy f1-easy saf-easy"
POLICIES = f"""fcfs saf unicep {EASY} {CONSERVATIVE} slurm-backfill optimization random largest-first nwp:period=600
    window:solver=dp,size=20,seconds=none window:solver=dp,objective=wait,easy=no,seconds=none
    dras-pg:anywhere=yes dras-dql:anywhere=yes decima-pg:anywhere=yes mars
    kernel:backfill=easy,model=FOLDER/kernel.safetensors mars:model=FOLDER/mars.safetensors"""
SEVERAL = f"""fcfs {EASY} {CONSERVATIVE} slurm-backfill optimization nwp:period=600 dot-product:size=10
    window:solver=auto,size=10,seconds=none weighted:size=10,seconds=none constrained:size=10,seconds=none
    selection:solver=pareto-dp,size=10,seconds=none selection:solver=pareto-dp,backfill=yes,size=10,seconds=none
    bbsched:size=10,seconds=none,iterations=20 multisched:size=10,seconds=none,iterations=20"""
WAITING = f"fcfs {EASY} {CONSERVATIVE} slurm-backfill nwp:period=600 dras-pg:anywhere=yes mars"
FLOWING = f"{EASY} {CONSERVATIVE} mars"
TASKS = "first-fit best-fit tetris tetris:as-coded=yes drf longest-first shortest-first random"
LEARNED = f"{TASKS} learned-priority:rollouts=2 deepjs"
MACHINES = "--machines count=5,cpu=64,memory=1 --chunks 10"


class Case(NamedTuple):
    """A trace, and how it is replayed under which policies."""

    trace: Path
    options: str
    policies: str
    change: Callable[[str], str] | None = None  # of the text of the trace


def _waiting_for_others(text: str) -> str:
    """Every fifth job waits for the end of the job three lines before it (field 17)."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if not line.startswith(";"))
    for i in range(first + 3, len(lines)):
        if (i - first) % 5 == 0:
            fields = lines[i].split()
            fields[16] = lines[i - 3].split()[0]
            lines[i] = " ".join(fields)
    return "\n".join(lines) + "\n"


OUTAGES = """kind,begin,end,nodes,announced
maintenance,300000,350000,100,200000
maintenance,500000,520000,0-255,
failure,600000,640000,3-7;12-12,
drain,700000,800000,128-191,
"""

# Stretches of long traces begin after a third of the jobs.
CASES = {
    "lublin_5000": Case(LUBLIN, "--jobs 2000", POLICIES),
    "theta_2022": Case(TRACES / "theta_2022.swf.gz", "--start 8000 --jobs 1500", POLICIES),
    "SDSC-SP2": Case(TRACES / "SDSC-SP2-1998-4.2-cln.swf.gz", "--start 18000 --jobs 1500", POLICIES),
    "HPC2N": Case(TRACES / "HPC2N-2002-2.2-cln.swf.gz", "--start 65000 --jobs 1500", POLICIES),
    "KTH-SP2": Case(TRACES / "KTH-SP2-1996-2.1-cln.swf.gz", "--start 9500 --jobs 1500", POLICIES),
    "SDSC-BLUE": Case(TRACES / "SDSC-BLUE-2000-4.2-cln.swf.gz", "--start 75000 --jobs 1500", POLICIES),
    "resources": Case(
        LUBLIN, "--jobs 600 --resources bb=[normal:mean=40,deviation=20,load=0.8],gpu=[normal:share=0.5]", SEVERAL
    ),
    "outages": Case(LUBLIN, "--jobs 900 --outages TEMPORARY/outages.csv --outages mtbf=90d,mttr=4h", WAITING),
    "lost": Case(LUBLIN, "--jobs 600 --outages mtbf=2y,mttr=4h --on-failure lose", f"{EASY} {CONSERVATIVE}"),
    "dependencies": Case(LUBLIN, "--jobs 1000", WAITING, _waiting_for_others),
    **{
        f"placement by {solver}": Case(
            LUBLIN,
            f"--jobs 600 --cluster fat-tree:leaf=16,pod=128 --allocate {solver} --allocate-seconds 60",
            "fcfs-easy sjf-easy fcfs-conservative slurm-backfill",
        )
        for solver in ("sequential", "best-fit", "scas-dp", "dcas-exact")
    },
    "cqsim": Case(LUBLIN, "--jobs 1000 --rules cqsim", "fcfs-easy wfp3-easy"),
    "rlscheduler": Case(
        LUBLIN,
        "--start 1000 --jobs 1000 --rules rlscheduler",
        "fcfs sjf wfp3 f1 sjf-easy kernel:model=FOLDER/kernel.safetensors",
    ),
    "tasks": Case(TRACES / "cloudsimpy_alibaba_jobs.csv.gz", f"{MACHINES} --start 2000 --jobs 400", LEARNED),
    "tasks of cloudsimpy": Case(
        TRACES / "cloudsimpy_alibaba_jobs.csv.gz", f"{MACHINES} --jobs 400 --rules cloudsimpy", LEARNED
    ),
    "tasks of alibaba": Case(TRACES / "alibaba_v2017_batch_task.csv.gz", f"{MACHINES} --jobs 200", TASKS),
    "workflow": Case(ROOT / "examples" / "wfformat.json", "--nodes 3", FLOWING),
    "workflows": Case(FLOWS, "--nodes 16 --gap 100", f"fcfs {FLOWING}"),
    "workflows combined": Case(FLOWS, "--nodes 16 --gap 100 --combine", "fcfs-easy fcfs-conservative mars"),
}


class Checkout(NamedTuple):
    """A checkout of the project, whose code runs in processes of their own."""

    root: Path

    def run(
        self, *words: str, status: int | None = 0, **environment: str
    ) -> tuple[float, subprocess.CompletedProcess[str]]:
        """Run Python with these arguments; CPU seconds of it and of its children."""
        before = os.times()
        done = subprocess.run(
            [sys.executable, "-P", *words],
            env={**os.environ, "PYTHONPATH": str(self.root), **environment},
            cwd=self.root,
            capture_output=True,
            text=True,
        )
        after = os.times()
        if status is not None and done.returncode != status:
            sys.exit(f"{self.root}: python {' '.join(words)}: status {done.returncode}\n{done.stderr.strip()[-2000:]}")
        return after.children_user + after.children_system - before.children_user - before.children_system, done

    def commit(self) -> str:
        """The commit that is checked out."""
        asked = ["git", "-C", str(self.root), "rev-parse", "HEAD"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


# Digests


def recordings(checkout: Checkout, conservative: bool) -> Iterator[tuple[str, str, str | pl.DataFrame]]:
    """Case, policy and recording of each replay, or why there is none."""
    for name, case in CASES.items():
        policies = [each for each in case.policies.split() if (each in CONSERVATIVE.split()) == conservative]
        if not case.trace.exists():
            print(f"skipped: {name}, for want of {case.trace}")
        elif policies:
            with tempfile.TemporaryDirectory() as temporary:
                for policy, found in zip(policies, _replayed(checkout, case, policies, temporary), strict=True):
                    yield name, policy.replace("FOLDER/", ""), found


def _replayed(checkout: Checkout, case: Case, policies: list[str], temporary: str) -> list[str | pl.DataFrame]:
    """What `transom simulate` records: by one process, or by one each where that fails."""
    Path(temporary, "outages.csv").write_text(OUTAGES)
    traces = sorted(case.trace.iterdir()) if case.trace.is_dir() else [case.trace]
    if case.change:
        changed = Path(temporary, "changed.swf")
        changed.write_text(case.change(gzip.decompress(case.trace.read_bytes()).decode()))
        traces = [changed]
    words = ["-m", "transom", "simulate", *map(str, traces), *case.options.replace("TEMPORARY", temporary).split()]
    words += ["--no-figures", "--no-reference", "--quiet", "--force", "--out", f"{temporary}/out"]
    for i, policy in enumerate(policies):
        words += ["--policy", f"p{i:02}={policy.replace('FOLDER', str(FOLDER))}"]
    _, done = checkout.run(*words, status=None)
    if done.returncode and len(policies) > 1:
        return [_replayed(checkout, case, [each], temporary)[0] for each in policies]
    if done.returncode:
        return [done.stderr.strip().splitlines()[-1]]
    found: list[str | pl.DataFrame] = []
    for i in range(len(policies)):
        (folder,) = Path(temporary, "out").glob(f"p{i:02}*")
        found.append(_rows(folder))
    return found


def _rows(folder: Path) -> pl.DataFrame:
    """Job, start, end and nodes; of tasks, the instances on each machine."""
    path = folder / "instances.parquet"
    columns = ["chunk", "job_id", "task_id", "start", "end", "machine", "instances"]
    if not path.exists():
        path, columns = folder / "jobs.parquet", ["job_id", "start", "end", "nodes", "node_ids"]
    rows = pl.read_parquet(path)
    rows = rows.select(pl.col(column) for column in columns if column in rows.columns)
    return rows.sort(pl.col(column) for column in rows.columns if rows.schema[column].is_integer())


def digest(rows: pl.DataFrame) -> str:
    """A digest of the values, whatever their types."""
    return hashlib.sha256("\n".join(map(str, rows.iter_rows())).encode()).hexdigest()[:16]


def store_digests(checkout: Checkout, conservative: bool) -> dict[str, Any]:
    """Digest of each recording by case and policy."""
    found: dict[str, dict[str, str]] = {}
    for name, policy, rows in recordings(checkout, conservative):
        if isinstance(rows, str):
            sys.exit(f"{name}, {policy}: {rows}")
        found.setdefault(name, {})[policy] = digest(rows)
    return found


def compare_digests(stored: dict[str, Any], checkout: Checkout, against: Checkout | None, conservative: bool) -> int:
    """Print what differs from what is stored, or from another checkout."""
    other = {(name, policy): rows for name, policy, rows in recordings(against, conservative)} if against else {}
    equal = differing = 0
    for name, policy, rows in recordings(checkout, conservative):
        expected = other.get((name, policy))
        if isinstance(rows, str):
            text = rows
        elif isinstance(expected, pl.DataFrame):
            text = _difference(expected, rows)
        else:
            text = "" if digest(rows) == stored.get(name, {}).get(policy) else "differs"
        equal, differing = equal + (not text), differing + bool(text)
        if text:
            print(f"{name}, {policy}: {text}")
    print(f"{equal} recordings are equal, {differing} differ")
    return differing


def _difference(expected: pl.DataFrame, rows: pl.DataFrame) -> str:
    """The first row in which two recordings differ."""
    if expected.rows() == rows.rows():
        return ""
    if len(expected) != len(rows):
        return f"{len(expected)} rows became {len(rows)}"
    apart = [(old, new) for old, new in zip(expected.iter_rows(), rows.iter_rows(), strict=True) if old != new]
    old, new = min(apart, key=lambda pair: pair[0][rows.columns.index("start")])
    return f"{len(apart)} of {len(rows)} rows differ, the earliest {expected.columns}: {old} became {new}"[:600]


# Suites

# Of each suite so many instances a set and the solvers that carry the proofs, so that all take four minutes of CPU
# time; those of other libraries stand in `first` and `smoke`, which run as they are, a tenth of a second a run.
SUITES = {
    "first": (0, ""),
    "smoke": (0, ""),
    "knapsack": (8, "auto dp primal-dual greedy"),
    "selection": (2, "auto exhaustive pareto-dp epsilon lexicographic weighted constrained dot-product fcfs"),
    "csp": (2, "auto csp-dp csp-lagrangian csp-flow"),
    "tjap": (1, "auto scas-dp scas-lagrangian scas-flow dcas-exact free-exact dp-polish best-fit sequential"),
    "placement": (2, "auto placement-exact local-search greedy tetris drf"),
    "workflow": (1, "auto local-search heft longest-path lpt shortest-first"),
    "sequences": (0, ""),
}
POINTS_OF_PROOFS, POINTS_OF_GAP = 2.0, 0.02
"""How much a solver may lose on a suite within a budget [points]."""


def benched(checkout: Checkout, suite: str) -> list[dict[str, Any]]:
    """The rows of a suite, with budgets of CPU time."""
    with tempfile.TemporaryDirectory() as temporary:
        words = ["-m", "transom", "bench", "run", suite, "--workers", "1", "--clock", "cpu"]
        take, solvers = SUITES[suite]
        if take:
            words += ["--take", str(take), *(word for solver in solvers.split() for word in ("--solver", solver))]
            words += ["--seconds", "0.1", "--seconds", "1"]
        elif suite == "sequences":
            words += ["--seed", "0"]
        checkout.run(*words, "--quiet", "--out", f"{temporary}/out")
        rows = pl.read_parquet(f"{temporary}/out/rows/*.parquet")
    return rows.sort("set", "label", "budget_seconds", "spec").to_dicts()


def store_suites(checkout: Checkout, rounds: int = 2) -> dict[str, Any]:
    """Of each suite the best values, and by problem, solver and budget the least and the largest number of proofs and
    mean gap of so many runs, how many proofs came late (after half of the budget), and a digest of answers that
    no limit cut."""
    return {suite: _suite([benched(checkout, suite) for _ in range(rounds)]) for suite in SUITES}


def _suite(runs: list[list[dict[str, Any]]], known: dict[str, float] | None = None) -> dict[str, Any]:
    """What is stored of the runs of a suite; gaps are to the best value of these runs and to what is known."""
    best, proved = dict(known or {}), set()
    for row in (row for run in runs for row in run if row["what"] == "solve" and row["value"] is not None):
        label, value, pick = row["label"], row["value"], max if row["sense"] == "max" else min
        best[label] = pick(best.get(label, value), value)
        if row["status"] == "optimal":
            proved.add(label)
    cells: dict[str, dict[str, Any]] = {}
    for run in runs:
        grouped: dict[str, list[dict[str, Any]]] = {}
        for row in run:
            budget = f", {row['budget_seconds']:g} s" if row["budget_seconds"] is not None else ""
            grouped.setdefault(f"{row['problem'] or 'replay'}, {row['spec']}{budget}", []).append(row)
        for name, rows in grouped.items():
            cell = cells.setdefault(name, {"runs": len(rows), "proofs": [], "late": 0, "gap": [], "answers": []})
            proofs = [row for row in rows if row["status"] in ("optimal", "infeasible")]
            cell["proofs"].append(len(proofs))
            cell["late"] = max(cell["late"], sum(2 * row["seconds"] > row["budget_seconds"] for row in proofs))
            cell["gap"].append(round(sum(_gap(row, best) for row in rows) / len(rows), 5))
            values = [f"{row['value']:.9g}" if row["value"] is not None else row["metrics"] for row in rows]
            ended = all(row["reason"] not in ("time", None) or row["what"] != "solve" for row in rows)
            cell["answers"].append(hashlib.sha256("\n".join(values).encode()).hexdigest()[:16] if ended else None)
    for cell in cells.values():
        cell["answers"] = cell["answers"][0] if len(set(cell["answers"])) == 1 else None
        for score in ("proofs", "gap"):
            cell[score] = [min(cell[score]), max(cell[score])]
    return {
        "best": {label: float(f"{best[label]:.12g}") for label in sorted(best)},
        "proved": sorted(proved),
        "solvers": cells,
    }


def _gap(row: dict[str, Any], best: dict[str, float]) -> float:
    """Distance to the best value that is known [points]."""
    if row["what"] != "solve" or row["status"] == "infeasible":
        return 0.0
    if row["value"] is None:
        return 100.0
    value, known = float(row["value"]), best[row["label"]]
    return 100 * abs(value - known) / max(abs(value), abs(known), 1e-300)


def compare_suites(stored: dict[str, Any], checkout: Checkout, against: Checkout | None) -> int:
    """Print what a suite loses in two runs, one after the other: a busy machine may cost one of them a proof."""
    failed = 0
    for suite in SUITES:
        old = _suite([benched(against, suite)]) if against else stored[suite]
        lost = _lost(old, benched(checkout, suite))
        if lost:
            again = _lost(old, benched(checkout, suite))
            lost = {name: text for name, text in lost.items() if name in again}
        print(
            f"{suite}:", *([f"{name}: {text}" for name, text in lost.items()] or ["as it was"]), sep="\n  ", flush=True
        )
        failed += len(lost)
    return failed


def _lost(old: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, str]:
    """Lost proofs, larger gaps, other answers and other proved values, by what they are of."""
    new, lost = _suite([rows], old["best"]), {}
    for row in rows:
        if row["outcome"] not in ("ok", "refused"):
            lost[f"{row['label']}, {row['spec']}"] = f"{row['outcome']}: {row['cause']}"
        if row["status"] == "optimal" and row["label"] in old["proved"]:
            value = old["best"][row["label"]]
            if not math.isclose(row["value"], value, rel_tol=1e-9):
                lost[f"{row['label']}, {row['spec']}"] = f"proves {row['value']}, {value} was proved"
    for name, then in old["solvers"].items():
        if (now := new["solvers"].get(name)) is None:
            lost[name] = "did not run"
            continue
        least = then["proofs"][0] - then["late"] - POINTS_OF_PROOFS / 100 * then["runs"]
        if now["proofs"][0] < least:
            lost[name] = (
                f"{now['proofs'][0]} proofs of {now['runs']}, {then['proofs'][0]} then, {then['late']} of them late"
            )
        elif now["gap"][0] > then["gap"][1] + POINTS_OF_GAP:
            lost[name] = f"gap {now['gap'][0]:.3f} points, at most {then['gap'][1]:.3f} then"
        elif then["answers"] and now["answers"] and then["answers"] != now["answers"]:
            lost[name] = "other answers"
    return lost


# Commands and speeds

COMMANDS = {
    "simulate, fcfs-easy": "simulate {lublin} --policy fcfs-easy",
    "the quickstart's first": "simulate {lublin} --policy fcfs-easy --policy fcfs-conservative --policy saf-easy "
    "--out {temporary}/first --force",
    "solve scas by auto": "solve {tjap} --problem scas",
    "solve scas by scas-dp": "solve {tjap} --problem scas --solver scas-dp",
    "solve free by auto": "solve {tjap} --problem free",
    "solve knapsack by auto": "solve {windows}",
    "solve knapsack by dp": "solve {windows} --solver dp --out {temporary}/result.jsonl",
    "check a knapsack": "check {windows} {temporary}/result.jsonl",
    "solve selection by auto": "solve {selection}",
    "solve csp by csp-dp": "solve {csp} --solver csp-dp",
    "solvers": "solvers",
    "--help": "--help",
}
COLD = ("simulate, fcfs-easy", "the quickstart's first", "solve scas by auto")
INSTANCES = {
    "tjap": "tjap/small.jsonl",
    "windows": "windows/lublin.jsonl",
    "selection": "selection/replay.jsonl.gz",
    "csp": "csp/random.jsonl.gz",
}
ROUNDS = 3


def seconds_of_commands(checkouts: list[Checkout]) -> list[dict[str, float]]:
    """CPU seconds of each command in each checkout, in turn: the least of some runs, after one that does not count."""
    found: list[dict[str, float]] = [{} for _ in checkouts]
    with tempfile.TemporaryDirectory() as temporary:
        places = {"lublin": str(LUBLIN), "temporary": temporary}
        for name, path in INSTANCES.items():  # the first instance alone
            places[name] = f"{temporary}/{name}.jsonl"
            data = (ROOT / "instances" / path).read_bytes()
            text = (gzip.decompress(data) if path.endswith(".gz") else data).decode()
            Path(places[name]).write_text(text.partition("\n")[0] + "\n")
        for name, command in COMMANDS.items():
            words = ["-m", "transom", *command.format(**places).split()]
            for each in range(ROUNDS + 1):
                for checkout, seconds in zip(checkouts, found, strict=True):
                    taken, _ = checkout.run(*words)
                    if each:
                        seconds[name] = round(min(taken, seconds.get(name, math.inf)), 3)
            if name in COLD:
                for checkout, seconds in zip(checkouts, found, strict=True):
                    with tempfile.TemporaryDirectory() as empty:
                        seconds[f"{name}, no kernels"] = round(checkout.run(*words, XDG_CACHE_HOME=empty)[0], 2)
    return found


def work() -> Iterator[tuple[str, Callable[[], object]]]:
    """What is timed within a process."""
    from transom import (
        Stop,
        read_allocations,
        read_knapsacks,
        read_placements,
        read_selections,
        read_swf,
        simulate,
        solve,
    )

    trace, folder = read_swf(LUBLIN), ROOT / "instances"
    window = "window:solver=dp,seconds=none"
    for policy in ("fcfs-easy", "wfp3-easy", "fcfs-conservative", window, "dras-pg:anywhere=yes"):
        yield policy, partial(simulate, trace, policy)
    knapsacks = [
        *islice(read_knapsacks(folder / "classes" / "pisinger_50.jsonl"), 12),
        *islice(read_knapsacks(folder / "windows" / "lublin_wait.jsonl"), 12),
    ]
    selections = list(islice(read_selections(folder / "selection" / "replay.jsonl.gz"), 12))
    placements = list(islice(read_placements(folder / "placement" / "alibaba.jsonl.gz"), 12))
    stream = list(islice(read_allocations(folder / "tjap" / "paper_stream.jsonl.gz"), 40))
    given: dict[str, list[Any]] = {
        **dict.fromkeys(("dp", "primal-dual"), knapsacks),
        "pareto-dp": selections,
        "deepjs": placements,
        "scas-dp": [each.with_rule("static") for each in stream],
        "dcas-exact": [each.with_rule("dynamic") for each in stream],
        "free-exact": [each.with_rule("free") for each in stream],
    }
    for solver, problems in given.items():
        yield solver, partial(_each, partial(solve, solver=solver, stop=Stop(seconds=30)), problems)


def _each(function: Callable[[Any], object], problems: list[Any]) -> None:
    for problem in problems:
        function(problem)


def timed() -> None:
    """Print CPU seconds of each work: the least of three times 0.2 s of work, after a call that does not count."""

    def seconds(action: Callable[[], object], times: int) -> float:
        before = process_time()
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            for _ in range(times):
                action()
        return (process_time() - before) / times

    found = {}
    for name, action in work():
        seconds(action, 1)
        times = max(1, math.ceil(0.2 / max(seconds(action, 1), 1e-3)))
        found[name] = round(min(seconds(action, times) for _ in range(3)), 6)
    print(json.dumps(found))


def speeds(checkouts: list[Checkout]) -> list[dict[str, float]]:
    """CPU seconds of each work in each checkout, in turn."""
    found: list[dict[str, float]] = [{} for _ in checkouts]
    for _ in range(ROUNDS):
        for checkout, seconds in zip(checkouts, found, strict=True):
            _, done = checkout.run(str(Path(__file__).resolve()), "work")
            for name, taken in json.loads(done.stdout).items():
                seconds[name] = min(taken, seconds.get(name, math.inf))
    return found


def compare_seconds(
    stored: dict[str, float],
    checkout: Checkout,
    against: Checkout | None,
    measure: Callable[[list[Checkout]], list[dict[str, float]]],
) -> int:
    """Print ratios, and their geometric mean; they count where both sides ran in turn."""
    then, now = measure([against, checkout]) if against else (stored, *measure([checkout]))
    ratios = {name: now[name] / then[name] for name in now if then.get(name)}
    for name, ratio in ratios.items():
        mark = "  slower by more than 25 %" if against and ratio > 1.25 else ""
        print(f"{name:36}{then[name]:>10.3f} s{now[name]:>10.3f} s{ratio:>8.2f}{mark}")
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    print(f"geometric mean {mean:.3f}" + ("" if against else "; for information: not of one moment (--against)"))
    return int(mean > 1.1) + sum(ratio > 1.25 for ratio in ratios.values()) if against else 0


WORK: dict[str, tuple[Callable[[Checkout], Any], Callable[[Any, Checkout, Checkout | None], int]]] = {
    "digests": (partial(store_digests, conservative=False), partial(compare_digests, conservative=False)),
    "conservative": (partial(store_digests, conservative=True), partial(compare_digests, conservative=True)),
    "suites": (store_suites, compare_suites),
    "commands": (
        lambda checkout: seconds_of_commands([checkout])[0],
        partial(compare_seconds, measure=seconds_of_commands),
    ),
    "speeds": (lambda checkout: speeds([checkout])[0], partial(compare_seconds, measure=speeds)),
}
"""How each part is stored and compared."""


def main() -> int:
    """Store or compare the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("store", "compare", "work"), metavar="store|compare")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="whose code runs; this one")
    parser.add_argument("--against", type=Path, help="a checkout to compare with, instead of what is stored")
    given = parser.parse_args()
    if wrong := set(given.parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(wrong))}; known: {', '.join(PARTS)}")
    if given.what == "work":
        timed()
        return 0
    checkout = Checkout(given.checkout.resolve())
    against = Checkout(given.against.resolve()) if given.against else None
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    failed = 0
    for part in given.parts or PARTS:
        print(f"{part}:", flush=True)
        store, compare = WORK[part]
        if given.what == "store":
            stored[part] = {"commit": checkout.commit(), "found": store(checkout)}
            written = STORED.with_suffix(".new")
            written.write_text(json.dumps(stored, indent=1) + "\n")
            written.replace(STORED)
        elif part not in stored:
            sys.exit(f"{STORED} holds no {part}")
        else:
            failed += compare(stored[part]["found"], checkout, against)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
