"""A small Batsim: it plays a workload of delays by the written protocol of version 4 or 5, and checks every answer."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable
from typing import Any

from transom.traces import Workload

Ask = Callable[[bytes], bytes]


class StandIn:
    """A simulation; ``greeting``, for version 5: in the ``new`` one the decision component says hello at once."""

    def __init__(self, workload: Workload, version: int = 4, greeting: str = "new", first_host: int = 0) -> None:
        self.workload, self.version, self.greeting, self.first_host = workload, version, greeting, first_host
        self.now = 0.0
        self.start: dict[str, float] = {}
        self.rejected: list[str] = []
        self.transcript: list[tuple[bytes, bytes]] = []
        self.outages: list[tuple[float, str, bool]] = []
        self._idle = set(range(first_host, first_host + workload.cluster.num_nodes))
        self._held: dict[str, set[int]] = {}
        self._ends: list[tuple[float, int, str]] = []
        self._calls: list[float] = []
        self._events: list[dict[str, Any]] = []

    def play(self, ask: Ask) -> dict[int, int]:
        """The start of each job by its id."""
        self._ask = ask
        if self.version == 5:
            self._greet()
        self._happens(*self._beginning())
        names = [f"w0!{job}" for job in self.workload.jobs.id.tolist()]
        self._runtime = dict(zip(names, self.workload.runtime.tolist(), strict=True))
        self._size = dict(zip(names, self.workload.jobs.nodes.tolist(), strict=True))
        coming = list(zip(self.workload.jobs.submit.tolist(), names, self.workload.jobs, strict=True))
        outages = list(self.outages)
        place, told = 0, False
        self._send()
        while place < len(coming) or self._ends or len(self.start) + len(self.rejected) < len(names):
            times = [each[0][0] for each in (coming[place : place + 1], self._ends, outages) if each] + self._calls[:1]
            self.now = float(min(times))
            while self._ends and self._ends[0][0] == self.now:
                self._complete(heapq.heappop(self._ends)[2])
            while place < len(coming) and coming[place][0] == self.now:
                self._submit(*coming[place][1:])
                place += 1
            if place == len(coming) and not told:
                told = True
                self._happens(
                    "NOTIFY", {"type": "no_more_static_job_to_submit"}
                ) if self.version == 4 else self._happens("AllStaticJobsHaveBeenSubmittedEvent", {})
            while outages and outages[0][0] == self.now:
                self._outage(*outages.pop(0)[1:])
            while self._calls and self._calls[0] == self.now:
                self._called(heapq.heappop(self._calls))
            self._send()
        self._happens("SIMULATION_ENDS" if self.version == 4 else "SimulationEndsEvent", {})
        assert self._send() == []
        return {int(name.rpartition("!")[2]): int(at) for name, at in self.start.items()}

    def _greet(self) -> None:
        text = b"a string of the user"
        if self.greeting == "new":
            flags, hello = (answer := self._exchange(len(text).to_bytes(4, "little") + text))[:4], answer[4:]
            assert int.from_bytes(flags, "little") == 2
            (event,) = json.loads(hello)["events"]
        else:
            assert self._exchange((2).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text) == b""
            versions = {"batprotocol_version": "1.2.3", "batsim_version": "5", "batsim_commit": "abc"}
            self._happens("BatsimHelloEvent", versions)
            (event,) = self._send()
            assert event["event"]["batprotocol_version"] == "1.2.3"
        assert event["event_type"] == "EDCHelloEvent"
        assert event["event"]["decision_component_commit"] == ""
        assert not any(event["event"]["requested_simulation_features"].values())

    def _beginning(self) -> tuple[str, dict[str, Any]]:
        hosts = sorted(self._idle)
        if self.version == 5:
            listed = [{"id": host, "name": f"host{host}", "state": "IDLE", "core_count": 1} for host in hosts]
            return "SimulationBeginsEvent", {"computation_host_number": len(hosts), "computation_hosts": listed}
        config = {"redis-enabled": False, "redis-hostname": "127.0.0.1", "redis-port": 6379, "redis-prefix": "default"}
        config |= {"profiles-forwarded-on-submission": True, "dynamic-jobs-enabled": True, "sched-config": ""}
        config |= {"dynamic-jobs-acknowledged": True, "profile-reuse-enabled": False, "forward-unknown-events": False}
        listed = [{"id": host, "name": f"host{host}", "state": "idle", "properties": {}} for host in hosts]
        return "SIMULATION_BEGINS", {
            "nb_resources": len(hosts) + 1,
            "nb_compute_resources": len(hosts),
            "nb_storage_resources": 1,
            "allow_compute_sharing": False,
            "allow_storage_sharing": True,
            "config": config,
            "compute_resources": [each | {"zone_properties": {}} for each in listed],
            "storage_resources": [{"id": hosts[-1] + 1, "name": "pfs", "state": "idle", "properties": {}}],
            "workloads": {"w0": "/tmp/workload.json"},
            "profiles": {"w0": {"delay": {"type": "delay", "delay": 20.2}}},
        }

    def _submit(self, name: str, job: Any) -> None:
        runtime = self._runtime[name]
        if self.version == 5:
            described = {"resource_request": job.nodes, "walltime": float(job.walltime), "profile_id": "w0!p"}
            self._happens("JobSubmittedEvent", {"job_id": name, "job": described, "submission_time": self.now})
            return
        described = {"profile": "p", "res": job.nodes, "id": name, "walltime": job.walltime, "subtime": job.submit}
        profile = {"type": "delay", "delay": runtime}
        self._happens("JOB_SUBMITTED", {"job_id": name, "job": described, "profile": profile})

    def _complete(self, name: str) -> None:
        hosts = self._held.pop(name)
        self._idle |= hosts
        if self.version == 5:
            self._happens("JobCompletedEvent", {"job_id": name, "state": "COMPLETED_SUCCESSFULLY", "return_code": 0})
            return
        alloc = " ".join(map(str, sorted(hosts)))
        details = {"job_id": name, "job_state": "COMPLETED_SUCCESSFULLY", "return_code": 0, "alloc": alloc}
        self._happens("JOB_COMPLETED", details)

    def _outage(self, hosts: str, up: bool) -> None:
        word = "available" if up else "unavailable"
        if self.version == 4:
            self._happens("NOTIFY", {"type": f"event_machine_{word}", "resources": hosts})
            return
        stated = {"data": json.dumps({"type": f"machine_{word}", "resources": hosts})}
        details = {"id": "e0", "external_event_type": "GenericExternalEvent", "external_event": stated}
        self._happens("ExternalEventOccurredEvent", details)

    def _called(self, time: float) -> None:
        details = {"call_me_later_id": str(int(time)), "last_periodic_call": True} if self.version == 5 else {}
        self._happens("RequestedCallEvent" if self.version == 5 else "REQUESTED_CALL", details)

    def _happens(self, kind: str, details: dict[str, Any]) -> None:
        type_, body = ("type", "data") if self.version == 4 else ("event_type", "event")
        self._events.append({"timestamp": self.now, type_: kind, body: details})

    def _exchange(self, message: bytes) -> bytes:
        answer = self._ask(message)
        self.transcript.append((message, answer))
        return answer

    def _send(self) -> list[dict[str, Any]]:
        if not self._events:
            return []
        message = json.dumps({"now": self.now, "events": self._events}).encode()
        self._events = []
        heard = json.loads(self._exchange(message + b"\0" if self.version == 5 else message))
        assert heard["now"] >= self.now
        for event in heard["events"]:
            assert self.now <= event["timestamp"] <= heard["now"]
            self._obey(
                *((event["type"], event["data"]) if self.version == 4 else (event["event_type"], event["event"]))
            )
        return list(heard["events"])

    def _obey(self, kind: str, details: dict[str, Any]) -> None:
        if kind in ("EXECUTE_JOB", "ExecuteJobEvent"):
            name = details["job_id"]
            alloc = details["alloc"] if self.version == 4 else details["allocation"]["host_allocation"]
            hosts: set[int] = set()
            for part in alloc.split(" "):
                low, _, high = part.partition("-")
                hosts |= set(range(int(low), int(high or low) + 1))
            assert len(hosts) == self._size[name]
            assert hosts <= self._idle, "busy hosts"
            assert name not in self.start, "started twice"
            self._idle -= hosts
            self._held[name], self.start[name] = hosts, self.now
            heapq.heappush(self._ends, (self.now + self._runtime[name], len(self.start), name))
        elif kind in ("REJECT_JOB", "RejectJobEvent"):
            self.rejected.append(details["job_id"])
        elif kind in ("CALL_ME_LATER", "CallMeLaterEvent"):
            time = details["timestamp"] if self.version == 4 else details["when"]["time"]
            assert time > self.now
            heapq.heappush(self._calls, float(time))
        else:
            assert kind in ("EDCHelloEvent", "NOTIFY"), kind
