"""A synthetic site as its accounting shows it, and the truth: ``python -m benchmarks.synthetic_site SEED OUT``.

Three partitions that share no nodes, one of them with GPUs, and two days of maintenance. Jobs are those of the
Lublin-Feitelson model, some of them tasks of arrays, and each partition is replayed by itself under slurm-backfill.
What that starts is written as ``sacct`` prints it, with what makes accounting hard to read: jobs that fail, reach
their limit or are cancelled, executions before a requeue, steps, and jobs that still run or wait when the records
end. A start is logged seconds to minutes after the decision, as long as a prologue takes.

Written to ``OUT``: ``sacct.txt.gz``, ``slurm.conf``, ``reservations.txt`` (``scontrol show reservation``) and
``truth.toml``: waits [s] of the jobs that the records show from submission to end, by the log, and as the same replay
gives them under other policies.
"""

from __future__ import annotations

import argparse
import gzip
import heapq
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from transom import simulate
from transom.generate import LublinModel, generate_lublin
from transom.models import Cluster, JobTable
from transom.models.arrays import IntArray
from transom.models.job import UNKNOWN
from transom.rng import stream
from transom.traces import Workload
from transom.traces.outages import Outage, Outages
from transom.traces.records.hostlist import compressed

TODAY, OTHERS = "slurm-backfill", ("fcfs-easy", "saf-easy")
BEGIN = 1772409600  # [s], Monday 2 March 2026, 00:00 UTC
DAY = 86_400  # [s]
ANNOUNCED = 7 * DAY  # before maintenance begins
FIRST_ID = 40_001
WITHDRAWN = "CANCELLED WHILE PENDING"
ACCOUNTS = ("physics", "chemistry", "climate", "genomics", "cs")
PROGRAMS = ("relax", "md", "train", "postproc", "assemble", "sweep", "test")
COLUMNS = (
    *("JobID", "JobIDRaw", "Submit", "Eligible", "Start", "End", "ElapsedRaw", "Suspended", "NNodes", "ReqNodes"),
    *("NCPUS", "ReqCPUS", "AllocTRES", "ReqTRES", "ReqMem", "TimelimitRaw", "Partition", "QOS", "Account", "User"),
    *("UID", "State", "Reservation", "NodeList", "JobName"),
)


class Partition(NamedTuple):
    """A partition with nodes of its own.

    ``limit`` is that of walltimes [s]; ``short`` the share of short jobs in the model; ``cores``, ``memory`` [GiB] and
    ``gpus`` are those of a node.
    """

    name: str
    nodes: int
    load: float
    limit: int
    short: float
    cores: int
    memory: int
    gpus: int


PARTITIONS = (
    Partition("batch", 48, 0.80, 2 * DAY, 0.50, 48, 192, 0),
    Partition("gpu", 12, 0.70, DAY, 0.40, 64, 512, 4),
    Partition("debug", 4, 0.04, 1800, 0.30, 48, 192, 0),
)


@dataclass(eq=False)
class Task:
    """A job, a task of an array or one execution of a requeued job; times [s] from :data:`BEGIN`.

    ``delay`` passes from the decision to the logged start; ``state`` is how it ends; ``head`` is the first task of its
    array; ``again`` is the execution that failed before this one.
    """

    submit: int
    nodes: int
    walltime: int
    runtime: int
    user: int
    delay: int
    state: str = "COMPLETED"
    head: Task | None = None
    task: int = -1
    again: Task | None = None
    start: int = -1
    job_id: int = 0
    raw: int = 0
    hosts: tuple[int, ...] = ()

    @property
    def end(self) -> int:
        return self.start + self.runtime


