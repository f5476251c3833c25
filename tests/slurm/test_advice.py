"""Advice over the window of a Slurm: the decision of a replay, on nodes by name, beside Slurm's own plan; its log."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, transom
from tests.slurm.cluster import EmulatedSlurm
from transom.simulation import make_policy
from transom.slurm.advice import Adviser
from transom.slurm.state import SlurmState, read_answers
from transom.slurm.window import window_of
from transom.traces.records.hostlist import compressed, hosts

__all__ = ["transom"]

JOB = "JobId={} UserId=a(1) GroupId=a(1) JobState=PENDING Priority=9 NumNodes={}-{} TimeLimit={} Partition=p\n"
RUNS = "JobId={} UserId=a(1) GroupId=a(1) JobState=RUNNING Priority=9 NumNodes={} TimeLimit={} Partition=p NodeList={} "


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Six nodes, two of which run a job for 20 more minutes; jobs of 5, 2, 2 and 1 nodes wait. n5 is reserved soon."""
    text = RUNS.format(1, 2, "00:30:00", "n[0-1]")
    text += "SubmitTime=2026-01-01T10:00:00 StartTime=2026-01-01T10:00:00 EndTime=2026-01-01T10:30:00\n"
    for job, nodes, limit in ((2, 5, "01:00:00"), (3, 2, "00:15:00"), (4, 2, "02:00:00"), (5, 1, "00:10:00")):
        text += JOB.format(job, nodes, nodes, limit)
    for i in range(6):
        text += f"NodeName=n{i} State={'ALLOCATED' if i < 2 else 'IDLE'} CPUTot=4 CPUAlloc={4 * (i < 2)} Partitions=p\n"
    text += "SwitchName=s0 Nodes=n[0,2,4]\nSwitchName=s1 Nodes=n[1,3,5]\nSwitchName=top Switches=s[0-1]\n"
    (tmp_path / "answers.txt").write_text(text)
    return tmp_path / "answers.txt"


def state_of(answers: Path) -> SlurmState:
    return read_answers([answers], 1767262200)  # ten minutes after ten


def test_it_is_the_decision_of_the_policy(answers: Path) -> None:
    for spec in ("fcfs", "fcfs-easy", "sjf-easy", "fcfs-conservative", "window:solver=dp,size=4"):
        adviser = Adviser(spec)
        seen = window_of(state_of(answers), order=adviser.order)
        advice = adviser.advise(seen)
        decision = make_policy(spec).decide(seen.window)
        assert [start.job.id for start in advice.starts] == [*decision.start, *decision.backfill]
        assert [(job.id, at) for job, at in advice.reserve] == [(r.job, r.start) for r in decision.reserve]
        taken = [name for start in advice.starts for name in start.nodes]
        assert len(taken) == len(set(taken)) == sum(start.job.nodes for start in advice.starts)
        assert set(taken) <= {"n2", "n3", "n4", "n5"}


def test_jobs_that_meet_a_reservation_stay_off_its_nodes(answers: Path) -> None:
    with answers.open("a") as file:
        file.write("ReservationName=r StartTime=2026-01-01T10:30:00 EndTime=2026-01-01T11:00:00 Nodes=n[2-3]\n")
    adviser = Adviser("sjf")
    seen = window_of(state_of(answers), order="sjf")
    starts = {start.job.id: set(start.nodes) for start in adviser.advise(seen).starts}
    # The jobs of 10 and 15 minutes end before it; that of an hour takes more than the two nodes beside it.
    assert starts.keys() == {5, 3}
    only = window_of(state_of(answers), order="fcfs", only=lambda job: job.id == 4)
    assert {name for start in Adviser("fcfs").advise(only).starts for name in start.nodes} == {"n4", "n5"}


