"""What `transom tune` reaches on traces of the archive: chosen on the first part of each, judged on the rest.

    python -m benchmarks.tune                                  # five traces, three seeds: about half an hour
    python -m benchmarks.tune theta_2022 --seeds 0             # one trace, one seed
    python -m benchmarks.tune KTH-SP2-1996-2.1-cln --range 0.25 0.75
    python -m benchmarks.tune MINE.swf.gz                      # half of it for the test

A line a trace and seed: mean bounded slowdown on the test part of today's policy (fcfs-easy), of the fixed rule that
was best there in hindsight among those whose longest wait is at most twice today's, and of the tuned policy; the last
two over each other, there and as the mean over copies of the test part whose weeks come in another order, since a year
is one draw; the longest wait under the tuned policy over that of today's on the test part, and over what it may
be, twice the larger one of today's on both parts; how many policies were tried, in which CPU time. Last, geometric
means.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

from transom.models import JobTable
from transom.rng import stream
from transom.simulation.output.metrics import WEEK
from transom.traces import Workload, read_swf
from transom.tune import Keep, Terms, choose, judge, read_space, split
from transom.tune.figures import figures
from transom.tune.tuning import TODAY, fixed_rules

TRACES = Path(__file__).parents[2] / "shared" / "traces"
TEST = {
    "theta_2022": 0.333,
    "KTH-SP2-1996-2.1-cln": 0.5,
    "SDSC-SP2-1998-4.2-cln": 0.5,
    "SDSC-BLUE-2000-4.2-cln": 0.5,
    "HPC2N-2002-2.2-cln": 0.5,
}
"""The share of the jobs that is kept for the test."""

_COPIES = 9
_MOVED = 1800  # by how much submissions are moved there [s]
_WAITS = 2.0  # times today's longest wait that a rule in hindsight may have


def terms(evaluations: int, seed: int, space: str) -> Terms:
    """What is tuned for in all measurements."""
    return Terms(TODAY, [Keep("max_wait", 1.5)], read_space(space), None, evaluations, seed)


def _reordered(workload: Workload, rng: np.random.Generator) -> Workload:
    """The same jobs with their weeks in another order and submissions a little moved.

    The last week stays in its place, and all do where jobs wait for others.
    """
    moved = workload.jittered(_MOVED, rng)
    if moved.jobs.depends_on:
        return moved
    data = moved.jobs.data.copy()
    weeks = (data[:, 1] - data[0, 1]) // WEEK
    last = int(weeks[-1])
    data[:, 1] += (np.append(rng.permutation(last), last)[weeks] - weeks) * WEEK
    return replace(moved, jobs=JobTable(data))


def measure(name: str, about: Terms, limits: Sequence[float] = (0, 1)) -> tuple[float, float]:
    """Print a line; the tuned slowdown over that of the best fixed rule, and over today's.

    Parameters
    ----------
    name : of :data:`TEST`, or the path of a trace.
    about : what is tuned for.
    limits : from where to where the trace is read, as shares of its jobs.
    """
    trace = read_swf(TRACES / f"{name}.swf.gz" if name in TEST else name)
    begin, end = (int(len(trace) * each) for each in limits)
    parts = split(trace.take(slice(begin, end)), TEST.get(name, 0.5))
    with TemporaryDirectory() as folder:
        journal = Path(folder) / "evaluations.jsonl"
        begun = process_time()
        chosen = choose(parts.tuning, about, journal)
        took = process_time() - begun
        found = judge(parts, [TODAY, chosen.policy, *fixed_rules()], about, journal)
    past, today, tuned = chosen.train[TODAY], found[TODAY], found[chosen.policy]
    assert past is not None, "the engine starts every job under it"
    assert today is not None, "and here"
    assert tuned is not None, "and it is among those that were replayed"
    near = [
        (of.bounded_slowdown, rule)
        for rule in fixed_rules()
        if (of := found[rule]) is not None and of.max_wait <= _WAITS * today.max_wait
    ]
    best, rule = min(near)
    most = _WAITS * max(past.max_wait, today.max_wait)
    copies = [_reordered(parts.test, stream(0, "copies", k)) for k in range(_COPIES)]
    slowdowns = [[figures(copy, policy).bounded_slowdown for policy in (chosen.policy, rule)] for copy in copies]
    moved = math.exp(sum(math.log(ours / theirs) for ours, theirs in slowdowns) / _COPIES)
    print(
        f"{Path(name).name:<24}{about.seed:>3}{today.bounded_slowdown:>8.1f}{best:>8.1f} {rule:<13}"
        f"{tuned.bounded_slowdown:>7.1f}{tuned.bounded_slowdown / best:>7.3f}{moved:>7.3f}"
        f"{tuned.max_wait / today.max_wait:>6.2f}{tuned.max_wait / most:>6.2f}"
        f"{chosen.policies:>7,}{took:>6.0f} s  {chosen.policy}",
        flush=True,
    )
    return tuned.bounded_slowdown / best, tuned.bounded_slowdown / today.bounded_slowdown


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="*", help=f"a path, or of {', '.join(TEST)}; by default all of these")
    parser.add_argument("--range", type=float, nargs=2, default=[0, 1], help="shares of the jobs: from and to")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--evaluations", type=int, default=2500)
    parser.add_argument("--space", default="default")
    given = parser.parse_args(arguments)
    figures = f"{'tuned':>7}{'/best':>7}{'copies':>7}{'/wait':>6}{'/most':>6} policies"
    print(f"{'trace':<24}{'seed':>3}{'today':>7}{'best':>8}{'':<14}{figures}")
    found = [
        measure(name, terms(given.evaluations, seed, given.space), given.range)
        for name in given.trace or TEST
        for seed in given.seeds
    ]
    best, today = np.exp(np.log(found).mean(axis=0))
    print(f"geometric means: {best:.3f} of the best fixed rule in hindsight, {today:.3f} of today's")


if __name__ == "__main__":
    main()