def main() -> None:
    """Make a site."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--days", type=int, default=21, help="how long the records are; at least 8")
    parser.add_argument("--nodes", default="48,12,4", help="of batch, gpu and debug")
    options = parser.parse_args()
    sizes = [int(each) for each in options.nodes.split(",")]
    if options.days < 8 or len(sizes) != len(PARTITIONS) or min(sizes) < 2:
        parser.error("expected at least 8 days and three numbers of at least 2 nodes")
    write_site(options.out, options.seed, options.days, sizes)


def toml(table: Mapping[str, Any], name: str = "") -> str:
    """A table of numbers, texts and further tables as TOML."""
    plain = "".join(f"{key} = {json.dumps(each)}\n" for key, each in table.items() if not isinstance(each, Mapping))
    head = f"\n[{name}]\n" if name and plain else ""
    inner = (toml(each, f"{name}.{key}".lstrip(".")) for key, each in table.items() if isinstance(each, Mapping))
    return head + plain + "".join(inner)


def write_site(out: Path, seed: int, days: int = 21, sizes: Sequence[int] = (48, 12, 4)) -> None:
    """Make a site and write its files into the folder ``out``."""
    partitions = [each._replace(nodes=nodes) for each, nodes in zip(PARTITIONS, sizes, strict=True)]
    last, begin = days * DAY, days * 2 // 3 * DAY + 6 * 3600
    down = (begin, begin + 2 * DAY)
    site = {each: submitted(each, down, last, stream(seed, "site", each.name)) for each in partitions}
    for partition, jobs in site.items():
        requeue(jobs, partition, down, stream(seed, "requeues", partition.name))
        place(jobs, partition.nodes)
    number([job for jobs in site.values() for job in jobs])
    records = sorted(record for partition, jobs in site.items() for record in sacct(partition, jobs, last))
    truth = {"seed": seed, "days": days, "today": TODAY, **waits(site, down, last)}
    out.mkdir(parents=True, exist_ok=True)
    text = "\n".join(["|".join(COLUMNS), *(line for _, line in records), ""])
    (out / "sacct.txt.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (out / "slurm.conf").write_text(configuration(partitions))
    (out / "truth.toml").write_text(toml(truth))
    first, until, nodes = BEGIN + down[0], BEGIN + down[1], sum(sizes)
    (out / "reservations.txt").write_text(
        f"ReservationName=maintenance StartTime={first} EndTime={until} Duration=2-00:00:00\n"
        f"   Nodes={','.join(hosts(each) for each in partitions)} NodeCnt={nodes} Features=(null) PartitionName=(null)"
        " Flags=MAINT,SPEC_NODES,ALL_NODES\n"
        "   TRES=(null) Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE\n"
    )


def submitted(partition: Partition, down: tuple[int, int], last: int, rng: np.random.Generator) -> list[Task]:
    """The jobs of a partition as they are submitted; none asks for more than half of it.

    Where a job may ask for all nodes, seconds decide for how long it starves, and with it over every mean wait.
    """
    model = LublinModel(runtime_limit=float(np.log(partition.limit)), runtime_offset=partition.short)
    most = 400 * last // DAY
    made = generate_lublin(most, partition.nodes // 2, rng, 2 * partition.load, model=model)
    number = int(np.searchsorted(made.jobs.submit, last))
    assert number < most
    walltimes = np.minimum(made.jobs.walltime[:number], partition.limit)
    runtimes = np.minimum(made.runtime[:number], walltimes)
    users = np.minimum(rng.zipf(1.6, number), 40)
    delays = np.minimum(rng.lognormal(1.8, 1.0, number), 240).astype(np.int64)
    columns = (made.jobs.submit[:number], made.jobs.nodes[:number], walltimes, runtimes, users, delays)
    jobs = [Task(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    for job, kind in zip(jobs, rng.random(number).tolist(), strict=True):
        if kind < 0.04:
            job.state, job.runtime = "TIMEOUT", job.walltime
        elif kind < 0.10:
            job.state, job.runtime = "FAILED", max(job.runtime // 10, 1)
        elif kind < 0.12:
            job.state, job.runtime = "CANCELLED", max(job.runtime // 2, 1)
        elif kind < 0.15:
            job.state, job.runtime = WITHDRAWN, max(job.runtime // 20, 1)
    # Who sees that the machine is down submits less.
    jobs = [job for job in jobs if rng.random() < 0.3 or not down[0] <= job.submit < down[1]]
    into_arrays(jobs, rng)
    if partition.name == "debug":  # an array of which some tasks run and others wait at the end
        jobs += [Task(last - 600, 1, 1800, 1500, 7, 3, task=task) for task in range(10)]
        for job in jobs[-10:]:
            job.head = jobs[-10]
    return jobs


def into_arrays(jobs: list[Task], rng: np.random.Generator) -> None:
    """Let one in thirty of the small jobs begin an array, with the small ones behind it as its tasks."""
    small = [job for job in jobs if job.nodes <= 4 and job.state != WITHDRAWN]
    at = 0
    while at < len(small):
        head = small[at]
        array = small[at : at + int(rng.integers(3, 16))] if rng.random() < 1 / 30 else []
        for task, job in enumerate(array):
            job.submit, job.nodes, job.user, job.walltime = head.submit, head.nodes, head.user, head.walltime
            job.runtime = head.walltime if job.state == "TIMEOUT" else min(job.runtime, head.walltime)
            job.head, job.task = head, task
        at += max(len(array), 1)


def requeue(jobs: list[Task], partition: Partition, down: tuple[int, int], rng: np.random.Generator) -> None:
    """Fill in the logged starts; of 400 jobs one fails with its node and waits again as of then."""
    log_starts(jobs, partition, down)
    last = max(job.submit for job in jobs)
    able = [job for job in jobs if job.state == "COMPLETED" and not job.head and job.runtime > 600]
    for k in rng.choice(len(able), max(len(jobs) // 400, 1), replace=False).tolist():
        able[k].state = "NODE_FAIL"
    failing = {job: float(rng.random()) for job in able if job.state == "NODE_FAIL"}
    while failing:
        # What is before a failure does not depend on it: the first one is final, and so on.
        job = min(failing, key=lambda job: job.start + failing[job] * job.runtime)
        whole, share = job.runtime, failing.pop(job)
        job.runtime = max(int(share * whole), 1)
        if job.end >= last:
            job.runtime, job.state = whole, "COMPLETED"
            continue
        jobs.append(replace(job, submit=job.end, runtime=whole, state="COMPLETED", again=job))
        log_starts(jobs, partition, down)


def log_starts(jobs: Sequence[Task], partition: Partition, down: tuple[int, int]) -> None:
    """Replay under today's policy; what it starts is what the log has."""
    for job, start in starts(jobs, partition, down, TODAY).items():
        job.start = start


