"""Limits of accounts, users and QOS: beside a plain replay, and files that do not say what they should."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.simulation.plain_slurm import PlainJob, PlainLimits, plain_slurm
from transom.errors import SpecError, TraceError
from transom.models import Cluster, Job, Window
from transom.simulation import make_policy, simulate
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.verification import check_schedule
from transom.traces import TracedJob, Workload, read_swf
from transom.traces.records.slurm_text.limits import read_associations, read_qos
from transom.traces.trace_file import TraceCard, complete, write_trace

ASSOC = "Cluster|Account|User|Partition|Share|Par Name|GrpJobs|GrpTRES|MaxJobs|MaxTRES|QOS\n"
QOS = "Name|Priority|GrpTRES|GrpJobs|MaxTRES|MaxTRESPU|MaxJobsPU|MaxTRESPA|MaxJobsPA\n"
TREE = {"root": "", "physics": "root", "optics": "physics", "law": "root"}
USERS = (("optics", "ann"), ("optics", "bob"), ("physics", "ann"), ("law", "eve"))
TRES = {"cpu": "cpu", "mem": "mem", "node": "node", "gpu": "gres/gpu"}


def listed(amounts: dict[str, int]) -> str:
    return ",".join(f"{TRES[name]}={most}{'M' * (name == 'mem')}" for name, most in amounts.items() if name != "jobs")


def jobs_of(amounts: dict[str, int]) -> str:
    return str(amounts.get("jobs", ""))


def dumps(limits: PlainLimits, folder: Path) -> str:
    """The files of limits, as settings of the policy."""
    rows = [(account, "", TREE[account], limits.group.get(account, {})) for account in TREE]
    rows += [(account, user, "", {}) for account, user in USERS]
    most = limits.max_jobs
    lines = [
        f"site|{account}|{user}||1|{parent}|{jobs_of(group)}|{listed(group)}|{most.get((account, user), '')}||"
        for account, user, parent, group in rows
    ]
    (folder / "assoc.txt").write_text(ASSOC + "\n".join(lines) + "\n")
    lines = [
        f"{name}|0|{listed(each['group'])}|{jobs_of(each['group'])}||{listed(each['user'])}|{jobs_of(each['user'])}|"
        f"{listed(each['account'])}|{jobs_of(each['account'])}"
        for name, each in limits.qos.items()
    ]
    (folder / "qos.txt").write_text(QOS + "\n".join(lines) + "\n")
    return f"assoc={folder / 'assoc.txt'},qos={folder / 'qos.txt'}"


def trace(jobs: Sequence[PlainJob], nodes: int, folder: Path) -> Workload:
    rows = [
        {
            "id": job.id, "submit": job.submit, "start": job.submit, "runtime": job.runtime, "walltime": job.walltime,
            "nodes": job.nodes, "cores": job.amounts["cpu"], "memory": job.amounts["mem"], "gpus": job.amounts["gpu"],
            "user": 1, "user_name": job.user, "account": job.account, "qos": job.qos, "state": "COMPLETED",
        }
        for job in jobs
    ]  # fmt: skip
    write_trace(folder / "site.parquet", complete(pl.DataFrame(rows)), TraceCard(machine={"nodes": nodes}))
    return read_swf(folder / "site.parquet")


def some_limits(rng: np.random.Generator, most: dict[str, int]) -> dict[str, int]:
    """Limits on some amounts, none below what a job may ask for."""
    return {name: int(rng.integers(low, 2 * low + 2)) for name, low in most.items() if rng.random() < 0.3}


@pytest.mark.parametrize("seed", range(12))
def test_limits_are_those_of_a_plain_replay(tmp_path: Path, seed: int) -> None:
    rng, most = np.random.default_rng(seed), {"jobs": 1, "cpu": 12, "mem": 300, "node": 3, "gpu": 2}
    jobs = []
    for i in range(1, 41):
        account, user = USERS[rng.integers(len(USERS))]
        nodes = int(rng.integers(1, 4))
        amounts = {"jobs": 1, "cpu": 4 * nodes, "mem": int(rng.integers(1, 4)) * 100, "node": nodes}
        amounts["gpu"] = int(rng.integers(0, 3))
        walltime = int(rng.integers(2, 40))
        runtime, qos = int(rng.integers(1, walltime + 1)), str(rng.choice(["normal", "high"]))
        jobs.append(PlainJob(i, int(rng.integers(0, 120)), nodes, walltime, runtime, user, account, qos, amounts))
    limits = PlainLimits(
        TREE,
        {account: some_limits(rng, most) for account in TREE},
        {(a, u): int(rng.integers(1, 4)) for a, u in (*USERS, ("physics", ""), ("root", "")) if rng.random() < 0.5},
        {name: {of: some_limits(rng, most) for of in ("group", "user", "account")} for name in ("normal", "high")},
    )
    workload, files = trace(jobs, 10, tmp_path), dumps(limits, tmp_path)
    schedule = simulate(workload, f"slurm-backfill:interval=5,resolution=1,{files}")
    assert check_schedule(workload, schedule) == []
    starts = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
    assert starts == plain_slurm(jobs, 10, 5, limits.lets)
    assert starts != plain_slurm(jobs, 10, 5, lambda job, running: True)  # they matter
    held = schedule.decisions["limited"] > 0
    assert held.any()
    assert ((schedule.decisions["limit"] != "") == held).all()


def limited(tmp_path: Path, assoc: str, qos: str = "") -> Schedule:
    """Three jobs of two nodes and two users of an account of ten nodes, a second apart."""
    users = (("ann", "optics"), ("ann", "optics"), ("bob", "optics"))
    amounts = {"jobs": 1, "cpu": 8, "mem": 100, "node": 2, "gpu": 0}
    jobs = [PlainJob(i, i, 2, 100, 100, u, a, "normal", amounts) for i, (u, a) in enumerate(users, 1)]
    workload = trace(jobs, 10, tmp_path)
    (tmp_path / "assoc.txt").write_text("Account|User|GrpTRES|GrpJobs|MaxJobs|MaxTRES\n" + assoc)
    (tmp_path / "qos.txt").write_text(QOS + qos)
    return simulate(workload, f"slurm-backfill:assoc={tmp_path / 'assoc.txt'},qos={tmp_path / 'qos.txt'}")


@pytest.mark.parametrize(
    ("assoc", "qos", "starts", "reason"),
    [
        ("optics||node=4|||\n", "", [1, 2, 101], "AssocGrpNodeLimit"),
        ("optics||cpu=8|||\n", "", [1, 101, 201], "AssocGrpCpuLimit"),
        ("optics||mem=0.1G|||\n", "", [1, 101, 201], "AssocGrpMemLimit"),
        ("root|||1||\noptics|||||\n", "", [1, 101, 201], "AssocGrpJobsLimit"),
        ("optics||||1|\noptics|ann||||\noptics|bob||||\n", "", [1, 101, 3], "AssocMaxJobsLimit"),
        ("optics||node=4|||\n", "normal|0|node=6||||||\n", [1, 2, 3], ""),  # a QOS replaces an account's limit
        ("", "normal|0||||node=2|||\n", [1, 101, 3], "QOSMaxNodePerUserLimit"),
        ("", "normal|0||||||node=4|\n", [1, 2, 101], "MaxNodePerAccount"),
        ("", "normal|0|||||1||\n", [1, 101, 3], "QOSMaxJobsPerUserLimit"),
    ],
)
def test_a_job_over_a_limit_waits_with_its_reason(
    tmp_path: Path, assoc: str, qos: str, starts: list[int], reason: str
) -> None:
    schedule = limited(tmp_path, assoc, qos)
    assert schedule.start.tolist() == starts
    assert set(schedule.decisions["limit"].tolist()) - {""} == ({reason} if reason else set())
    held = schedule.decisions["limited_job"][schedule.decisions["limited"] > 0]
    assert set(held.tolist()) == {i for i, start in enumerate(starts, 1) if start > i}


@pytest.mark.parametrize(
    ("assoc", "qos", "words"),
    [
        ("optics|||||node=1\n", "", "job 1: asks for 2 node, and AssocMaxNodePerJobLimit of account optics is 1"),
        ("optics||node=1|||\n", "", "AssocGrpNodeLimit of optics is 1: it never starts"),
        ("", "normal|0|||cpu=4||||\n", "asks for 8 cpu, and QOSMaxCpuPerJobLimit of QOS normal is 4"),
        ("optics||gres/gpu:a100=4|||\n", "", "line 2: grptres: no replay counts 'gres/gpu:a100'"),
        ("optics||node=many|||\n", "", "line 2: grptres: 'node=many' is no limit"),
        ("optics|||few||\n", "", "line 2: grpjobs: 'few' is no number of jobs"),
        ("optics|||||\noptics|||||\n", "", "line 3: names the association optics again"),
        ("optics\n", "", "line 2: has 1 fields, the header 6"),
        ("", "normal|0|||||||\nNormal|0|||||||\n", "line 3: names the QOS 'normal' again"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(tmp_path: Path, assoc: str, qos: str, words: str) -> None:
    with pytest.raises((SpecError, TraceError)) as refused:
        limited(tmp_path, assoc, qos)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_accounts_stand_below_others_by_blanks_too(tmp_path: Path) -> None:
    (tmp_path / "assoc.txt").write_text(
        "Account|User|MaxJobs\nroot||\n root|root|\n physics||\n  optics||3\n   optics|ann|\n law||\n"
    )
    made = read_associations(str(tmp_path / "assoc.txt"))
    assert {each.account: each.parent for each in made.values() if not each.user} == {
        "root": "", "physics": "root", "optics": "physics", "law": "root",
    }  # fmt: skip
    assert made["optics", "", ""].jobs == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: the file is empty"),
        ("JobID|State\n", "line 1: has no column Account"),
        ("Cluster|Account|User\na|x|\nb|x|\n", "line 3: is of cluster 'b', those before of 'a'"),
        ("Account|User|Par Name\nx||y\n", "line 2: is below account 'y', which no line names"),
        ("Account|User|Par Name\nx||y\ny||x\n", "line 2: is below itself"),
    ],
)
def test_associations_that_cannot_be_read(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "assoc.txt").write_text(text)
    with pytest.raises(TraceError, match="assoc.txt: " + words):
        read_associations(str(tmp_path / "assoc.txt"))
    with pytest.raises(TraceError):
        read_qos(str(tmp_path / "none.txt"))


def test_users_and_groups_of_other_traces_are_numbers_and_cores_are_not_known(tmp_path: Path) -> None:
    workload = Workload.of([TracedJob(Job(i, 0, 1, 10, user=5), 10) for i in (1, 2)], Cluster(4))
    (tmp_path / "qos.txt").write_text(QOS + "normal|0|||||||\n")
    (tmp_path / "assoc.txt").write_text("Account|User|MaxJobs|GrpTRES\nroot|||\n|5|1|\n")
    assert simulate(workload, f"slurm-backfill:assoc={tmp_path / 'assoc.txt'}").start.tolist() == [0, 10]
    (tmp_path / "assoc.txt").write_text("Account|User|MaxJobs|GrpTRES\n|5||cpu=8\n")
    with pytest.raises(SpecError, match="job 1: its cpu is not known, and AssocGrpCpuLimit of 5 is 8"):
        simulate(workload, f"slurm-backfill:assoc={tmp_path / 'assoc.txt'}")
    policy = make_policy(f"slurm-backfill:qos={tmp_path / 'qos.txt'}")
    window = Window(0, Cluster(4), workload.jobs, workload.jobs.take([]), [], [4])
    with pytest.raises(SpecError, match="windows know neither accounts nor nodes"):
        policy.decide(window)


def test_an_account_that_all_jobs_of_a_log_have_is_known(tmp_path: Path) -> None:
    lines = [f"{i} 0 0 10 1 -1 -1 1 10 -1 1 5 3 -1 -1 1 -1 -1" for i in (1, 2)]
    (tmp_path / "log.swf").write_text("; MaxProcs: 4\n" + "\n".join(lines) + "\n")
    (tmp_path / "assoc.txt").write_text("Account|User|GrpJobs\nroot||\n3||1\n")
    schedule = simulate(read_swf(tmp_path / "log.swf"), f"slurm-backfill:assoc={tmp_path / 'assoc.txt'}")
    assert schedule.start.tolist() == [0, 10]
