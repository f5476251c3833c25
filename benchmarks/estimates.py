"""What modelled walltimes are worth: requests of real traces against models of them, given the runtimes.

    python -m benchmarks.estimates SDSC-SP2.swf.gz HPC2N.swf.gz theta_2022.swf.gz [--seeds 5]

For each trace the requests are put aside and modelled. A row tells how much of its walltime a job uses (jobs in
tenths, in per cent), half the sum of differences to the real tenths ("off"), the share of the 20 most popular
walltimes, and what FCFS with EASY backfilling makes of it: mean wait and mean bounded slowdown, relative to those under
the real requests, means over the seeds. Models learnt from a trace are learnt from each trace that is named, the
same one included, which shows what is lost by knowing the runtime alone. The modal model is given nothing, and then the
two inputs that its authors ask for: the longest walltime (of 99.9 % of the jobs) and the share of jobs that ask for it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from transom.simulation import simulate
from transom.simulation.output.metrics import summary
from transom.traces import ReadingRules, Workload, read_swf, with_estimates

EDGES = np.linspace(0, 1, 11)


def tenths(workload: Workload) -> NDArray[np.float64]:
    """Shares of jobs by how much of their walltime they use [%], in tenths; those that use all of it in the last."""
    shares: NDArray[np.float64] = (
        100 * np.histogram(workload.runtime / workload.jobs.walltime, EDGES)[0] / len(workload)
    )
    return shares


def popular(workload: Workload) -> float:
    """Share of jobs that ask for one of the 20 most popular walltimes [%]."""
    counts = np.unique(workload.jobs.walltime, return_counts=True)[1]
    return 100 * float(np.sort(counts)[-20:].sum()) / len(workload)


def easy(workload: Workload) -> tuple[float, float]:
    """Mean wait [h] and mean bounded slowdown under FCFS with EASY backfilling."""
    told = summary(simulate(workload, "fcfs-easy"))
    return told["mean_wait"] / 3600, told["mean_bounded_slowdown"]


def models(real: Workload, traces: list[Path]) -> list[str]:
    """The models that a trace is tried with."""
    longest = int(np.quantile(real.jobs.walltime, 0.999, method="lower"))
    share = min(max(float((real.jobs.walltime == longest).mean()), 0.0001), 0.89)
    informed = f"tsafrir:longest={longest},share={share:.4f}"
    return ["exact", "factor:2", "overestimated", "tsafrir", informed, *(f"trace:{path}" for path in traces)]


def compare(path: Path, traces: list[Path], seeds: int) -> None:
    """Print a table for a trace."""
    real = read_swf(path, ReadingRules(walltime="requested"))
    known, (wait, slowdown) = tenths(real), easy(real)
    print(f"{real.name}: {len(real):,} jobs with a request, mean wait {wait:.2f} h, bounded slowdown {slowdown:.1f}")
    heading = f"{'walltimes':<44}{'tenths of the walltime used [% of jobs]':<42}"
    print(f"{heading}{'off':>5}{'top 20':>8}{'wait':>7}{'slowdown':>10}")
    row("as requested", [real], known, wait, slowdown)
    for spec in models(real, traces):
        row(spec, [with_estimates(real, spec, seed, "all") for seed in range(seeds)], known, wait, slowdown)
    print()


def row(spec: str, made: list[Workload], known: NDArray[np.float64], wait: float, slowdown: float) -> None:
    """Print the means over some workloads."""
    shares = np.mean([tenths(each) for each in made], axis=0)
    replayed = [easy(each) for each in made]
    cells = "".join(f"{share:4.0f}" for share in shares)
    off, top = float(np.abs(shares - known).sum()) / 2, mean(popular(each) for each in made)
    relative = mean(each for each, _ in replayed) / wait, mean(each for _, each in replayed) / slowdown
    label = f"trace:{Path(spec[6:]).name}" if spec.startswith("trace:") else spec
    print(f"{label:<44}{cells:<42}{off:5.0f}{top:7.0f}%{relative[0]:7.2f}{relative[1]:10.2f}", flush=True)


def main() -> None:
    """Read the command line and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    for path in arguments.traces:
        compare(path, arguments.traces, arguments.seeds)


if __name__ == "__main__":
    main()
