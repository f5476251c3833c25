"""What ``transom simulate --out`` costs for a long trace, figures included: CPU time and peak memory of the command.

    python -m benchmarks.whole_command                    # a million jobs
    python -m benchmarks.whole_command --jobs 10000000    # ten million: some minutes, and 2 GB of disk
    python -m benchmarks.whole_command --format svg       # the size of figures that are drawn as vectors

The jobs are those of :func:`benchmarks.deep_queues.lublin` on 4,096 nodes. CPU time is that of all threads.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.deep_queues import lublin
from transom.traces import write_swf


def measured(command: list[str]) -> tuple[float, float]:
    """CPU time [s] and peak memory [GiB] of a command.

    Raises
    ------
    RuntimeError : it fails.
    """
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(command[0], command, os.environ, file_actions=silent)
    _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"{' '.join(command)}: status {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


def whole_command(jobs: int, folder: Path, formats: list[str]) -> tuple[float, float, dict[str, int]]:
    """CPU time [s] and peak memory [GiB] for a trace of so many jobs, and the size of each figure [bytes]."""
    trace, out = folder / "trace.swf", folder / "out"
    write_swf(lublin(100), folder / "small.swf")
    simulate = [sys.executable, "-m", "transom", "-q", "simulate", "--policy", "fcfs-easy", "--json"]
    kinds = [word for each in formats for word in ("--format", each)]
    measured([*simulate, str(folder / "small.swf"), "--out", str(folder / "small")])  # compiles
    pid = os.fork()  # a process of its own makes the trace: what it took of memory does not count
    if pid == 0:
        write_swf(lublin(jobs), trace)
        os._exit(0)
    os.waitpid(pid, 0)
    spent, peak = measured([*simulate, str(trace), "--out", str(out), *kinds])
    return spent, peak, {path.name: path.stat().st_size for path in sorted((out / "figures").iterdir())}


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--format", action="append", default=[], choices=("png", "pdf", "svg"), dest="formats")
    parser.add_argument("--folder", type=Path, help="where to make a folder for trace and records")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        spent, peak, sizes = whole_command(arguments.jobs, Path(name), arguments.formats)
    print(f"{arguments.jobs:,} jobs: {spent:.1f} s of CPU time, peak {peak:.2f} GiB")
    for figure, size in sizes.items():
        print(f"{figure:<32}{size / 1e3:>10,.0f} kB")


if __name__ == "__main__":
    main()
