"""How fast a trace is read, in lines per second of CPU time, beside other readers.

    python -m benchmarks.read_trace                      # 1,000,000 generated jobs, plain and gzip; polars and numpy
    python -m benchmarks.read_trace --before dad4de1     # beside the reader of another commit, too
    python -m benchmarks.read_trace --large              # 10,000,000 lines: read and replayed, with the peak of memory

Transom builds a workload: repaired, sorted, checked. polars and numpy only make a table of the numbers. Each reader
runs in a process of its own, first on a small file, so that what is compiled is compiled; then some rounds, the median.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

from transom.generate import generate_lublin
from transom.models import JobTable
from transom.traces import Workload, write_swf

READERS = {
    "transom": "from transom.traces import read_swf\nread = lambda path: len(read_swf(path))",
    "polars": (
        "import polars as pl\n"
        "read = lambda path: len(pl.read_csv(path, separator=' ', has_header=False, comment_prefix=';'))"
    ),
    "numpy": "import numpy as np\nread = lambda path: len(np.loadtxt(path, dtype=np.int64, comments=';'))",
}
TIMED = """
import sys, time
small, path, rounds = sys.argv[1:]
read(small)
for _ in range(int(rounds)):
    begun = time.process_time()
    lines = read(path)
    print(lines / (time.process_time() - begun))
"""
LARGE = """
import resource, sys, time
from transom.simulation import simulate
from transom.traces import read_swf

def told(what, begun):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{what:<22}{time.process_time() - begun:7.1f} s of CPU time, peak {peak:.2f} GiB so far")

simulate(read_swf(sys.argv[1]), "fcfs-easy")  # compiles
begun = time.process_time()
workload = read_swf(sys.argv[2])
told(f"read {len(workload):,}", begun)
begun = time.process_time()
simulate(workload, "fcfs-easy")
told("replay under fcfs-easy", begun)
"""


def lines_per_second(code: str, small: Path, path: Path, rounds: int, package: Path | None = None) -> float:
    """Median over some rounds of a reader in a process of its own, with another package on its path if stated."""
    command = [sys.executable, "-c", code + TIMED, str(small), str(path), str(rounds)]
    environment = os.environ if package is None else {**os.environ, "PYTHONPATH": str(package)}
    where = None if package is None else package
    done = subprocess.run(command, env=environment, cwd=where, check=True, capture_output=True, text=True)
    return statistics.median(map(float, done.stdout.split()))


def checkout(commit: str, folder: Path) -> Path:
    """The package as it was at a commit."""
    packed = subprocess.run(["git", "archive", commit, "transom"], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def compare(jobs: int, rounds: int, before: str | None) -> None:
    """Print a row for each reader."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workload = generate_lublin(jobs, 4096, np.random.default_rng(1), load=0.8)
        small = folder / "small.swf"
        write_swf(workload.take(np.arange(100)), small)
        files = [folder / "jobs.swf", folder / "jobs.swf.gz"]
        for path in files:
            write_swf(workload, path)
        size = files[0].stat().st_size / jobs
        print(f"{jobs:,} lines of {size:.0f} bytes, lines per second of CPU time, median of {rounds} rounds")
        print(f"{'reader':<28}{'.swf':>12}{'.swf.gz':>12}")
        readers = [(label, code, None) for label, code in READERS.items()]
        if before:
            readers.append((f"transom at {before}", READERS["transom"], checkout(before, folder / "before")))
        for label, code, package in readers:
            rates = [lines_per_second(code, small, path, rounds, package) for path in files]
            print(f"{label:<28}" + "".join(f"{rate:>12,.0f}" for rate in rates), flush=True)


def large(jobs: int) -> None:
    """Read and replay a long trace: copies of a generated one, one after another."""
    copies = max(1, jobs // 1_000_000)
    one = generate_lublin(jobs // copies, 4096, np.random.default_rng(1), load=0.8)
    span = int(one.jobs.submit[-1])
    with tempfile.TemporaryDirectory() as name:
        small, path = Path(name) / "small.swf", Path(name) / "large.swf"
        write_swf(one.take(np.arange(100)), small)
        with path.open("wb") as file:
            for copy in range(copies):
                data = one.jobs.data.copy()
                data[:, 0] += copy * len(one)
                data[:, 1] += copy * span
                part = Path(name) / "part.swf"
                write_swf(Workload(one.name, one.cluster, JobTable(data), one.runtime), part)
                file.write(part.read_bytes())
        subprocess.run([sys.executable, "-c", LARGE, str(small), str(path)], check=True)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=None, help="1,000,000 by default, with --large 10,000,000")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--before", metavar="COMMIT")
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    if arguments.large:
        large(arguments.jobs or 10_000_000)
    else:
        compare(arguments.jobs or 1_000_000, arguments.rounds, arguments.before)


if __name__ == "__main__":
    main()
