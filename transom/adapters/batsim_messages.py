"""The messages of Batsim 4 and 5 as JSON: what their events mean, and what they state."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, TypeVar

import msgspec

from transom.adapters.hosts import MOST, ids_of
from transom.adapters.live import UNLIMITED
from transom.errors import PeerError, shown

LONGEST = 2**40
"""The latest time, and the longest walltime [s]."""

MEANINGS = {
    "SIMULATION_BEGINS": "begins", "SimulationBeginsEvent": "begins",
    "SIMULATION_ENDS": "ends", "SimulationEndsEvent": "ends",
    "JOB_SUBMITTED": "submitted", "JobSubmittedEvent": "submitted",
    "JOB_COMPLETED": "completed", "JobCompletedEvent": "completed",
    "REQUESTED_CALL": "call", "RequestedCallEvent": "call",
    "RESOURCE_STATE_CHANGED": "hosts", "HostsTurnedOnOffEvent": "hosts", "ExternalEventOccurredEvent": "hosts",
    "NOTIFY": "hosts", "AllStaticJobsHaveBeenSubmittedEvent": "all submitted", "QUERY": "query",
    "BatsimHelloEvent": "hello", "SimulationErrorEvent": "error",
}  # fmt: skip
"""What the events of both versions are about."""

_DOWN = frozenset(("sleeping", "switching_on", "switching_off", "unavailable", "off"))
_UP = frozenset(("idle", "computing", "available", "on"))
_T = TypeVar("_T")


class Event(msgspec.Struct):
    """An event of either version: version 4 calls it ``type`` and ``data``, version 5 ``event_type`` and ``event``."""

    timestamp: float = 0.0
    type: str = ""
    event_type: str = ""
    data: dict[str, Any] | None = None
    event: dict[str, Any] | None = None

    @property
    def kind(self) -> str:
        """What Batsim calls it."""
        return self.type or self.event_type

    @property
    def body(self) -> dict[str, Any]:
        """Its details."""
        return self.data or self.event or {}


class Message(msgspec.Struct):
    """What Batsim sends: what happened, and its time [s], which only batprotocol may leave out, where it is 0."""

    events: list[Event]
    now: float = -1.0


class _Host(msgspec.Struct):
    id: int = 0
    state: str | int = "idle"


class Platform(msgspec.Struct):
    """What the begin of a simulation says: lists of hosts that compute or, without these, how many they are."""

    compute_resources: list[_Host] | None = None
    computation_hosts: list[_Host] | None = None
    nb_compute_resources: int = 0
    computation_host_number: int = 0
    nb_resources: int = 0
    config: dict[str, Any] = {}

    def hosts(self) -> dict[int, bool]:
        """Whether each host can be used, by its id.

        Raises
        ------
        PeerError : there are none, or too many, or ids are no numbers of their own.
        """
        listed = self.compute_resources or self.computation_hosts
        if listed is None:
            number = self.nb_compute_resources or self.computation_host_number or self.nb_resources
            listed = [_Host(host) for host in range(number if number <= MOST else 0)]
        found = {host.id: str(host.state).lower() not in _DOWN for host in listed}
        if not 0 < len(listed) <= MOST or len(found) < len(listed) or not 0 <= min(found) <= max(found) < LONGEST:
            raise PeerError(f"a platform of {len(listed) or 'no or too many'} hosts, {len(found)} of them different")
        return found


class _Request(msgspec.Struct):
    res: int = 0
    resource_request: int = 0
    walltime: float | None = None


class Submission(msgspec.Struct):
    """A job that is submitted, or asked about."""

    job_id: str
    job: _Request | None = None
    submission_time: float | None = None

    def request(self) -> tuple[int, int]:
        """How many hosts, and the walltime in whole seconds [s], a year for none.

        Raises
        ------
        PeerError : nothing is said of the job.
        """
        if self.job is None:
            raise PeerError(f"job {shown(self.job_id)} is not described: run Batsim without Redis")
        limit = self.job.walltime or 0.0
        walltime = max(math.ceil(min(limit, LONGEST)), 1) if limit > 0 else UNLIMITED
        return self.job.res or self.job.resource_request, walltime


def hosts_changed(body: dict[str, Any]) -> tuple[set[int], bool] | None:
    """Which hosts come or go, and whether they come; None if an event says nothing of the kind.

    Raises
    ------
    PeerError : the hosts are no set of intervals.
    """
    inner = body.get("external_event")
    if isinstance(inner, dict) and isinstance(inner.get("data"), str):
        try:
            stated = msgspec.json.decode(inner["data"])
        except (msgspec.MsgspecError, RecursionError):
            return None
        body = stated if isinstance(stated, dict) else {}
    if "host_ids" in body:  # turned on, which is 0, or off
        return ids_of(str(body["host_ids"])), body.get("state", 0) == 0
    word = str(body.get("state", str(body.get("type", "")).rpartition("_")[2])).lower()
    if "resources" not in body or word not in _UP | _DOWN:  # a number is a speed
        return None
    return ids_of(str(body["resources"])), word in _UP


def read_message(message: bytes, version: int) -> Message:
    """A message of this version, whose time is that of its last event or later.

    Raises
    ------
    PeerError : it is none, or its times are not in order.
    """
    try:
        heard = msgspec.json.decode(message.rstrip(b"\0"), type=Message)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise PeerError(f"not a message of Batsim: {error}") from None
    if heard.now == -1 and version == 5:
        heard.now = 0.0
    times = [0.0, *(event.timestamp for event in heard.events), heard.now]
    if not all(a <= b < LONGEST for a, b in pairwise(times)):
        raise PeerError(f"the times in a message of {heard.now} s are not in order")
    return heard


def converted(body: Any, kind: type[_T]) -> _T:
    """The details of an event.

    Raises
    ------
    PeerError : a field is missing or of a wrong type.
    """
    try:
        return msgspec.convert(body, kind)
    except msgspec.MsgspecError as error:
        raise PeerError(f"{kind.__name__.lower()}: {error}") from None
