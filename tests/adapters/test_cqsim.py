"""A policy in CQSim, against a stand-in with its interface: one event after the other, and a scan of the queue."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transom.adapters.cqsim import use_policy
from transom.errors import SpecError
from transom.generate import generate_lublin
from transom.simulation import simulate
from transom.traces import Workload


class Jobs:
    """What CQSim's job module tells of jobs, by their index."""

    def __init__(self, workload: Workload) -> None:
        self._waiting: list[int] = []
        self._running: list[int] = []
        self._known = {
            index: {"id": job.id, "submit": float(job.submit), "run": float(run), "reqProc": job.nodes}
            | {"reqTime": float(job.walltime), "start": -1, "score": 0}
            for index, (job, run) in enumerate(zip(workload.jobs, workload.runtime.tolist(), strict=True))
        }

    def job_info(self, index: int = -1) -> Any:
        return self._known if index == -1 else self._known[index]

    def wait_list(self) -> list[int]:
        return self._waiting

    def run_list(self) -> list[int]:
        return self._running


class Nodes:
    def __init__(self, count: int) -> None:
        self.total = self.free = count

    def get_tot(self) -> int:
        return self.total

    def get_avail(self) -> int:
        return self.free

    def is_available(self, asked: int) -> bool:
        return asked <= self.free


class Simulator:
    """CQSim's loop: its scan starts the jobs of the window in order, until one does not fit, and then backfills."""

    def __init__(self, workload: Workload) -> None:
        self.module: dict[str, Any] = {"job": Jobs(workload), "node": Nodes(workload.cluster.num_nodes)}
        self.event_seq: list[dict[str, Any]] = []
        self.start: dict[int, int] = {}
        for index, submit in enumerate(workload.jobs.submit.tolist()):
            self.event_seq.append({"type": 1, "time": float(submit), "prio": 2, "para": [1, index]})

    def insert_event(self, type_: int, time: float, prio: int, para: Any = None) -> None:
        event = {"type": type_, "time": time, "prio": prio, "para": para}
        later = (i for i, other in enumerate(self.event_seq) if (other["time"], other["prio"]) > (time, prio))
        self.event_seq.insert(next(later, len(self.event_seq)), event)

    def run(self) -> None:
        while self.event_seq:
            event = self.event_seq[0]
            self.now, (kind, index) = event["time"], event["para"]
            jobs = self.module["job"]
            if kind == 1:
                jobs.wait_list().append(index)
            elif kind == 2:
                jobs.run_list().remove(index)
                self.module["node"].free += jobs.job_info(index)["reqProc"]
                del jobs.job_info()[index]
            scores = self.module["alg"].get_score([jobs.job_info(each) for each in jobs.wait_list()], self.now)
            assert len(scores) == len(jobs.wait_list())
            self._scan()
            del self.event_seq[0]

    def _scan(self) -> None:
        window, jobs, node = self.module["win"], self.module["job"], self.module["node"]
        waiting = jobs.wait_list()
        number, asked = len(waiting), window.start_num()
        for place in range(number):
            if asked >= window.start_num():
                asked, size = 0, window.window_size()
                waiting = [*window.start_window(self._described(waiting[:size]), {"time": self.now}), *waiting[size:]]
            if not node.is_available(jobs.job_info(waiting[place])["reqProc"]):
                for each in self.module["backfill"].backfill(self._described(jobs.wait_list()), {"time": self.now}):
                    self._start(each)
                break
            self._start(waiting[place])
            asked += 1
        assert all(isinstance(each, int) and each >= 0 for each in jobs.job_info()), "something was left behind"

    def _described(self, indices: list[int]) -> list[dict[str, Any]]:
        infos = [(index, self.module["job"].job_info(index)) for index in indices]
        return [{"index": i, "proc": s["reqProc"], "node": s["reqProc"], "run": s["run"], "score": 0} for i, s in infos]

    def _start(self, index: int) -> None:
        jobs, stated = self.module["job"], self.module["job"].job_info(index)
        jobs.wait_list().remove(index)
        jobs.run_list().append(index)
        self.module["node"].free -= stated["reqProc"]
        assert self.module["node"].free >= 0
        stated["start"] = self.now
        self.start[stated["id"]] = int(self.now)
        self.insert_event(1, self.now + stated["run"], 1, [2, index])


@pytest.mark.parametrize(
    ("policy", "jobs"),
    [("fcfs-easy", 2000), ("saf-easy", 300), ("fcfs-conservative", 300), ("slurm-backfill:interval=300", 200)],
)
def test_starts_equal_those_of_a_replay(policy: str, jobs: int) -> None:
    workload = generate_lublin(jobs, 64, np.random.default_rng(9), load=0.9)
    simulator = Simulator(workload)
    use_policy(simulator, policy)
    simulator.run()
    schedule = simulate(workload, policy)
    assert simulator.start == dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))


def test_an_unknown_policy_is_an_error() -> None:
    workload = generate_lublin(3, 4, np.random.default_rng(9))
    with pytest.raises(SpecError, match="unknown policy"):
        use_policy(Simulator(workload), "fcfs-eazy")
