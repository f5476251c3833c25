"""What must stay as it is while the code gets lighter: stored once, compared after each step.

    python -m benchmarks.baseline store [PART...]       # writes benchmarks/results/baseline/stored.json
    python -m benchmarks.baseline compare [PART...]     # status 1 where something differs or is lost
    python -m benchmarks.baseline compare digests --checkout OTHER      # the work of another checkout; for git bisect

Parts: `digests` of recordings (job, start, end and nodes of every row), by trace and policy; `conservative`, the same
of conservative backfilling. With `--against`, a checkout of another commit (`git worktree add OTHER COMMIT`), recordings
are compared with those of that checkout, and the first job that differs is printed. Traces that are not part of the project are read from `../shared/traces` beside this checkout;
where one is missing, a line says what is skipped.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks" / "results" / "baseline"
STORED = FOLDER / "stored.json"
TRACES = ROOT.parent / "shared" / "traces"
FLOWS = ROOT.parent / "shared" / "workflows"
LUBLIN = ROOT / "instances" / "workloads" / "lublin_5000.swf.gz"
PARTS = ("digests", "conservative")

CONSERVATIVE = ("fcfs-conservative", "sjf-conservative", "wfp3-conservative")
EASY = ("fcfs-easy", "wfp3-easy", "f1-easy", "saf-easy")
POLICIES = (
    *("fcfs", "saf", "unicep", *EASY, *CONSERVATIVE, "slurm-backfill"),
    *("window:solver=dp,size=20,seconds=none", "window:solver=dp,objective=wait,easy=no,seconds=none"),
    *("optimization", "random", "largest-first", "nwp:period=600", "mars"),
    *(f"{name}:anywhere=yes" for name in ("dras-pg", "dras-dql", "decima-pg")),
    *("kernel:backfill=easy,model={folder}/kernel.safetensors", "mars:model={folder}/mars.safetensors"),
)
EXACT = "size=10,seconds=none"
SEVERAL = (
    *("fcfs", *EASY, *CONSERVATIVE, "slurm-backfill", "optimization", "nwp:period=600", f"window:solver=auto,{EXACT}"),
    *(f"selection:solver=pareto-dp,{EXACT}", f"selection:solver=pareto-dp,backfill=yes,{EXACT}"),
    *(f"{name}:{EXACT},iterations=20" for name in ("bbsched", "multisched")),
    *(f"weighted:{EXACT}", f"constrained:{EXACT}", "dot-product:size=10"),
)
WAITING = ("fcfs", *EASY, *CONSERVATIVE, "slurm-backfill", "nwp:period=600", "dras-pg:anywhere=yes", "mars")
TASKS = (
    *("first-fit", "best-fit", "tetris", "tetris:as-coded=yes", "drf", "longest-first", "shortest-first", "random"),
    *("learned-priority:rollouts=2", "deepjs"),
)
MACHINES = "--machines count=5,cpu=64,memory=1 --chunks 10"


class Case(NamedTuple):
    """A trace, and how it is replayed under which policies."""

    trace: Path
    options: str
    policies: tuple[str, ...]
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
    "outages": Case(LUBLIN, "--jobs 900 --outages {temporary}/outages.csv --outages mtbf=90d,mttr=4h", WAITING),
    "lost": Case(LUBLIN, "--jobs 600 --outages mtbf=2y,mttr=4h --on-failure lose", (*EASY, *CONSERVATIVE)),
    "dependencies": Case(LUBLIN, "--jobs 1000", WAITING, _waiting_for_others),
    **{
        f"placement by {solver}": Case(
            LUBLIN,
            f"--jobs 600 --cluster fat-tree:leaf=16,pod=128 --allocate {solver} --allocate-seconds 60",
            ("fcfs-easy", "sjf-easy", "fcfs-conservative", "slurm-backfill"),
        )
        for solver in ("sequential", "best-fit", "scas-dp", "dcas-exact")
    },
    "cqsim": Case(LUBLIN, "--jobs 1000 --rules cqsim", ("fcfs-easy", "wfp3-easy")),
    "rlscheduler": Case(
        LUBLIN,
        "--start 1000 --jobs 1000 --rules rlscheduler",
        ("fcfs", "sjf", "wfp3", "f1", "sjf-easy", "kernel:model={folder}/kernel.safetensors"),
    ),
    "tasks": Case(TRACES / "cloudsimpy_alibaba_jobs.csv.gz", f"{MACHINES} --start 2000 --jobs 400", TASKS),
    "tasks of cloudsimpy": Case(
        TRACES / "cloudsimpy_alibaba_jobs.csv.gz", f"{MACHINES} --jobs 400 --rules cloudsimpy", TASKS
    ),
    "tasks of alibaba": Case(TRACES / "alibaba_v2017_batch_task.csv.gz", f"{MACHINES} --jobs 200", TASKS[:8]),
    "workflow": Case(ROOT / "examples" / "wfformat.json", "--nodes 3", (*EASY, *CONSERVATIVE, "mars")),
    "workflows": Case(FLOWS, "--nodes 16 --gap 100", ("fcfs", *EASY, *CONSERVATIVE, "mars")),
    "workflows combined": Case(FLOWS, "--nodes 16 --gap 100 --combine", ("fcfs-easy", "fcfs-conservative", "mars")),
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
        policies = [each for each in case.policies if (each in CONSERVATIVE) == conservative]
        if not case.trace.exists():
            print(f"skipped: {name}, for want of {case.trace}")
        elif policies:
            with tempfile.TemporaryDirectory() as temporary:
                for policy, found in zip(policies, _replayed(checkout, case, policies, temporary), strict=True):
                    yield name, policy.replace("{folder}/", ""), found


def _replayed(checkout: Checkout, case: Case, policies: list[str], temporary: str) -> list[str | pl.DataFrame]:
    """What `transom simulate` records: by one process, or by one each where that fails."""
    places = {"folder": str(FOLDER), "temporary": temporary}
    Path(temporary, "outages.csv").write_text(OUTAGES)
    traces = sorted(case.trace.iterdir()) if case.trace.is_dir() else [case.trace]
    if case.change:
        changed = Path(temporary, "changed.swf")
        changed.write_text(case.change(gzip.decompress(case.trace.read_bytes()).decode()))
        traces = [changed]
    words = ["-m", "transom", "simulate", *map(str, traces), *case.options.format(**places).split()]
    words += ["--no-figures", "--no-reference", "--quiet", "--force", "--out", f"{temporary}/out"]
    for i, policy in enumerate(policies):
        words += ["--policy", f"p{i:02}={policy.format(**places)}"]
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


WORK: dict[str, tuple[Callable[[Checkout], Any], Callable[[Any, Checkout, Checkout | None], int]]] = {
    part: (
        partial(store_digests, conservative=part == "conservative"),
        partial(compare_digests, conservative=part == "conservative"),
    )
    for part in ("digests", "conservative")
}
"""How each part is stored and compared."""


def main() -> int:
    """Store or compare the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("store", "compare"))
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="whose code runs; this one")
    parser.add_argument("--against", type=Path, help="a checkout to compare with, instead of what is stored")
    given = parser.parse_args()
    if wrong := set(given.parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(wrong))}; known: {', '.join(PARTS)}")
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
