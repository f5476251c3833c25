"""What a driver does with jobs that come back, look by look, without a Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slurm.fake_slurm import NOW, FakeSlurm
from transom.errors import SlurmBusyError, SlurmError
from transom.slurm import acting, actions, drive
from transom.slurm.acting import Terms
from transom.slurm.advice import Adviser
from transom.slurm.audit import Audit, read_audit
from transom.slurm.drive import Driver
from transom.slurm.selector import Selector

WAITS = "JobId={} UserId=a(1) GroupId=a(1) JobState={} Reason={} Priority={} NumNodes=2-2 TimeLimit=00:30:00 "


class Fake(FakeSlurm):
    """With a driver that looks at it, and updates to which it answers that it is busy."""

    looker: Driver

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder, monkeypatch)
        self.busy, self.denied = "", "-"
        monkeypatch.setattr(acting, "look", lambda ask: self.state)
        monkeypatch.setattr(drive, "still", lambda start: True)
        monkeypatch.setattr(drive, "slurm_clock", lambda: NOW)
        self.looker = Driver(Adviser("fcfs"), Terms(Selector(("all",)), lease=100), self.audit)

    def run(self, *command: str) -> str:
        told = super().run(*command)
        if self.busy and self.busy in " ".join(command):
            raise SlurmBusyError("Unable to contact slurm controller")
        jobs = command[-1 if command[1] == "release" else 2].removeprefix("JobId=")
        if self.denied in jobs.split(","):
            raise SlurmError("Access/permission denied")
        return told


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    return Fake(tmp_path, monkeypatch)


def job(state: str = "PENDING", named: str = "", reason: str = "None", number: int = 1) -> str:
    told = WAITS.format(number, state, reason, 0 if reason.startswith("JobHeld") else 9)
    told += f"Partition=p SubmitTime=2026-01-01T10:00:00 ReqNodeList={named or '(null)'}"
    return told + (f" NodeList={named}" if state == "RUNNING" else "")


STARTED = ["update JobId=1", "release 1", "update JobId=1 ReqNodeList=n[0-1]"]


def test_a_requeued_job_is_no_prisoner_of_its_nodes(fake: Fake) -> None:
    assert fake.look([job(reason="JobHeldUser")], "0123") == STARTED
    assert fake.look([job("RUNNING", "n[0-1]")], "23", 1) == []
    fake.refused = True
    assert fake.look([job(named="n[0-1]", reason="BeginTime")], "123", 2) == ["update JobId=1 ReqNodeList="]
    fake.refused = False
    assert fake.look([job(named="n[0-1]", reason="BeginTime")], "123", 3) == ["update JobId=1 ReqNodeList="]
    assert fake.look([job(reason="BeginTime")], "123", 4) == []
    cleared = [line for line in read_audit(fake.audit.path) if line["kind"] == "act" and line["action"] == "clear"]
    assert [line["jobs"] for line in cleared] == [["1"], ["1"]]


def test_a_job_that_its_user_requeues_held_is_driven_again(fake: Fake) -> None:
    assert fake.look([job(reason="JobHeldUser")], "0123") == STARTED
    assert fake.look([job("RUNNING", "n[0-1]")], "23", 1) == []
    held = job(named="n[0-1]", reason="JobHeldUser")
    assert fake.look([held], "0123", 2) == ["update JobId=1 ReqNodeList="]
    assert fake.look([job(reason="JobHeldUser")], "0123", 3) == STARTED


def test_nodes_that_its_user_names_are_left_alone(fake: Fake) -> None:
    assert fake.look([job(reason="JobHeldUser")], "0123") == STARTED
    assert fake.look([job("RUNNING", "n[0-1]")], "23", 1) == []
    assert fake.look([job(named="n[2-3]")], "0123", 2) == []
    assert fake.look([job(named="n[2-3]")], "0123", 3) == []


def test_a_job_counts_from_the_decision_to_start_it(fake: Fake) -> None:
    fake.look([job(reason="JobHeldUser")], "0123")
    late = job("RUNNING", "n[0-1]") + " StartTime=2026-01-01T10:10:08 EndTime=2026-01-01T10:40:08"
    fake.look([late], "23", 9)
    assert fake.looker.look().seen.window.running_end.tolist() == [NOW + 1800]


def test_a_begin_time_of_its_users_own_is_waited_for(fake: Fake) -> None:
    tomorrow = job(reason="JobHeldUser") + " EligibleTime=2026-01-02T10:00:00"
    assert fake.look([tomorrow], "0123") == []
    assert fake.look([job(reason="JobHeldUser") + " EligibleTime=2026-01-01T10:00:00"], "0123", 1) == STARTED


def test_a_begin_time_that_hands_a_job_over_is_its_lease(fake: Fake) -> None:
    later = " EligibleTime=2026-01-01T10:20:00 Comment="
    assert fake.look([job(reason="BeginTime") + later + "(null)"], "0123") == []
    assert fake.look([job(reason="BeginTime") + later + "transomed"], "0123", 1) == []
    assert fake.look([job(reason="BeginTime") + later + "x, transom"], "0123", 2) == [STARTED[0], STARTED[2]]


def test_what_has_come_back_to_slurm_is_not_taken_again(fake: Fake) -> None:
    passed = job() + " EligibleTime=2026-01-01T10:05:00 Comment=transom"
    assert fake.look([passed], "0123") == []


def test_nothing_more_is_asked_of_a_controller_that_is_busy(fake: Fake) -> None:
    jobs = [job(reason="JobHeldUser", number=number) for number in (1, 2)]
    fake.busy = "ReqNodeList"
    with pytest.raises(SlurmBusyError):
        fake.look(jobs, "0123")
    assert fake.updates == ["update JobId=1,2", "release 1,2", STARTED[2]]
    fake.busy = ""
    leased = [job(reason="BeginTime", number=number) for number in (1, 2)]
    assert fake.look(leased, "0123", 1) == ["update JobId=2 ReqNodeList=n[2-3]"]  # the first may have been started
    unknown = [line for line in read_audit(fake.audit.path) if line["kind"] == "done" and line.get("unknown")]
    assert [line["well"] for line in unknown] == [False]


def test_an_adoption_whose_answer_was_lost_is_finished(fake: Fake) -> None:
    fake.busy = "release"
    with pytest.raises(SlurmBusyError):
        fake.look([job(reason="JobHeldUser")], "")
    fake.busy = ""
    half = job(reason="JobHeldUser") + " EligibleTime=2026-01-01T10:20:00"
    assert fake.look([half], "", 1) == STARTED[:2]
    again = Driver(Adviser("fcfs"), Terms(Selector(("all",)), lease=100), Audit(fake.audit.path))
    assert again.look().adopted == []


def test_a_job_whose_start_is_refused_again_and_again_is_left_to_slurm(fake: Fake) -> None:
    fake.look([job(reason="JobHeldUser")], "")
    fake.refused = True
    for after in (1, 2, 3):
        assert fake.look([job(reason="BeginTime")], "0123", after) == [STARTED[2]]
    fake.refused = False
    assert fake.look([job(reason="BeginTime")], "0123", 4) == [STARTED[0]]
    assert fake.look([job()], "0123", 5) == []


def test_lines_of_another_process_are_believed(fake: Fake) -> None:
    fake.look([job(reason="JobHeldUser")], "")
    actions.give_back(Audit(fake.audit.path), ["1"], NOW)
    assert fake.look([job()], "0123", 1) == []


def test_a_job_of_somebody_else_keeps_nobody_from_a_lease(fake: Fake) -> None:
    """As where an ordinary user selects all jobs."""
    fake.denied = "2"
    mine, theirs = (job(reason="JobHeldUser", number=number) for number in (1, 2))
    assert fake.look([mine, theirs], "") == ["update JobId=1,2"]
    assert fake.look([mine, theirs], "", 1) == ["update JobId=1", "release 1", "update JobId=2"]
    leased = job(reason="BeginTime")
    assert fake.look([leased, theirs], "", 2) == ["update JobId=2"]
    assert fake.look([leased, theirs], "", 3) == ["release 2", "update JobId=2"]
    assert fake.look([leased, theirs], "", 4) == []


LATER = " EligibleTime=2026-01-01T11:00:00 Comment=transom"


def test_a_job_of_somebody_else_keeps_nobody_from_being_taken(fake: Fake) -> None:
    """Slurm moves the begin times of some and refuses the others, and the whole command fails."""
    fake.denied = "2"
    both = [job(reason="BeginTime", number=number) + LATER for number in (1, 2)]
    assert fake.look(both, "") == ["update JobId=1,2"]
    assert fake.look(both, "", 1) == ["update JobId=1", "update JobId=2"]
    assert fake.look(both, "", 2) == ["update JobId=2"]
    assert fake.look(both, "", 3) == ["update JobId=2"]  # left to Slurm, which refuses that as well
    assert fake.look(both, "", 4) == []
    assert fake.look(both, "0123", 5) == [STARTED[2]]


def test_a_job_that_is_refused_by_now_keeps_nobody_from_being_renewed(fake: Fake) -> None:
    both = [job(reason="BeginTime", number=number) + LATER for number in (1, 2)]
    assert fake.look(both, "") == ["update JobId=1,2"]
    fake.denied = "2"
    assert fake.look(both, "", 60) == ["update JobId=1,2"]
    assert fake.look(both, "", 61) == ["update JobId=1", "update JobId=2"]
    assert fake.look(both, "", 62) == ["update JobId=2"]
    assert fake.look(both, "", 63) == ["update JobId=2"]
    assert fake.look(both, "", 64) == []
    assert fake.look(both, "", 120) == ["update JobId=1"]


def test_a_requeued_job_is_freed_past_a_look_that_misses_it_and_by_another_run(fake: Fake) -> None:
    later = " EligibleTime=2026-01-01T10:15:00 Comment=transom"
    for _ in range(2):
        assert fake.look([job(reason="JobHeldUser")], "0123") == STARTED
        assert fake.look([job("RUNNING", "n[0-1]")], "23", 1) == []
        assert fake.look([], "0123", 2) == []
        fake.looker = Driver(Adviser("fcfs"), Terms(Selector(("all",)), lease=100), Audit(fake.audit.path))
        assert fake.look([job(named="n[0-1]", reason="BeginTime") + later], "123", 3) == ["update JobId=1 ReqNodeList="]
        # Slurm fails a batch job that begins before the time that it has after a requeue: nobody takes it.
        assert fake.look([job(reason="BeginTime") + later], "0123", 4) == []


def test_a_job_that_was_requeued_before_it_was_seen_to_run_is_freed_at_once(fake: Fake) -> None:
    assert fake.look([job(reason="JobHeldUser")], "0123") == STARTED
    again = job(named="n[0-1]", reason="BeginTime") + LATER
    assert fake.look([again], "0123", 1) == ["update JobId=1 ReqNodeList="]
    assert [line for line in read_audit(fake.audit.path) if line["kind"] == "followed"] == []
    fake.looker = Driver(Adviser("fcfs"), Terms(Selector(("all",)), lease=100), Audit(fake.audit.path))
    assert fake.look([job(reason="BeginTime") + LATER], "0123", 2) == []


def test_a_job_that_its_user_holds_before_it_runs_names_no_nodes_any_more(fake: Fake) -> None:
    assert fake.look([job(reason="JobHeldUser")], "0123") == STARTED
    assert fake.look([job(named="n[0-1]", reason="JobHeldUser")], "0123", 1) == ["update JobId=1 ReqNodeList="]
    assert fake.look([job(reason="JobHeldUser")], "0123", 2) == []


def test_holds_of_other_users_hand_nothing_over(fake: Fake) -> None:
    fake.looker = Driver(Adviser("fcfs"), Terms(Selector(("all",)), lease=100, user=2), fake.audit)
    assert fake.look([job(reason="JobHeldUser") + " Comment=transom"], "0123") == []
    fake.looker = Driver(Adviser("fcfs"), Terms(Selector(("all",)), lease=100, user=1), fake.audit)
    assert fake.look([job(reason="JobHeldUser")], "0123", 1) == STARTED
