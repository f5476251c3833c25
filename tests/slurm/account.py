"""Whether an audit log accounts for all that was done to the jobs of a Slurm, which has a log of its own."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tests.slurm.cluster import EmulatedSlurm
from transom.slurm.audit import read_audit
from transom.traces.records.hostlist import hosts

_BASE = 0x80000000  # which Slurm adds to a site factor
_SLACK = 0.002  # both logs round their times [s]
_FORMS = {
    "begin": re.compile(r"_update_job: setting begin to (\S+) for JobId=(\d+)"),
    # Of a job that Slurm started the moment before, these are the nodes that it has.
    "nodes": re.compile(r"_update_job: setting (?:req_)?nodes to (\S*) ?for JobId=(\d+)"),
    "factor": re.compile(r"_update_job: setting AdinPrioFactor to (\d+) for JobId=(\d+)"),
    "release": re.compile(r"_release_job_rec: release hold (on) JobId=(\d+)"),
}
_IDLE = {
    "begin": re.compile(r"_update_job: new begin time identical to old begin time JobId=(\d+)"),
    "release": re.compile(r"_update_job: set priority to \d+ for JobId=(\d+)"),  # of a job that is not held
}
_AT = re.compile(r"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})\]")


class Change(NamedTuple):
    """Something about a job that changed, and to what: nodes, a factor, or a time [s since 1970]."""

    job: str
    what: str
    to: str


class Account(NamedTuple):
    """How often each change is in Slurm's log, in lines before an action, and in those that were confirmed; how often
    a job (first) was told to begin or released (second) and was so already; changes that Slurm made before any line
    said so; and how many actions of each process were not confirmed."""

    made: Counter[Change]
    written: Counter[Change]
    confirmed: Counter[Change]
    idle: Counter[tuple[str, str]]
    early: list[Change]
    open_ones: Counter[int]


def account(slurm: EmulatedSlurm, audit: Path) -> Account:
    """Both logs side by side; both are on our clock."""
    made, written, confirmed = Counter[Change](), Counter[Change](), Counter[Change]()
    acts: dict[str, dict[str, Any]] = {}
    lines: defaultdict[Change, list[float]] = defaultdict(list)
    open_ones = Counter[int]()
    for line in read_audit(audit):
        if line["kind"] == "act":
            acts[line["number"]] = line
            open_ones[line["process"]] += 1
            for change in _changes(line):
                written[change] += 1
                lines[change].append(line["at"])
        elif line["kind"] == "done":
            open_ones[line["process"]] -= 1
            if line["well"]:
                confirmed.update(_changes(acts[line["number"]]))
    early = []
    for at, told in _told(slurm):
        change = _meant(told, at, lines, made)
        if made[change] >= len(lines[change]) or lines[change][made[change]] > at + _SLACK:
            early.append(change)
        made[change] += 1
    return Account(made, written, confirmed, _idle(slurm), early, +open_ones)


def assert_accounted(slurm: EmulatedSlurm, audit: Path, killed: int = 0) -> None:
    """Everything that Slurm did was written down before, and what was confirmed it did; ``killed`` processes may have
    left an action of each unconfirmed."""
    found = account(slurm, audit)
    assert found.early == [], f"Slurm changed what no line had said before: {found.early}"
    assert found.made <= found.written, f"not in the audit log: {found.made - found.written}"
    missing = Counter[tuple[str, str]]()
    for change, times in (found.confirmed - found.made).items():
        missing[change.job, change.what] += times
    assert missing <= found.idle, f"confirmed, and not in Slurm's log: {missing - found.idle}"
    assert sum(found.open_ones.values()) <= killed
    assert max(found.open_ones.values(), default=0) <= 1


def _changes(act: dict[str, Any]) -> Iterator[Change]:
    """What an action comes to, in Slurm's words."""
    action = act["action"]
    for job in act["jobs"]:
        if action in ("adopt", "release"):
            yield Change(job, "release", "")
        if action in ("adopt", "take", "renew", "start", "give-back", "withdraw"):
            yield Change(job, "begin", str(act.get("until", "now")))
        if action in ("start", "place"):
            yield Change(job, "nodes", _sorted(act["nodes"]))
        if action in ("withdraw", "clear") or (action == "give-back" and act["named"]):
            yield Change(job, "nodes", "")
        if action == "nudge":
            yield Change(job, "factor", str(act["factor"]))


def _told(slurm: EmulatedSlurm) -> Iterator[tuple[float, Change]]:
    for line in _log(slurm):
        for what, form in _FORMS.items():
            if (found := form.search(line)) is not None and (at := _AT.match(line)) is not None:
                when = datetime.fromisoformat(at[1]).replace(tzinfo=UTC).timestamp()
                yield when, Change(found[2], what, _READ[what](found[1], when))


def _idle(slurm: EmulatedSlurm) -> Counter[tuple[str, str]]:
    every = ((form.search(line), what) for line in _log(slurm) for what, form in _IDLE.items())
    return Counter((found[1], what) for found, what in every if found is not None)


def _log(slurm: EmulatedSlurm) -> list[str]:
    return (slurm.folder / "slurmctld.log").read_text(errors="replace").splitlines()


def _meant(told: Change, at: float, lines: dict[Change, list[float]], made: Counter[Change]) -> Change:
    """What the audit log calls a change: a begin time that had passed when Slurm came to it, Slurm calls now."""
    if told.what == "begin" and told.to == "now" and made[told] >= len(lines[told]):
        leases = (each for each in lines if each[:2] == told[:2] and each.to != "now" and made[each] < len(lines[each]))
        return next((each for each in leases if int(each.to) <= at), told)
    return told


def _sorted(nodes: str) -> str:
    return ",".join(sorted(hosts(nodes)))


def _time(text: str, when: float) -> str:
    at = int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
    return "now" if at <= when else str(at)  # Slurm takes its own now for what has passed


_READ: dict[str, Callable[[str, float], str]] = {
    "factor": lambda text, _: str(int(text) - _BASE),
    "nodes": lambda text, _: _sorted(text),
    "begin": _time,
    "release": lambda text, _: "",
}
