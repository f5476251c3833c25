"""How fast ``transom import slurm`` reads: CPU time, wall time and memory of an import of generated records.

    python -m benchmarks.import_rate [--lines 10000000] [--folder DIR]
    python -m benchmarks.import_rate --json --lines 1000000 [--compact]

Lines of sacct have 22 columns with times as text and lists of resources, a quarter are tasks of arrays; each line is a
job. With --json they are what sacct --json of 25.05 prints, a step to each job: 6 kB, or 4 kB without blanks. They are
written to a temporary folder first.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

HEADER = (
    "JobID|JobIDRaw|Submit|Eligible|Start|End|Elapsed|Suspended|NNodes|ReqNodes|NCPUS|AllocTRES|ReqTRES|ReqMem|Timelimit|"
    "Partition|QOS|Account|User|State|NodeList|JobName"
)
BATCH = 500_000


def write(path: Path, lines: int) -> None:
    """Write lines as ``sacct --parsable2`` prints them."""
    rng = np.random.default_rng(1)
    with path.open("wb") as file:
        file.write(HEADER.encode() + b"\n")
        for first in range(0, lines, BATCH):
            count = min(BATCH, lines - first)
            _frame(first, count, rng).write_csv(file, separator="|", include_header=False, quote_style="never")


def _frame(first: int, count: int, rng: np.random.Generator) -> pl.DataFrame:
    number = np.arange(first, first + count) + 1
    nodes = rng.integers(1, 129, count)
    submit = 1_700_000_000 + number * 7
    start = submit + rng.integers(0, 90_000, count)
    runtime = rng.integers(1, 80_000, count)
    frame = pl.DataFrame(
        {
            "number": number, "nodes": nodes, "submit": submit, "start": start, "runtime": runtime,
            "user": rng.integers(1, 2000, count), "limit": rng.integers(1, 2880, count) * 60,
            "state": rng.choice(["COMPLETED", "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 1000"], count),
        }
    )  # fmt: skip

    def moment(seconds: pl.Expr) -> pl.Expr:
        return pl.from_epoch(seconds, "s").dt.strftime("%Y-%m-%dT%H:%M:%S")

    def span(seconds: pl.Expr) -> pl.Expr:
        parts = (seconds // 86_400, seconds // 3600 % 24, seconds // 60 % 60, seconds % 60)
        days, *rest = (each.cast(pl.String) for each in parts)
        clock = pl.concat_str([each.str.zfill(2) for each in rest], separator=":")
        return pl.when(seconds >= 86_400).then(pl.concat_str([days, clock], separator="-")).otherwise(clock)

    text, nodes_text = pl.col("number").cast(pl.String), pl.col("nodes").cast(pl.String)
    cores = (pl.col("nodes") * 64).cast(pl.String)
    in_array = pl.col("number") % 4 == 0
    label = pl.when(in_array).then(((pl.col("number") // 100) * 100).cast(pl.String) + "_" + text).otherwise(text)
    memory = (pl.col("nodes") * 200).cast(pl.String) + "G"
    resources = pl.concat_str(
        [pl.lit("billing="), cores, pl.lit(",cpu="), cores, pl.lit(",mem="), memory, pl.lit(",node="), nodes_text]
    )
    return frame.select(
        label,
        text.alias("raw"),
        moment(pl.col("submit")).alias("submit"),
        moment(pl.col("submit")).alias("eligible"),
        moment(pl.col("start")).alias("start"),
        moment(pl.col("start") + pl.col("runtime")).alias("end"),
        span(pl.col("runtime")).alias("elapsed"),
        pl.lit("00:00:00").alias("suspended"),
        nodes_text.alias("nnodes"),
        nodes_text.alias("req_nodes"),
        cores.alias("ncpus"),
        resources.alias("alloc"),
        resources.alias("req"),
        memory.alias("memory"),
        span(pl.col("limit")).alias("limit"),
        (pl.lit("part") + (pl.col("user") % 5).cast(pl.String)).alias("partition"),
        pl.lit("normal").alias("qos"),
        (pl.lit("account") + (pl.col("user") % 100).cast(pl.String)).alias("account"),
        (pl.lit("user") + pl.col("user").cast(pl.String)).alias("user"),
        "state",
        ("n[0001-" + nodes_text.str.zfill(4) + "]").alias("nodes"),
        (pl.lit("job-") + (pl.col("user") * 7 % 300).cast(pl.String)).alias("name"),
    )


def write_json(path: Path, jobs: int, compact: bool) -> None:
    """Write jobs as ``sacct --json`` prints them."""
    rng = np.random.default_rng(1)
    with path.open("w") as file:
        file.write('{"jobs": [\n')
        for number in range(1, jobs + 1):
            job = _job(number, *rng.integers(1, (129, 90_000, 80_000, 2000, 2880)).tolist())
            file.write(json.dumps(job, indent=None if compact else 2) + ("\n" if number == jobs else ",\n"))
        file.write('], "meta": {"slurm": {"version": {"major": "25"}}}, "errors": [], "warnings": []}\n')


def _job(number: int, nodes: int, wait: int, runtime: int, user: int, limit: int) -> dict[str, Any]:
    submit = 1_700_000_000 + number * 7
    amounts = {"cpu": nodes * 64, "mem": nodes * 204_800, "node": nodes, "billing": nodes * 64}
    resources = [{"type": name, "name": "", "id": i, "count": count} for i, (name, count) in enumerate(amounts.items())]
    exit_code = {"status": ["SUCCESS"], "return_code": _set(0), "signal": {"id": _set(None), "name": ""}}
    used = {"seconds": runtime // 2, "microseconds": 7}
    most = [{"type": name, "name": "", "id": 1, "count": 1, "node": "n1", "task": 0} for name in ("cpu", "mem", "fs")]
    step = {
        "time": {"elapsed": runtime, "end": _set(submit + wait + runtime), "start": _set(submit + wait),
                 "suspended": 0, "system": used, "limit": _set(limit), "total": used, "user": used},
        "exit_code": exit_code, "nodes": {"count": nodes, "range": f"n[1-{nodes}]", "list": ["n1", "n2"]},
        "tasks": {"count": 1}, "CPU": {"requested_frequency": {"min": _set(0), "max": _set(0)}, "governor": "0"},
        "state": ["COMPLETED"], "statistics": {"CPU": {"actual_frequency": 0}, "energy": {"consumed": _set(None)}},
        "step": {"id": f"{number}.batch", "name": "batch"}, "task": {"distribution": "Unknown"},
        "tres": {"requested": {"max": most, "min": most, "average": most}, "allocated": resources},
    }  # fmt: skip
    return {
        "account": f"account{user % 100}", "comment": {"administrator": "", "job": "", "system": ""},
        "allocation_nodes": nodes, "constraints": "", "container": "", "derived_exit_code": exit_code,
        "array": {"job_id": 0, "limits": {"max": {"running": {"tasks": 0}}}, "task_id": _set(None), "task": ""},
        "association": {"account": f"account{user % 100}", "cluster": "c", "partition": "", "user": f"user{user}"},
        "cluster": "c", "exit_code": exit_code, "extra": "", "failed_node": "", "flags": ["STARTED_ON_BACKFILL"],
        "group": "users", "het": {"job_id": 0, "job_offset": _set(None)}, "job_id": number, "licenses": "",
        "name": f"job-{user * 7 % 300}", "nodes": f"n[1-{nodes}]", "partition": f"part{user % 5}", "hold": False,
        "priority": _set(user), "qos": "normal", "required": {
            "CPUs": nodes * 64, "memory_per_cpu": _set(None), "memory_per_node": _set(204_800)},
        "kill_request_user": "", "restart_cnt": 0, "reservation": {"id": 0, "name": "", "requested": ""}, "script": "",
        "stdout": f"/home/user{user}/slurm-%j.out", "stderr": "", "stdin": "/dev/null", "steps": [step],
        "state": {"current": ["COMPLETED"], "reason": "None"}, "submit_line": "sbatch --time=1:00:00 run.sh",
        "time": {"elapsed": runtime, "eligible": submit, "end": submit + wait + runtime, "planned": _set(wait),
                 "start": submit + wait, "submission": submit, "suspended": 0, "system": used, "limit": _set(limit),
                 "total": used, "user": used},
        "tres": {"allocated": resources, "requested": resources}, "used_gres": "", "user": f"user{user}",
        "wckey": {"wckey": "", "flags": []}, "working_directory": f"/home/user{user}/project",
    }  # fmt: skip


def _set(number: int | None) -> dict[str, Any]:
    return {"set": number is not None, "infinite": False, "number": number or 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, help="where to write, instead of the system's temporary folder")
    parser.add_argument("--json", action="store_true", help="what sacct --json prints")
    parser.add_argument("--compact", action="store_true", help="JSON without blanks")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        source, target = Path(folder) / "sacct.txt", Path(folder) / "trace.parquet"
        if options.json:
            write_json(source, options.lines, options.compact)
        else:
            write(source, options.lines)
        print(f"{options.lines:,} jobs, {source.stat().st_size / 2**20:,.0f} MiB")
        words = [sys.executable, "-m", "transom", "import", "slurm", str(source), "-o", str(target), "-q", "--json"]
        began = time.perf_counter()
        done = subprocess.run(words, capture_output=True, text=True)
        took = time.perf_counter() - began
        if done.returncode:
            sys.exit(done.stderr)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20
        print(done.stdout.strip())
        print(
            f"import: {took:.1f} s, {cpu:.1f} s of CPU time, {peak:.2f} GiB; "
            f"{target.stat().st_size / 2**20:,.0f} MiB written"
        )


if __name__ == "__main__":
    main()
