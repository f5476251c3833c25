"""What it costs to judge a million start times: CPU seconds of ``transom conform``.

``python -m benchmarks.conform [--jobs 1000000]`` makes a trace of the Lublin-Feitelson model, replays it under FCFS
with EASY backfilling, as the textbook does and as CQSim does, and judges both.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path


def seconds(*words: str) -> tuple[float, int, str]:
    """CPU seconds of a command, its exit status and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-m", "transom", *words], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.returncode, done.stdout


def main() -> None:
    """Print a line for each schedule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    jobs = parser.parse_args().jobs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace = str(folder / "trace.swf")
        seconds("generate", "workload", "--jobs", str(jobs), "--out", trace)
        for rules in ("textbook", "cqsim"):
            made = ("--policy", "one=fcfs-easy", "--rules", rules, "--out", str(folder / rules), "--no-figures")
            seconds("simulate", trace, *made)
            import polars as pl

            starts = str(folder / f"{rules}.csv")
            pl.read_parquet(folder / rules / "one" / "jobs.parquet").select("job_id", "start").write_csv(starts)
            spent, status, out = seconds("conform", starts, "--trace", trace)
            print(f"{rules}: {spent:.1f} CPU s, status {status}: {out.splitlines()[0] if out else 'nothing printed'}")


if __name__ == "__main__":
    main()
