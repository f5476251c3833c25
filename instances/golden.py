"""Make the golden schedules of ``transom conform --golden``: small workloads for a rule each, and parts of real ones.

Run it from the checkout: ``python -m instances.golden [TRACES]``; with a folder of real traces those are made, too.
Starts are the engine's; tests/conform/test_golden.py proves them by replays that share no code with it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from transom.conform.golden import BUNDLED, Golden, Prepared, digest, prepared
from transom.simulation import simulate
from transom.simulation.core.schedule import Schedule
from transom.simulation.nodes.lowest_idle import assign_nodes


class Case(NamedTuple):
    """A rule, the policy, the nodes, and rows of submission, nodes, walltime, runtime, and what else there is.

    ``parents`` by job; ``partitions``: of each job, and ``sizes`` of each partition; ``gpus`` of each job.
    """

    rule: str
    policy: str
    nodes: int
    jobs: list[tuple[int, int, int, int]]
    parents: Mapping[int, int] = {}
    partitions: tuple[int, ...] = ()
    gpus: tuple[int, ...] = ()
    more: Mapping[str, Any] = {}


MAINTENANCE = {"outages": "kind,begin,end,nodes,announced\nmaintenance,50,80,4,0\n"}
GPUS = {"resources": "gpus=[column:gpus,capacity=4]"}

CASES = {
    "order-ties": Case("jobs of one submission start in the order of their ids", "fcfs", 4,
        [(0, 4, 10, 10), (5, 3, 10, 10), (5, 3, 10, 10), (5, 3, 10, 10)]),
    "order-ties-easy": Case("jobs of one submission keep the order of their ids whatever their sizes", "fcfs-easy", 4,
        [(0, 4, 10, 10), (5, 2, 10, 10), (5, 4, 10, 10), (5, 3, 10, 10)]),
    "order-head": Case("without backfilling nobody starts ahead of the first job that waits", "fcfs", 4,
        [(0, 3, 20, 20), (1, 4, 10, 10), (2, 1, 5, 5)]),
    "order-shortest": Case("sjf orders by walltime, not by runtime; equal walltimes by submission", "sjf-easy", 4,
        [(0, 4, 10, 10), (1, 4, 30, 5), (2, 4, 20, 20), (3, 4, 20, 20)]),
    "order-smallest-area": Case("saf orders by nodes times walltime", "saf-easy", 4,
        [(0, 4, 10, 10), (1, 2, 40, 40), (2, 4, 15, 15), (3, 3, 20, 20)]),
    "order-max-wait": Case("a job that has waited longer than max_wait goes first", "sjf-easy:max_wait=20", 4,
        [(0, 4, 30, 30), (1, 4, 50, 50), (15, 4, 10, 10), (40, 4, 10, 10), (55, 4, 10, 10)]),
    "order-whole-machine": Case("a job as large as the machine waits until all is free", "fcfs-easy", 4,
        [(0, 1, 30, 30), (1, 4, 10, 10), (2, 3, 28, 28), (3, 1, 5, 5)]),
    "easy-ends-before": Case("a job that ends before the shadow time is backfilled", "fcfs-easy", 4,
        [(0, 3, 20, 20), (1, 4, 10, 10), (2, 1, 10, 10)]),
    "easy-ends-at": Case("a job whose walltime ends at the shadow time is backfilled", "fcfs-easy", 4,
        [(0, 3, 20, 20), (1, 4, 10, 10), (2, 1, 18, 18)]),
    "easy-ends-after": Case("a job that ends a second after the shadow time waits", "fcfs-easy", 4,
        [(0, 3, 20, 20), (1, 4, 10, 10), (2, 1, 19, 19)]),
    "easy-extra": Case("a long job is backfilled onto nodes that the reserved job does not need", "fcfs-easy", 4,
        [(0, 3, 20, 20), (1, 3, 10, 10), (2, 1, 90, 90)]),
    "easy-extra-once": Case("extra nodes that one backfilled job has taken are not there for the next", "fcfs-easy", 6,
        [(0, 4, 20, 20), (1, 5, 10, 10), (2, 1, 90, 90), (2, 1, 90, 90)]),
    "easy-extra-spared": Case("a job that ends by the shadow time takes no extra nodes", "fcfs-easy", 6,
        [(0, 4, 20, 20), (1, 5, 10, 10), (2, 1, 10, 10), (3, 1, 90, 90)]),
    "easy-equal-ends": Case("all jobs that end at the shadow time count for the extra nodes", "fcfs-easy", 6,
        [(0, 2, 20, 20), (0, 2, 20, 20), (1, 4, 10, 10), (2, 2, 90, 90)]),
    "easy-order": Case("candidates are tried in the order of the queue", "fcfs-easy", 4,
        [(0, 3, 20, 20), (1, 4, 10, 10), (2, 1, 15, 15), (2, 1, 5, 5)]),
    "easy-walltime-candidate": Case("a candidate counts with its walltime, not its runtime", "fcfs-easy", 4,
        [(0, 3, 20, 20), (1, 4, 10, 10), (2, 1, 50, 5)]),
    "easy-walltime-running": Case("the shadow time is that of walltimes, not of runtimes", "fcfs-easy", 4,
        [(0, 3, 40, 10), (1, 4, 10, 10), (2, 1, 30, 30)]),
    "easy-earlier": Case("the reservation is made anew: the first job starts as soon as it fits", "fcfs-easy", 4,
        [(0, 3, 50, 10), (1, 4, 10, 10), (2, 1, 5, 5)]),
    "easy-hole-again": Case("what a backfilled job leaves early is filled again", "fcfs-easy", 4,
        [(0, 3, 60, 60), (1, 4, 10, 10), (2, 1, 50, 5), (3, 1, 40, 40)]),
    "events-end-first": Case("ends of an instant come before submissions", "fcfs-easy", 4,
        [(0, 4, 10, 10), (10, 4, 10, 10)]),
    "events-one-pass": Case("one pass after all events of an instant", "fcfs-easy", 4,
        [(0, 2, 20, 10), (0, 2, 20, 10), (1, 4, 10, 10), (2, 2, 9, 9)]),
    "events-same-submission": Case("jobs of one instant are all there before the pass", "sjf-easy", 4,
        [(0, 4, 30, 30), (0, 4, 10, 10)]),
    "time-cut": Case("a runtime beyond the walltime is cut", "fcfs-easy", 4,
        [(0, 4, 20, 50), (1, 4, 10, 10)]),
    "time-overrun": Case("a job that outruns its walltime is expected to end a second later", "fcfs-easy", 4,
        [(0, 3, 10, 30), (1, 4, 10, 10), (12, 1, 2, 2), (20, 1, 1, 1)], more={"reading": {"long_runs": "keep"}}),
    "time-zero": Case("a runtime of 0 s of a completed job is one second", "fcfs-easy", 4,
        [(0, 4, 10, 0), (0, 4, 10, 10), (5, 4, 10, 0), (5, 4, 10, 10)], more={"reading": {"zero_runtimes": "second"}}),
    "parents-wait": Case("a job starts no earlier than the job it depends on ends", "fcfs-easy", 4,
        [(0, 2, 20, 20), (1, 2, 10, 10)], parents={2: 1}),
    "parents-hidden": Case("a job that may not start yet is not in the queue, and holds back nobody", "fcfs", 4,
        [(0, 2, 20, 20), (1, 4, 10, 10), (2, 2, 30, 30)], parents={2: 1}),
    "resources-block": Case("a job waits for a further resource though nodes are idle", "fcfs", 4,
        [(0, 1, 20, 20), (1, 1, 10, 10), (2, 1, 10, 10)], gpus=(3, 2, 1), more=GPUS),
    "resources-extra": Case("the extra of every resource counts", "fcfs-easy", 4,
        [(0, 1, 20, 20), (1, 1, 10, 10), (2, 1, 90, 90), (3, 1, 90, 90)], gpus=(3, 4, 1, 0), more=GPUS),
    "maintenance-waits": Case("a job that would run into announced maintenance waits until it is over", "fcfs-easy", 4,
        [(0, 2, 60, 20), (10, 2, 30, 30)], more=MAINTENANCE),
    "maintenance-before": Case("what ends by the beginning of maintenance starts before it", "fcfs-easy", 4,
        [(0, 4, 30, 30), (1, 4, 40, 40), (2, 2, 20, 20), (3, 2, 21, 21)], more=MAINTENANCE),
    "partitions-apart": Case("jobs keep to the nodes of their partition", "fcfs-easy", 8,
        [(0, 4, 20, 20), (1, 4, 10, 10), (2, 3, 10, 10)], partitions=(1, 1, 2)),
    "conservative-all": Case("no job delays the reservation of any job before it", "fcfs-conservative", 4,
        [(0, 3, 20, 20), (1, 3, 20, 20), (2, 2, 20, 20), (3, 1, 50, 50), (4, 1, 15, 15)]),
    "conservative-moves": Case("when a job ends early, reservations move forward, the first ones first",
        "fcfs-conservative", 4, [(0, 4, 50, 10), (1, 3, 20, 20), (2, 2, 20, 20), (3, 1, 60, 60)]),
    "conservative-depth": Case("with a depth of 1 only the first job that waits holds a reservation",
        "fcfs-conservative:depth=1", 4,
        [(0, 3, 20, 20), (1, 3, 20, 20), (2, 2, 20, 20), (3, 1, 50, 50), (4, 1, 15, 15)]),
    "slurm-interval": Case("Slurm backfills at multiples of the interval only",
        "slurm-backfill:interval=10,resolution=1", 4, [(0, 3, 20, 20), (1, 4, 10, 10), (2, 1, 8, 8), (21, 1, 9, 9)]),
}  # fmt: skip

REAL = {
    "real-theta": ("theta_2022.swf.gz", "fcfs-easy", 0, 700),
    "real-sdsc-sp2": ("SDSC-SP2-1998-4.2-cln.swf.gz", "fcfs-easy", 2000, 500),
    "real-sdsc-blue": ("SDSC-BLUE-2000-4.2-cln.swf.gz", "sjf-easy", 5000, 500),
    "real-hpc2n": ("HPC2N-2002-2.2-cln.swf.gz", "fcfs-conservative", 3000, 300),
    "real-kth-sp2": ("KTH-SP2-1996-2.1-cln.swf.gz", "saf-easy", 1000, 500),
    "real-nasa": ("NASA-iPSC-1993-3.1-cln.swf.gz", "fcfs", 1000, 500),
    "real-lublin": ("lublin_2000.swf.gz", "fcfs-easy", 0, 700),
    "real-lublin-5000": ("lublin_5000.swf.gz", "wfp3-easy", 0, 500),
}
"""Traces, policies, the first job and how many."""


def swf_text(case: Case) -> str:
    """The jobs of a case in the Standard Workload Format."""
    lines = [f"; MaxNodes: {case.nodes}", f"; MaxProcs: {case.nodes}"]
    if case.partitions:
        lines += ["; Partition: 1 one", "; Partition: 2 two", "; Note: nodes of partitions: one 4, two 4"]
    if case.gpus:
        lines += ["; Columns: gpus", "; Note: the machine has 4 gpus"]
    for i, (submit, nodes, walltime, runtime) in enumerate(case.jobs):
        part = case.partitions[i] if case.partitions else -1
        line = f"{i + 1} {submit} -1 {runtime} {nodes} -1 -1 {nodes} {walltime} -1 1 1 -1 -1 -1 {part}"
        line += f" {case.parents.get(i + 1, -1)} -1" + (f" {case.gpus[i]}" if case.gpus else "")
        lines.append(line)
    return "\n".join(lines) + "\n"


def schedule_of(case: Golden, files: Prepared) -> Schedule:
    """What the engine makes of a case."""
    return simulate(files.workload, case.policy, outages=files.outages)


def drawn(num_nodes: int, jobs: Sequence[int], first: Any, last: Any, start: Any, end: Any, of: Any) -> str:
    """A schedule as text: a row for each node, the highest first, a column for each span of time, digits for jobs.

    Parameters
    ----------
    num_nodes : rows.
    jobs : ids.
    first, last, of : runs of nodes and the position of the job of each.
    start, end : of the jobs [s].
    """
    until = int(max(end))
    unit = max(1, -(-until // 60))
    rows = np.full((num_nodes, -(-until // unit)), ".")
    for low, high, job in zip(first, last, of, strict=True):
        rows[low : high + 1, start[job] // unit : max(start[job] // unit + 1, end[job] // unit)] = str(jobs[job])[-1]
    lines = ["".join(row) for row in rows[::-1]]
    return "\n".join([*lines, f"a column is {unit} s"]) + "\n"


def quoted(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {quoted(each)}" for key, each in value.items()) + " }"
    if isinstance(value, str):
        return f'"""\n{value}"""' if "\n" in value else f'"{value}"'
    return str(value)


def write(name: str, stated: dict[str, Any], traces: Path | None) -> None:
    """Write the file of a case."""
    with tempfile.TemporaryDirectory() as folder:
        case = Golden(name, BUNDLED / f"{name}.toml", **stated)
        if (files := prepared(case, Path(folder), traces)) is None:
            print(f"{name}: {case.trace} is not there, left as it is")
            return
        schedule = schedule_of(case, files)
        starts = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
        if case.trace:
            stated["digest"] = digest(starts)
        else:
            runs = schedule.runs or assign_nodes(schedule)
            of = [i for i in range(len(schedule)) for _ in range(runs.offsets[i], runs.offsets[i + 1])]
            jobs, nodes = schedule.jobs.id.tolist(), schedule.cluster.num_nodes
            stated["starts"] = [[job, start] for job, start in starts.items()]
            stated["drawing"] = drawn(nodes, jobs, runs.first, runs.last, schedule.start, schedule.end, of)
    lines = [f"{key} = {quoted(value)}\n" for key, value in stated.items()]
    (BUNDLED / f"{name}.toml").write_text("".join(lines))


def main() -> None:
    """Write all files."""
    traces = Path(sys.argv[1]) if sys.argv[1:] else None
    BUNDLED.mkdir(exist_ok=True)
    for name, case in CASES.items():
        sized = {"reading": {"partition_nodes": "one=4,two=4"}} if case.partitions else {}
        write(name, {"rule": case.rule, "policy": case.policy, **sized, **case.more, "swf": swf_text(case)}, traces)
    for name, (trace, policy, start, jobs) in REAL.items():
        rule = f"{jobs} jobs of {trace}"
        where = traces if trace != "lublin_5000.swf.gz" else Path(__file__).parent / "workloads"
        write(name, {"rule": rule, "policy": policy, "trace": trace, "start": start, "jobs": jobs}, where)


if __name__ == "__main__":
    main()
