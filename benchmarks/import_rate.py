"""How fast ``transom import slurm`` reads: CPU time, wall time and memory of an import of generated sacct lines.

    python -m benchmarks.import_rate [--lines 10000000] [--folder DIR]

Lines have 22 columns with times as text and lists of resources, a quarter are tasks of arrays; each line is a job. They
are written to a temporary folder first.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, help="where to write, instead of the system's temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        source, target = Path(folder) / "sacct.txt", Path(folder) / "trace.parquet"
        write(source, options.lines)
        print(f"{options.lines:,} lines, {source.stat().st_size / 2**20:,.0f} MiB")
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
