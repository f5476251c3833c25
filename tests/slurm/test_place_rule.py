"""When nodes are named, named anew and taken back, look by look, without a Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slurm.fake_slurm import FakeSlurm
from transom.slurm import acting, place
from transom.slurm.acting import Terms
from transom.slurm.advice import Adviser
from transom.slurm.audit import read_audit
from transom.slurm.place import Namer
from transom.slurm.selector import Selector

WAITS = "JobId={} UserId={}(1) GroupId=a(1) JobState=PENDING Priority={} NumNodes={}-{} TimeLimit=00:30:00 "
LEASE = 100


class Fake(FakeSlurm):
    """With a namer that looks at it."""

    looker: Namer

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *select: str, **terms: int) -> None:
        super().__init__(folder, monkeypatch, told_from=2)
        self.stale = False
        monkeypatch.setattr(acting, "look", lambda ask: self.state)
        monkeypatch.setattr(place, "still", lambda start, named: not self.stale)
        self.terms = Terms(Selector(select or ("all",)), lease=LEASE, **terms)
        self.looker = self.anew()

    def anew(self) -> Namer:
        return Namer(Adviser("fcfs"), self.terms, self.audit)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    return Fake(tmp_path, monkeypatch)


def job(number: int, nodes: int, named: str = "", user: str = "a", state: str = "", priority: int = 9) -> str:
    text = WAITS.format(number, user, priority, nodes, nodes) + "Partition=p SubmitTime=2026-01-01T10:00:00"
    text = text.replace("JobState=PENDING", f"JobState={state}") if state else text
    return f"{text} ReqNodeList={named or '(null)'}" + (f" NodeList={named}" if state else "")


def test_a_job_that_should_start_now_gets_its_nodes_once(fake: Fake) -> None:
    assert fake.look([job(1, 2), job(2, 3)], "0123") == ["JobId=1 ReqNodeList=n[0-1]"]
    assert fake.look([job(1, 2, "n[0-1]"), job(2, 3)], "0123", 1) == []
    assert fake.look([job(1, 2, "n[0-1]", state="RUNNING"), job(2, 3)], "23", 2) == []
    assert fake.look([job(2, 3)], "0123", 3) == ["JobId=2 ReqNodeList=n[0-2]"]
    followed = [line for line in read_audit(fake.audit.path) if line["kind"] == "followed"]
    assert [(line["job"], line["same"]) for line in followed] == [("1", True)]


def test_names_outlive_looks_that_miss_the_job_or_find_it_impossible(fake: Fake) -> None:
    assert fake.look([job(1, 2)], "0123") == ["JobId=1 ReqNodeList=n[0-1]"]
    # Slurm may be starting it: the nodes are in use already, or the job is not listed at all.
    assert fake.look([job(1, 2, "n[0-1]")], "", 1) == []
    assert fake.look([], "", 2) == []
    assert fake.look([job(1, 2, "n[0-1]")], "3", LEASE) == []
    # It was wanted last at the beginning: one lease, and not a second more.
    assert fake.look([job(1, 2, "n[0-1]")], "3", LEASE + 1) == ["JobId=1 ReqNodeList="]
    assert fake.audit.catch_up().placed == {}
    assert fake.look([job(1, 2)], "3", LEASE + 2) == []


def test_a_look_that_wants_the_names_again_makes_them_last(fake: Fake) -> None:
    assert fake.look([job(1, 2)], "0123") == ["JobId=1 ReqNodeList=n[0-1]"]
    # Slurm has not started it for a minute: decided anew, and the same.
    assert fake.look([job(1, 2, "n[0-1]")], "0123", 70) == []
    assert fake.look([job(1, 2, "n[0-1]")], "", LEASE + 1) == []
    assert fake.look([job(1, 2, "n[0-1]")], "", LEASE + 71) == ["JobId=1 ReqNodeList="]


def test_nodes_that_were_lost_are_replaced_in_one_command(fake: Fake) -> None:
    assert fake.look([job(1, 2)], "0123") == ["JobId=1 ReqNodeList=n[0-1]"]
    fake.stale = True
    assert fake.look([job(1, 2, "n[0-1]")], "123", 1) == []
    fake.stale = False
    assert fake.look([job(1, 2, "n[0-1]")], "123", 2) == ["JobId=1 ReqNodeList=n[1-2]"]
    assert fake.look([job(1, 2, "n[1-2]")], "123", 3) == []


def test_nobody_elses_names_and_jobs_are_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake(tmp_path, monkeypatch, "user=a", longest_wait=1000)
    # The first job is not selected: it gets its nodes in the plan, and no names.
    assert fake.look([job(1, 2, user="b"), job(2, 1), job(3, 1, "n3")], "0123") == ["JobId=2 ReqNodeList=n2"]
    # Its user has chosen others, or none.
    assert fake.look([job(2, 1, "n0")], "0123", 1) == []
    assert fake.look([job(2, 1)], "0123", LEASE + 9) == []
    assert fake.audit.catch_up().left == {"2"}
    # One that is held is not named, nor one that has waited for too long.
    assert fake.look([job(4, 1)], "01", 2) == ["JobId=4 ReqNodeList=n0"]
    assert fake.look([job(4, 1, "n0", priority=0)], "01", 3) == ["JobId=4 ReqNodeList="]
    assert fake.look([job(5, 1)], "01", 1001) == []


def test_a_lost_answer_leaves_both_open_and_a_requeued_job_is_no_prisoner(fake: Fake) -> None:
    fake.refused = True
    assert fake.look([job(1, 2)], "0123") == ["JobId=1 ReqNodeList=n[0-1]"]
    fake.refused = False
    assert fake.look([job(1, 2, "n[0-1]")], "0123", 1) == []  # it was carried out after all
    assert fake.look([job(1, 2, "n[0-1]", state="RUNNING")], "23", 2) == []
    assert fake.look([job(1, 2, "n[0-1]")], "123", 3) == ["JobId=1 ReqNodeList=n[1-2]"]
    # A new run knows of it by the log.
    fake.looker = fake.anew()
    assert fake.look([job(1, 2, "n[1-2]")], "", 4) == []
    assert fake.look([job(1, 2, "n[1-2]")], "", 5 + LEASE) == ["JobId=1 ReqNodeList="]


def test_a_job_that_slurm_started_before_it_had_names_is_where_slurm_chose(fake: Fake) -> None:
    fake.refused = True  # Slurm starts it between our look and our command
    assert fake.look([job(1, 2)], "0123") == ["JobId=1 ReqNodeList=n[0-1]"]
    running = job(1, 2, state="RUNNING").replace("NodeList=(null) NodeList=", "NodeList=(null) NodeList=n[2-3]")
    assert fake.look([running], "01", 1) == []
    (followed,) = [line for line in read_audit(fake.audit.path) if line["kind"] == "followed"]
    assert (followed["asked"], followed["nodes"], followed["same"]) == ("", "n[2-3]", True)


def test_only_so_many_are_named_in_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake(tmp_path, monkeypatch, per_minute=2)
    assert len(fake.look([job(i, 1) for i in (1, 2, 3)], "0123")) == 2
    assert fake.look([job(1, 1, "n0"), job(2, 1, "n1"), job(3, 1)], "0123", 1) == []


def test_names_are_taken_back_where_slurm_would_start_a_job_later_than_it_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Fake(tmp_path, monkeypatch, no_later=60)
    assert fake.look([job(1, 2) + " StartTime=2026-01-01T10:20:00"], "0123") == ["JobId=1 ReqNodeList=n[0-1]"]
    named = job(1, 2, "n[0-1]") + " StartTime=2026-01-01T10:"
    assert fake.look([named + "21:00"], "", 1) == []
    assert fake.look([named + "21:01"], "", 2) == ["JobId=1 ReqNodeList="]
    assert fake.look([job(1, 2) + " StartTime=2026-01-01T10:20:00"], "23", 3) == []
