"""How well ``transom when`` forecasts the starts of jobs: ``python -m benchmarks.when TRACE... [--policy POLICY]``.

Asks, at their submissions, about jobs that waited more than ten minutes in the last four fifths of a trace, evenly
spread. Errors and lengths are in minutes. The truth is the replay of the trace under the same policy. Prints how many
starts lie between p10 and p90, the median absolute errors of p50 and of the walltime plan with their ratio, the median
length of the interval, and the CPU seconds that all answers took, those for the calibration included.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from transom import read_swf, simulate
from transom.forecast.questions import ask
from transom.forecast.snapshot import History
from transom.simulation.snapshots import window_at
from transom.traces.applications import read_applications


def main() -> None:
    """Ask, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", nargs="+", type=Path)
    parser.add_argument("--policy", action="append", help="by default fcfs-easy, sjf-easy and fcfs-conservative")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--queue", type=int, help="ask the first queue of so many jobs instead, twice")
    options = parser.parse_args()
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
            start, submit = simulate(workload, policy).start, workload.jobs.submit
            late = np.arange(len(workload)) >= len(workload) // 5
            places = np.flatnonzero(late & (start - submit > 600))
            places = places[np.unique(np.linspace(0, len(places) - 1, options.questions).astype(np.int64))]
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
