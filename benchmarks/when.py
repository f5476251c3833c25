"""How well ``transom when`` forecasts the starts of jobs: ``python -m benchmarks.when TRACE... [--policy POLICY]``.

Asks, at their submissions, about jobs that waited more than ten minutes in the last four fifths of a trace, evenly
spread. Errors and lengths are in minutes. The truth is the replay of the trace under the same policy. Prints how many
starts lie between p10 and p90, the median absolute errors of p50 and of the walltime plan with their ratio, the median
length of the interval, and the CPU seconds that all answers took, those for the calibration included.

``--separate N`` takes the first ``--jobs`` of a trace and runs ``transom when --job`` N times, each in a process of its
own, and then once with all N jobs. No forecast of the past is there before the first of them, nor before the one.
"""

from __future__ import annotations

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from transom import read_swf, simulate
from transom._system.cache_folder import users_folder
from transom.forecast.questions import ask
from transom.forecast.snapshot import History
from transom.models.arrays import IntArray
from transom.simulation.snapshots import window_at
from transom.traces.further_fields import read_applications
from transom.traces.workload import Workload


def main() -> None:
    """Ask, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", nargs="+", type=Path)
    parser.add_argument("--policy", action="append", help="by default fcfs-easy, sjf-easy and fcfs-conservative")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--queue", type=int, help="ask the first queue of so many jobs instead, twice")
    parser.add_argument("--separate", type=int, help="ask so many questions, each in a process of its own, instead")
    parser.add_argument("--jobs", type=int, default=80_000, help="of the trace, for --separate")
    options = parser.parse_args()
    if options.separate is not None:
        for trace in options.trace:
            ask_separately(trace, (options.policy or ["fcfs-easy"])[0], options.separate, options.jobs, options.seed)
        return
    if options.queue is not None:
        for trace in options.trace:
            ask_queue(trace, (options.policy or ["fcfs-easy"])[0], options.queue, options.seed)
        return
    print(f"{'policy':18}{'trace':26}{'asked':>6}{'covered':>9}{'plan off':>10}{'p50 off':>9}{'ratio':>7}"
          f"{'p10-p90':>9}{'CPU':>8}")  # fmt: skip
    for policy in options.policy or ["fcfs-easy", "sjf-easy", "fcfs-conservative"]:
        hits, ratios = [], []
        for trace in options.trace:
            workload = read_swf(trace)
            start = simulate(workload, policy).start
            places = asked_about(workload, start, options.questions)
            name = read_applications(trace, workload.jobs.id)
            began = time.process_time()
            answers = ask(workload, policy, workload.jobs.id[places].tolist(), None, name, options.seed)
            spent = time.process_time() - began
            plan, low, middle, high = np.array([each[2:6] for each in answers]).T
            truth = start[places]
            hit = (low <= truth) & (truth <= high)
            plan_off, off = float(np.median(abs(plan - truth))), float(np.median(abs(middle - truth)))
            ratio = off / plan_off if plan_off else float(off > 0)
            hits.append(hit)
            ratios.append(ratio)
            length = float(np.median(high - low))
            print(f"{policy:18}{trace.name.split('.')[0][:24]:26}{len(places):6}{hit.mean():9.3f}{plan_off / 60:10.1f}"
                  f"{off / 60:9.1f}{ratio:7.2f}{length / 60:9.0f}{spent:8.1f}", flush=True)  # fmt: skip
        pooled, ratio = np.concatenate(hits), float(np.median(ratios))
        print(f"{policy:18}{'all':26}{len(pooled):6}{pooled.mean():9.3f}{'':19}{ratio:7.2f}", flush=True)


def asked_about(workload: Workload, start: IntArray, questions: int) -> IntArray:
    """Places of so many jobs at most, evenly spread, that waited more than ten minutes in the last four fifths."""
    late = np.arange(len(workload)) >= len(workload) // 5
    places = np.flatnonzero(late & (start - workload.jobs.submit > 600))
    return places[np.unique(np.linspace(0, len(places) - 1, questions).astype(np.int64))]


def ask_separately(trace: Path, policy: str, questions: int, jobs: int, seed: int) -> None:
    """Ask each question by a command of its own, then all of them by one."""
    with tempfile.TemporaryDirectory() as folder:
        short = Path(folder) / f"{trace.name.split('.')[0]}.swf"
        with gzip.open(trace, "rt") if trace.suffix == ".gz" else trace.open() as lines, short.open("w") as out:
            for line in lines:
                jobs -= not line.startswith(";")
                if jobs >= 0:
                    out.write(line)
        workload = read_swf(short)
        places = asked_about(workload, simulate(workload, policy).start, questions)
        asked = [["--job", f"{job}"] for job in workload.jobs.id[places].tolist()]
        every = [part for each in asked for part in each]
        for what, commands in (("separate commands", asked), ("one command", [every])):
            cache = Path(folder) / what
            kernels = str(users_folder().parents[1])  # compiled before
            environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "NUMBA_CACHE_DIR": kernels}
            began, spent, slowest = time.perf_counter(), os.times(), 0.0
            for each in commands:
                own = time.perf_counter()
                command = [sys.executable, "-m", "transom", "when", str(short), "--policy", policy, "--json", *each]
                subprocess.run([*command, "--seed", f"{seed}"], env=environment, stdout=subprocess.DEVNULL, check=True)
                slowest = max(slowest, time.perf_counter() - own)
            now = os.times()
            cpu = now.children_user + now.children_system - spent.children_user - spent.children_system
            print(f"{policy} {trace.name}, {len(workload)} jobs: {len(asked)} questions, {what}: "
                  f"{time.perf_counter() - began:.0f} s, {cpu:.0f} s of CPU time, the slowest command {slowest:.1f} s",
                  flush=True)  # fmt: skip


def ask_queue(trace: Path, policy: str, least: int, seed: int) -> None:
    """Ask about all jobs of a deep queue, first without a calibration, then with it."""
    workload = read_swf(trace)
    schedule = simulate(workload, policy)
    deep = np.flatnonzero(schedule.decisions["queued"] >= least)
    if not len(deep):
        raise SystemExit(f"{trace}: no queue has {least} jobs")
    window = window_at(schedule, int(schedule.decisions["time"][deep[0]]))
    history = History(workload, policy, read_applications(trace, workload.jobs.id), seed)
    for what in ("with the calibration", "calibrated before"):
        began = time.process_time()
        asked = len(history.ask(window))
        print(f"{policy} {trace.name}: {asked} queued jobs, {what}: {time.process_time() - began:.2f} s of CPU time")


if __name__ == "__main__":
    main()
