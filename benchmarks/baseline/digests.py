"""Digests of recordings: job, start, end and nodes of every row, by trace and policy."""

from __future__ import annotations

import gzip
import hashlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from benchmarks.baseline.checkout import FLOWS, FOLDER, LUBLIN, ROOT, TRACES, Checkout

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