def starts(jobs: Sequence[Task], partition: Partition, down: tuple[int, int], policy: str) -> dict[Task, int]:
    """When a policy starts the jobs of a partition, replayed by itself."""
    ran = [job for job in jobs if job.state != WITHDRAWN]
    rows = [
        (k, BEGIN + job.submit, job.nodes, job.walltime + job.delay, job.user, UNKNOWN) for k, job in enumerate(ran, 1)
    ]
    runtimes = [job.runtime + job.delay for job in ran]
    row = Outage(
        "maintenance", BEGIN + down[0], BEGIN + down[1], partition.nodes, announced=BEGIN + down[0] - ANNOUNCED
    )
    workload = Workload(partition.name, Cluster(partition.nodes), JobTable(rows), runtimes)
    schedule = simulate(workload, policy, outages=Outages((row,)))
    decided = zip(workload.jobs.id.tolist(), (schedule.start - BEGIN).tolist(), strict=True)
    return {ran[k - 1]: start + ran[k - 1].delay for k, start in decided}


def place(jobs: Sequence[Task], nodes: int) -> None:
    """Give each job the lowest idle nodes; they are its own from the decision on."""
    idle = list(range(nodes))
    busy: list[tuple[int, int, Task]] = []
    for k, job in enumerate(sorted((job for job in jobs if job.start >= 0), key=lambda job: job.start - job.delay)):
        while busy and busy[0][0] <= job.start - job.delay:
            for host in heapq.heappop(busy)[2].hosts:
                heapq.heappush(idle, host)
        job.hosts = tuple(heapq.heappop(idle) for _ in range(job.nodes))
        heapq.heappush(busy, (job.end, k, job))


def number(jobs: Sequence[Task]) -> None:
    """Ids as Slurm gives them, by submission; the last task of an array has the number of the array itself."""
    tasks = Counter(job.head for job in jobs if job.head)
    at = FIRST_ID
    for job in sorted((job for job in jobs if not job.again), key=lambda job: (job.submit, job.task)):
        if job.head in (None, job):
            job.job_id = job.raw = at
            at += tasks.get(job, 1)
        if job.head:
            job.job_id = job.head.job_id
            job.raw = job.job_id + (job.task + 1) % tasks[job.head]
    for job in jobs:
        if job.again:
            job.job_id, job.raw = job.again.job_id, job.again.raw


def sacct(partition: Partition, jobs: Sequence[Task], last: int) -> Iterator[tuple[tuple[int, int, int, int], str]]:
    """The records of a partition when they end, each behind its place among all."""
    waiting: dict[Task, list[Task]] = {}
    for job in jobs:
        name = f"{job.job_id}_{job.task}" if job.head else str(job.job_id)
        place = (job.job_id, job.task, job.submit)
        if job.submit >= last:
            continue
        if job.state == WITHDRAWN and job.submit + job.runtime <= last:
            yield (*place, 0), record(partition, job, name, str(job.raw), WITHDRAWN)
        elif not 0 <= job.start < last:
            waiting.setdefault(job.head or job, []).append(job)
        else:
            state = job.state if job.end <= last else "RUNNING"
            for step, kind in enumerate(("", ".batch", ".extern")):
                yield (*place, step), record(partition, job, name + kind, f"{job.raw}{kind}", state, kind[1:], last)
    for group in waiting.values():
        job, tasks = group[0], [each.task for each in group]
        name = f"{job.job_id}_[{min(tasks)}-{max(tasks)}%4]" if job.head else str(job.job_id)
        yield (job.job_id, job.task, job.submit, 0), record(partition, job, name, str(job.job_id), "PENDING")


