"""The decision component of Batsim, against a stand-in that follows the written protocol."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.adapters.batsim_stand_in import StandIn
from transom.adapters.batsim import DecisionComponent
from transom.errors import PeerError
from transom.generate import generate_lublin
from transom.models import Cluster, Job
from transom.simulation import simulate
from transom.traces import TracedJob, Workload

TRANSCRIPTS = Path(__file__).parent / "transcripts"
BEGIN = {"timestamp": 0, "type": "SIMULATION_BEGINS", "data": {"nb_compute_resources": 4}}


@pytest.fixture(scope="module")
def workload() -> Workload:
    return generate_lublin(2000, 128, np.random.default_rng(3), load=0.9)


def tiny(*rows: tuple[int, int, int, int]) -> Workload:
    """Jobs of (submission, nodes, walltime, runtime) on four nodes."""
    jobs = [TracedJob(Job(i, submit, nodes, wall), run) for i, (submit, nodes, wall, run) in enumerate(rows, 1)]
    return Workload.of(jobs, Cluster(4), "tiny")


@pytest.mark.parametrize(
    ("policy", "version", "greeting"),
    [
        ("fcfs-easy", 4, ""),
        ("fcfs-easy", 5, "new"),
        ("saf-easy", 5, "old"),
        ("fcfs-conservative", 4, ""),
        ("slurm-backfill:interval=1200", 4, ""),
    ],
)
def test_starts_equal_those_of_a_replay(workload: Workload, policy: str, version: int, greeting: str) -> None:
    started = StandIn(workload, version, greeting).play(DecisionComponent(policy).answer)
    schedule = simulate(workload, policy)
    assert started == dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))


@pytest.mark.parametrize(
    "policy", ["fcfs", "wfp3-conservative", "fcfs-conservative:depth=3", "wfp3-easy:max_wait=1h", "nwp:period=600"]
)
def test_starts_equal_those_of_a_replay_under_other_policies(policy: str) -> None:
    small = generate_lublin(200, 32, np.random.default_rng(6), load=1.1)
    schedule = simulate(small, policy)
    started = StandIn(small, 5).play(DecisionComponent(policy).answer)
    assert started == dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))


def test_a_policy_draws_as_in_a_replay() -> None:
    small = generate_lublin(60, 16, np.random.default_rng(5), load=1.2)
    policy = "window:solver=sa,size=8"
    started = StandIn(small).play(DecisionComponent(policy, seed=4).answer)
    schedule = simulate(small, policy, seed=4)
    assert started == dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))


def test_hosts_have_the_ids_of_batsim() -> None:
    played = StandIn(tiny((0, 3, 10, 5), (0, 1, 10, 10)), first_host=7)
    assert played.play(DecisionComponent("fcfs").answer) == {1: 0, 2: 0}
    first = json.loads(played.transcript[1][1])["events"]
    assert [event["data"].get("alloc") for event in first] == ["7-9", "10"]


def test_jobs_that_can_never_run_are_rejected() -> None:
    component = DecisionComponent("fcfs-easy")
    begun(component)
    asked = [("w0!1", 5), ("w0!2", 0), ("w0!3", 4)]
    events = [submitted(name, nodes) for name, nodes in asked]
    said = answered(component, 0, *events)
    assert [(each["type"], each["data"]["job_id"]) for each in said] == [
        ("REJECT_JOB", "w0!1"),
        ("REJECT_JOB", "w0!2"),
        ("EXECUTE_JOB", "w0!3"),
    ]
    assert component.counts == {"submitted": 3, "started": 1, "ended": 0, "rejected": 2}


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("policy", ["fcfs-easy", "fcfs-conservative", "slurm-backfill"])
def test_nothing_starts_on_machines_that_are_away(version: int, policy: str) -> None:
    # Two of four go at 5 and come back at 40: the second job, of three, has to wait for them, the third does not.
    played = StandIn(tiny((0, 2, 10, 10), (6, 3, 10, 10), (7, 2, 10, 10)), version)
    played.outages = [(5.0, "0 2-2 99", False), (40.0, "0 2", True)]
    assert played.play(DecisionComponent(policy).answer)[2] == 40
    assert played.start["w0!3"] < 40
    held = [
        events
        for _, answer in played.transcript[1:]
        for events in json.loads(answer[4 * (answer[:1] != b"{") :])["events"]
    ]
    assert any("w0!3" in str(each) and "1 3" in str(each) for each in held)


def test_jobs_without_a_limit_run_at_most_a_year() -> None:
    component = DecisionComponent("fcfs-easy")
    begun(component)
    unlimited = submitted("w0!1", 3)
    del unlimited["data"]["job"]["walltime"]
    said = answered(component, 0.25, unlimited, submitted("w0!2", 4), submitted("w0!3", 1, 10**12))
    assert [each["data"]["job_id"] for each in said] == ["w0!1"], "the last one would delay the second"


def test_resource_states_and_what_is_not_known_are_counted() -> None:
    component = DecisionComponent("fcfs")
    begun(component)
    answered(
        component, 1, {"timestamp": 1, "type": "RESOURCE_STATE_CHANGED", "data": {"resources": "0-2", "state": "42"}}
    )
    answered(component, 2, {"timestamp": 2, "type": "NOTIFY", "data": {"type": "of_mine", "some_field": 1}})
    answered(
        component,
        2,
        {"timestamp": 2, "type": "RESOURCE_STATE_CHANGED", "data": {"resources": "0-2", "state": "sleeping"}},
    )
    assert answered(component, 3, submitted("w0!a", 2)) == []
    back = {"timestamp": 4, "type": "RESOURCE_STATE_CHANGED", "data": {"resources": "0", "state": "idle"}}
    assert [each["data"]["alloc"] for each in answered(component, 4, back)] == ["0 3"]
    assert component.ignored == {"RESOURCE_STATE_CHANGED": 1, "NOTIFY of_mine": 1}


def test_a_waiting_time_is_estimated_by_limits() -> None:
    component = DecisionComponent("fcfs-easy")
    begun(component)
    answered(component, 0, submitted("w0!1", 4, 10))
    asked = {"estimate_waiting_time": {"job_id": "w!potential", "job": {"res": 1, "walltime": 12.0}}}
    (said,) = answered(component, 3, {"timestamp": 3, "type": "QUERY", "data": {"requests": asked}})
    assert said["type"] == "ANSWER"
    assert said["data"] == {"estimate_waiting_time": {"job_id": "w!potential", "estimated_waiting_time": 7}}


@pytest.mark.parametrize("name", ["batsim_4", "batsim_5_new", "batsim_5_old"])
def test_recorded_transcripts_are_answered_alike(name: str) -> None:
    component = DecisionComponent("fcfs-conservative")
    lines = [json.loads(line) for line in (TRANSCRIPTS / f"{name}.jsonl").read_text().splitlines()]
    assert len(lines) > 5
    for line in lines:
        answer = component.answer(line["batsim"].encode("latin-1"))
        assert answer == line["answer"].encode("latin-1")
    assert component.over


def begun(component: DecisionComponent, data: dict[str, object] | None = None) -> None:
    event = BEGIN | ({} if data is None else {"data": data})
    assert answered(component, 0, event) == []


def answered(component: DecisionComponent, now: float, *events: object) -> list[dict[str, dict[str, object]]]:
    return list(json.loads(component.answer(json.dumps({"now": now, "events": events}).encode()))["events"])


def submitted(name: str, nodes: object, walltime: object = 100) -> dict[str, dict[str, dict[str, object]]]:
    job = {"profile": "p", "res": nodes, "id": name, "walltime": walltime}
    return {"timestamp": 0, "type": "JOB_SUBMITTED", "data": {"job_id": name, "job": job}}  # type: ignore[dict-item]


def at_5(kind: str, **data: object) -> bytes:
    return json.dumps({"now": 5, "events": [{"timestamp": 5, "type": kind, "data": data}]}).encode()


def begins(**data: object) -> bytes:
    return json.dumps({"now": 0, "events": [BEGIN | {"data": data}]}).encode()


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (b'{"now": 5, "events": [{"timest', "not a message"),
        (b"", "not a message"),
        (b"\xff\xfe\x00", "not a message"),
        (b"[" * 100_000, "not a message"),
        (b'{"now": NaN, "events": []}', "not a message"),
        (b'{"now": 1e400, "events": []}', "not a message|not in order"),
        (b'{"now": "five", "events": []}', "Expected `float`"),
        (b'{"now": 5}', "missing required field `events`"),
        (b'{"events": []}', "not in order"),
        (b'{"now": 5, "events": [7]}', "Expected `object`"),
        (b'{"now": 1, "events": []}', "time goes back from 4.0 s to 1.0 s"),
        (b'{"now": -1, "events": []}', "not in order"),
        (at_5("JOB_COMPLETED", job_id="w0!1").replace(b'"now": 5', b'"now": 4.5'), "not in order"),
        (at_5("JOB_COMPLETED", job_id="w0!0"), "job 'w0!0' ends, and does not run"),
        (at_5("JOB_COMPLETED"), "ends, and does not run"),
        (at_5("JOB_SUBMITTED", job_id="w0!1", job={"res": 1}), "submitted twice"),
        (at_5("JOB_SUBMITTED", job_id="w0!2"), "without Redis"),
        (at_5("JOB_SUBMITTED", job_id="w0!2", job={"res": "four"}), "Expected `int`"),
        (at_5("JOB_SUBMITTED", job_id="w0!2", job={"res": 1, "walltime": "long"}), "Expected `float | null`"),
        (at_5("NOTIFY", type="event_machine_unavailable", resources="0-99999999999"), "no set of intervals"),
        (at_5("SIMULATION_BEGINS", nb_resources=4), "begins twice"),
        (at_5("QUERY", requests={"estimate_waiting_time": 5}), "Expected `object`"),
        (at_5("BatsimHelloEvent"), "is not of version 4"),
    ],
)
def test_what_breaks_the_protocol_is_one_line(message: bytes, complaint: str) -> None:
    component = DecisionComponent("fcfs-easy")
    begun(component)
    answered(component, 4, submitted("w0!1", 1))
    with pytest.raises(PeerError, match=re.escape(complaint).replace(r"\|not", "|not")) as error:
        component.answer(message)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


def test_a_job_does_not_end_twice() -> None:
    component = DecisionComponent("fcfs-easy")
    begun(component)
    answered(component, 4, submitted("w0!1", 1))
    component.answer(at_5("JOB_COMPLETED", job_id="w0!1", job_state="COMPLETED_WALLTIME_REACHED"))
    with pytest.raises(PeerError, match="job 'w0!1' ends, and does not run"):
        component.answer(at_5("JOB_COMPLETED", job_id="w0!1"))


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (at_5("JOB_COMPLETED", job_id="w0!1"), "comes before the simulation begins"),
        (begins(nb_compute_resources=10**18), "a platform of"),
        (begins(nb_compute_resources=-1), "a platform of"),
        (begins(), "a platform of no or too many hosts"),
        (begins(compute_resources=[{"id": 1}, {"id": 1}]), "2 hosts, 1 of them different"),
        ((1).to_bytes(4, "little") + bytes(4), "binary form"),
    ],
)
def test_a_bad_beginning_is_one_line(message: bytes, complaint: str) -> None:
    with pytest.raises(PeerError, match=complaint):
        DecisionComponent("fcfs-easy").answer(message)
