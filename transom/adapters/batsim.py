"""A policy as the decision component of Batsim, of versions 4 and 5: what it answers, without the socket.

Jobs get the lowest idle hosts. Times are rounded to whole seconds: Batsim's own are some microseconds late. A job
without a walltime is taken to run for a year at most; one that can never run is rejected. A policy that wants to be
asked without an event sets a timer. Profiles, which tell how long jobs run, are not looked at.

References
----------
Batsim's documentation, Protocol: that of 4.2, and the batprotocol of 5.0.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any, NamedTuple

import msgspec

from transom.adapters.batsim_messages import (
    MEANINGS,
    Event,
    Platform,
    Submission,
    converted,
    hosts_changed,
    read_message,
)
from transom.adapters.batsim_replies import written
from transom.adapters.hosts import Hosts, intervals
from transom.adapters.live import Live, Running
from transom.errors import PeerError
from transom.models import Job
from transom.models.arrays import IntArray


class _Held(NamedTuple):
    job: Job
    start: int
    places: IntArray


class DecisionComponent:
    """What answers Batsim's messages, one after the other.

    Parameters
    ----------
    policy : a specification, as for a replay.
    seed : >= 0, for policies that draw random numbers.

    Raises
    ------
    SpecError : there is no such policy.
    """

    def __init__(self, policy: str, seed: int = 0) -> None:
        Live(policy, 1)  # says at once if there is no such policy
        self._policy, self._seed = policy, seed
        self.over = False
        """Whether the simulation has ended."""
        self.counts = Counter(submitted=0, started=0, ended=0, rejected=0)
        self.ignored: Counter[str] = Counter()
        """Events that mean nothing to a policy, by type."""
        self._version = 0  # not known yet
        self._clock, self._now = 0.0, 0
        self._live: Live | None = None
        self._hosts = Hosts({})
        self._known: set[str] = set()
        self._names: dict[int, str] = {}
        self._queue: dict[str, Job] = {}
        self._running: dict[str, _Held] = {}
        self._timers: set[int] = set()
        self._said: list[dict[str, Any]] = []

    def answer(self, message: bytes) -> bytes:
        """The answer to a message.

        Raises
        ------
        PeerError : the message is none of the protocol, or states what cannot be.
        PolicyError : the policy starts what does not fit.
        """
        self._said = []
        if not self._version and (greeted := self._greeted(message)) is not None:
            return greeted
        self._version = self._version or 4
        heard = read_message(message, self._version)
        if heard.now < self._clock:
            raise PeerError(f"time goes back from {self._clock} s to {heard.now} s")
        self._clock, self._now = heard.now, int(heard.now + 0.5)
        self._timers = {time for time in self._timers if time > self._now}
        for event in heard.events:
            self._take(event)
        if self._live is not None and not self.over:
            self._decide(self._live)
        return msgspec.json.encode({"now": heard.now, "events": self._said})

    def _greeted(self, message: bytes) -> bytes | None:
        """The answer to the binary greeting of batprotocol, in its two forms; None if it is none."""
        size, first = len(message), int.from_bytes(message[:4], sys.byteorder)
        if size >= 4 and size == 4 + first:
            self._version = 5
            self._say("hello", protocol="1.0.0")
            hello = msgspec.json.encode({"now": 0.0, "events": self._said})
            return (2).to_bytes(4, sys.byteorder) + hello
        if size >= 8 and first in (1, 2) and size == 8 + int.from_bytes(message[4:8], sys.byteorder):
            if first == 1:
                raise PeerError("Batsim speaks the binary form of batprotocol: start it with JSON")
            self._version = 5
            return b""
        return None

    def _take(self, event: Event) -> None:
        meaning, body = MEANINGS.get(event.kind), event.body
        if meaning == "hello":
            self._say("hello", protocol=str(body.get("batprotocol_version", "1.0.0")))
        elif meaning == "error":
            raise PeerError(f"Batsim reports an error: {str(body)!r:.500}")
        elif meaning == "begins":
            self._begin(body)
        elif self._live is None:
            raise PeerError(f"{event.kind or 'an event without a type'} comes before the simulation begins")
        elif meaning == "submitted":
            self._submit(body, event.timestamp)
        elif meaning == "completed":
            self._end(str(body.get("job_id")))
        elif meaning == "ends":
            self.over = True
        elif meaning == "hosts" and (change := hosts_changed(body)) is not None:
            self._hosts.switch(*change)
        elif meaning == "all submitted" or body.get("type") == "no_more_static_job_to_submit":
            self._live.more = False
        elif meaning == "query" and isinstance(asked := body.get("requests"), dict):
            self._estimate(self._live, asked.get("estimate_waiting_time"))
        elif meaning != "call":
            self.ignored[" ".join((event.kind, str(body.get("type", "")))).strip()] += 1

    def _begin(self, body: dict[str, Any]) -> None:
        platform = converted(body, Platform)
        if self._live is not None:
            raise PeerError("the simulation begins twice")
        self._hosts = Hosts(platform.hosts())
        self._live = Live(self._policy, len(self._hosts), self._seed)
        if platform.config.get("dynamic-jobs-enabled"):  # else Batsim would wait for jobs of ours
            self._say("registered")

    def _submit(self, body: dict[str, Any], at: float) -> None:
        asked = converted(body, Submission)
        nodes, walltime = asked.request()
        if asked.job_id in self._known:
            raise PeerError(f"job {asked.job_id!r:.60} is submitted twice")
        self._known.add(asked.job_id)
        self.counts["submitted"] += 1
        if not 0 < nodes <= len(self._hosts):
            self.counts["rejected"] += 1
            self._say("reject", job=asked.job_id)
            return
        submit = int(min(max(at if asked.submission_time is None else asked.submission_time, 0), self._clock) + 0.5)
        job = Job(self._number(asked.job_id), submit, nodes, walltime)
        self._names[job.id], self._queue[asked.job_id] = asked.job_id, job

    def _number(self, name: str) -> int:
        """The number in a job's name, by which policies break ties, or the next one that is free."""
        tail = name.rpartition("!")[2]
        if tail.isascii() and tail.isdecimal() and len(tail) < 10 and int(tail) > 0 and int(tail) not in self._names:
            return int(tail)
        return max(self._names, default=0) + 1

    def _end(self, name: str) -> None:
        held = self._running.pop(name, None)
        if held is None:
            raise PeerError(f"job {name!r:.60} ends, and does not run")
        self.counts["ended"] += 1
        self._hosts.give(held.places)

    def _state(self) -> tuple[list[Running], int]:
        held = self._running.values()
        return [Running(job, start, self._hosts.back(places)) for job, start, places in held], self._hosts.free

    def _estimate(self, live: Live, body: Any) -> None:
        asked = converted(body, Submission)
        nodes, walltime = asked.request()
        job = Job(max(self._names, default=0) + 1, self._now, max(nodes, 1), walltime)
        self._say("wait", job=asked.job_id, wait=live.wait_of(job, self._now, self._queue.values(), *self._state()))

    def _decide(self, live: Live) -> None:
        for number in live.decide(self._now, self._queue.values(), *self._state()):
            name = self._names[number]
            job = self._queue.pop(name)
            self._running[name] = held = _Held(job, self._now, self._hosts.take(job.nodes))
            self.counts["started"] += 1
            self._say("execute", job=name, hosts=intervals(self._hosts.ids[held.places].tolist()))
        if live.wake is not None and live.wake not in self._timers:
            self._timers.add(live.wake)
            self._say("call", time=live.wake)

    def _say(self, what: str, **facts: Any) -> None:
        self._said.append(written(self._version, self._clock, what, **facts))