def record(partition: Partition, job: Task, name: str, raw: str, state: str, step: str = "", last: int = 0) -> str:
    """A line as ``SLURM_TIME_FORMAT=%s sacct --parsable2`` prints it."""
    uid, cores = 1000 + job.user, job.nodes * partition.cores
    gpus = f"gres/gpu={job.nodes * partition.gpus}," if partition.gpus else ""
    amounts = f"cpu={cores},{gpus}mem={job.nodes * partition.memory}G,node={job.nodes}"
    started, ended = state not in ("PENDING", WITHDRAWN), state not in ("PENDING", "RUNNING")
    begin = job.start if step else job.submit
    end = job.end if started else job.submit + job.runtime
    elapsed = (min(job.end, last) - job.start) if started else 0
    if step and state in ("TIMEOUT", "NODE_FAIL", "CANCELLED"):
        state = "CANCELLED" if step == "batch" else "COMPLETED"
    elif state in ("CANCELLED", WITHDRAWN):
        state = f"CANCELLED by {uid}"
    cells: dict[str, object] = {
        "JobID": name,
        "JobIDRaw": raw,
        "Submit": BEGIN + begin,
        "Eligible": BEGIN + begin,
        "Start": BEGIN + job.start if started else "Unknown",
        "End": BEGIN + end if ended else "Unknown",
        "ElapsedRaw": elapsed,
        "Suspended": "00:00:00",
        "NNodes": job.nodes,
        "NCPUS": cores if started else 0,
        "AllocTRES": amounts if step else f"billing={cores},{amounts}" if started else "",
        "Account": ACCOUNTS[job.user % len(ACCOUNTS)],
        "State": state,
        "NodeList": hosts(partition, job.hosts) if started else "None assigned",
        "JobName": step or PROGRAMS[(job.user + job.nodes) % len(PROGRAMS)],
    }
    if not step:
        cells |= {
            "ReqNodes": job.nodes,
            "ReqCPUS": cores,
            "ReqTRES": f"billing={cores},{amounts}",
            "ReqMem": f"{job.nodes * partition.memory}G",
            "TimelimitRaw": job.walltime // 60,
            "Partition": partition.name,
            "QOS": "normal",
            "User": f"user{job.user:02}",
            "UID": uid,
        }
    return "|".join(str(cells.get(column, "")) for column in COLUMNS)


def configuration(partitions: Sequence[Partition]) -> str:
    """The slurm.conf."""
    lines = [
        "ClusterName=synthetic",
        "SchedulerType=sched/backfill",
        "SchedulerParameters=bf_interval=30,bf_resolution=60",
        "PriorityType=priority/basic",
        "SelectType=select/linear",
        "GresTypes=gpu",
    ]
    for each in partitions:
        gres = f"Gres=gpu:{each.gpus} " if each.gpus else ""
        lines.append(
            f"NodeName={hosts(each)} Sockets=2 CoresPerSocket={each.cores // 2} ThreadsPerCore=1 "
            f"RealMemory={each.memory * 1024} {gres}State=UNKNOWN"
        )
    for each in partitions:
        default = "YES" if each is partitions[0] else "NO"
        lines.append(
            f"PartitionName={each.name} Nodes={hosts(each)} Default={default} MaxTime={each.limit // 60} State=UP"
        )
    return "\n".join([*lines, ""])


def hosts(partition: Partition, chosen: Sequence[int] | None = None) -> str:
    """Nodes of a partition, by default all, as Slurm lists them."""
    which = range(partition.nodes) if chosen is None else chosen
    return compressed(f"{partition.name[0]}{host + 1:02}" for host in which)


def waits(site: dict[Partition, list[Task]], down: tuple[int, int], last: int) -> dict[str, Any]:
    """Waits [s] of the jobs that the records show from submission to end, by policy: all, and by partition."""
    found: dict[str, Any] = {}
    for policy in ("logged", *OTHERS):
        of: dict[str, IntArray] = {}
        for partition, jobs in site.items():
            begun = starts(jobs, partition, down, TODAY if policy == "logged" else policy)
            seen = [job for job in begun if job.end <= last]
            of[partition.name] = np.array([begun[job] - job.submit for job in seen])
        groups = {"all": np.concatenate([*of.values()]), **of}
        found[policy] = {
            name: {"jobs": len(wait), "mean_wait": round(float(wait.mean()), 1), "longest_wait": int(wait.max())}
            for name, wait in groups.items()
        }
    return {"waits": found}


if __name__ == "__main__":
    main()