def test_nodes_come_from_the_solver(answers: Path, transom: Callable[..., Ran]) -> None:
    # By ids the pair would lie below both switches: 2, 4 are below one, 3, 5 below the other.
    ran = transom("slurm", "advise", answers, "--policy", "fcfs-easy", "--allocate", "dcas-exact", "--json")
    (told,) = ran.lines
    pairs = [set(start["nodes"]) for start in told["start"] if len(start["nodes"]) == 2]
    assert pairs
    assert all(pair in ({"n2", "n4"}, {"n3", "n5"}) for pair in pairs)
    assert told["reserve"][0]["job"] == "2"
    without = answers.parent / "flat.txt"
    without.write_text("".join(line for line in answers.open() if not line.startswith("SwitchName")))
    refused = transom("slurm", "advise", without, "--allocate", "dcas-exact")
    assert (refused.status, "topology.conf" in refused.err) == (2, True)


def test_the_log_holds_what_is_new_and_is_scored(answers: Path, transom: Callable[..., Ran], tmp_path: Path) -> None:
    log = tmp_path / "advice.parquet"
    for _ in range(2):
        assert transom("slurm", "advise", answers, "--now", "2026-01-01T10:10:00", "--log", log).status == 0
    job = (
        "JobId={0} UserId=a(1) GroupId=a(1) JobState=COMPLETED NumNodes={1} TimeLimit=00:15:00 Partition=p NodeList=n2 "
    )
    times = "SubmitTime=2026-01-01T10:00:00 StartTime=2026-01-01T10:{0}:00 EndTime=2026-01-01T10:50:00\n"
    records = tmp_path / "records.txt"
    records.write_text(job.format(3, 2) + times.format(14) + job.format(5, 1) + times.format("09"))
    (told,) = transom("slurm", "score", log, records, "--json").lines
    assert (told["policy"], told["advised"], told["started"]) == ("fcfs-easy", 2, 2)
    assert (told["earlier"], told["later"], told["delay_median"]) == (1, 1, 90.0)
    assert transom("slurm", "score", log, records).status == 0
    assert transom("slurm", "score", answers, records).status == 2
    records.write_text(records.read_text().replace("T10:", "T11:"))  # the same, as read from a clock in Berlin
    assert transom("slurm", "score", log, records, "--timezone", "Europe/Berlin", "--json").lines == [told]
    assert transom("slurm", "score", log, "--timezone", "Europe/Berlin").status == 2
    assert "Nowhere" in transom("slurm", "score", log, records, "--timezone", "Nowhere").err


@pytest.mark.parametrize(
    "names", [["n01", "n02", "n03", "n10"], ["a1", "a02", "b"], ["x9", "x10"], ["gpu-7", "gpu-8", "r1n1", "r1n3"]]
)
def test_lists_of_hosts_are_read_again(names: list[str]) -> None:
    assert sorted(hosts(compressed(names))) == sorted(names)


def test_what_slurm_starts_next_is_what_it_is_reported_beside_the_advice(
    emulated_slurm: Callable[..., EmulatedSlurm], transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = emulated_slurm(nodes=4, leaf=2)
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, slurm.environment[name])
    first = slurm.submit("sleep 1000", "-N", "3", "-t", "30")
    slurm.wait(lambda: slurm.states()[first] == "RUNNING", "the job runs")
    second = slurm.submit("sleep 1000", "-N", "4", "-t", "10")
    third = slurm.submit("sleep 1000", "-N", "1", "-t", "5", "-H")
    slurm.wait(lambda: "N/A" not in slurm.run("squeue", "-h", "-j", str(second), "-o", "%S"), "Slurm has a plan")
    (told,) = transom("slurm", "advise", "--json", "--held", "--watch", "0.2", "--rounds", "1").lines
    assert [start["job"] for start in told["start"]] == [str(third)]
    assert told["start"][0]["nodes"] == slurm.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split()
    (reserved,) = told["reserve"]
    assert reserved["job"] == str(second)
    assert abs(reserved["at"] - reserved["slurm_start"]) <= 60
    assert json.dumps(told["remarks"]) == "[]"
    assert slurm.states()[third] == "PENDING"
