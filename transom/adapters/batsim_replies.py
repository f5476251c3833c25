"""How answers to Batsim 4 and 5 are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transom import __version__
from transom.errors import PeerError

_FEATURES = (
    "dynamic_registration", "profile_reuse", "acknowledge_dynamic_jobs", "forward_profiles_on_job_submission",
    "forward_profiles_on_jobs_killed", "forward_profiles_on_simulation_begins",
)  # fmt: skip


def written(version: int, at: float, what: str, **facts: Any) -> dict[str, Any]:
    """An event for Batsim 4 or 5: ``execute``, ``reject``, ``call``, ``registered``, ``wait`` or ``hello``.

    Raises
    ------
    PeerError : that version knows nothing of the kind.
    """
    if (said := (_SAID_4 if version == 4 else _SAID_5).get(what)) is None:
        raise PeerError(f"what calls for the answer {what!r} is not of version {version}")
    kind, body = said(**facts)
    return {"timestamp": at} | ({"type": kind, "data": body} if version == 4 else {"event_type": kind, "event": body})


_SAID_4: dict[str, Callable[..., tuple[str, dict[str, Any]]]] = {
    "execute": lambda job, hosts: ("EXECUTE_JOB", {"job_id": job, "alloc": hosts}),
    "reject": lambda job: ("REJECT_JOB", {"job_id": job}),
    "call": lambda time: ("CALL_ME_LATER", {"timestamp": time}),
    "registered": lambda: ("NOTIFY", {"type": "registration_finished"}),
    "wait": lambda job, wait: (
        "ANSWER",
        {"estimate_waiting_time": {"job_id": job, "estimated_waiting_time": wait}},
    ),
}
_SAID_5: dict[str, Callable[..., tuple[str, dict[str, Any]]]] = {
    # Batsim reads the lists, and the commit below, without asking whether they are there.
    "execute": lambda job, hosts: (
        "ExecuteJobEvent",
        {
            "job_id": job,
            "allocation": {
                "host_allocation": hosts,
                "executor_placement_type": "PredefinedExecutorPlacementStrategyWrapper",
                "executor_placement": {"strategy": "SpreadOverHostsFirst"},
            },
            "profile_allocation_override": [],
            "storage_placement": [],
        },
    ),
    "reject": lambda job: ("RejectJobEvent", {"job_id": job}),
    "call": lambda time: (
        "CallMeLaterEvent",
        {"call_me_later_id": str(time), "when_type": "OneShot", "when": {"time": time, "time_unit": "Second"}},
    ),
    "hello": lambda protocol: (
        "EDCHelloEvent",
        {
            "batprotocol_version": protocol,
            "decision_component_name": "transom",
            "decision_component_version": __version__,
            "decision_component_commit": "",
            "requested_simulation_features": dict.fromkeys(_FEATURES, False),
        },
    ),
}
