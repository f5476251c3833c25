"""What an audit log says of jobs that were not given back, line by line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_UNNAME = ("withdraw", "clear")  # and give-back, where it says so: after these no nodes of ours are named


@dataclass(slots=True)
class Ledger:
    """The state of a log after some lines.

    Parameters
    ----------
    leases : the ends of leases [s since 1970].
    started : the nodes on which jobs were asked to start that have not been seen to run.
    left : jobs that were left alone because somebody held or named them again.
    factors : site factors.
    placed : all nodes that were named for each job since none were, by start and place alike. Slurm keeps them where a
        job is requeued.
    ran : jobs that ran since nodes were named for them last.
    half : jobs of which nobody knows whether their holds became leases.
    begin : the line with which the last run began.
    """

    leases: dict[str, int] = field(default_factory=dict)
    started: dict[str, str] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)
    factors: dict[str, int] = field(default_factory=dict)
    placed: dict[str, list[str]] = field(default_factory=dict)
    ran: set[str] = field(default_factory=set)
    half: set[str] = field(default_factory=set)
    begin: dict[str, Any] | None = None
    _open: dict[str, dict[str, Any]] = field(default_factory=dict)

    def note(self, line: dict[str, Any]) -> None:
        """Take a line into account."""
        if line["kind"] == "act":
            self._open[line["number"]] = line
            for name in line["jobs"]:
                self._begin(name, line)
        elif line["kind"] == "done" and (begun := self._open.pop(line["number"], None)):
            for name in begun["jobs"]:
                if line["well"]:
                    self._end(name, begun)
                elif begun["action"] == "start" and not line.get("unknown"):
                    self.started.pop(name, None)
        elif line["kind"] == "begin":
            self.begin = line
        elif line["kind"] == "followed":
            self.ran.add(line["job"])
            self.started.pop(line["job"], None)
            self.leases.pop(line["job"], None)

    def _begin(self, name: str, act: dict[str, Any]) -> None:
        """Whatever may hold from now on, done or not."""
        action = act["action"]
        if action == "nudge":
            self.factors[name] = act["factor"]
            return
        if action in ("start", "place"):
            self.placed.setdefault(name, []).append(act["nodes"])
            self.ran.discard(name)
        if action == "place":
            return
        if action == "adopt":
            self.half.add(name)
            self.left.discard(name)
            return
        self.half.discard(name)
        if self.started.pop(name, None) and action == "clear":
            self.ran.add(name)  # and was requeued before anybody saw it
        if action == "start":
            self.started[name] = act["nodes"]
        elif "until" in act:
            self.leases[name] = act["until"]
        else:
            self.leases.pop(name, None)
            if action == "leave":
                self.left.add(name)

    def _end(self, name: str, act: dict[str, Any]) -> None:
        """What holds once Slurm has done it."""
        if act["action"] == "adopt":
            self.half.discard(name)
            self.leases[name] = act["until"]
        elif act["action"] in _UNNAME or act.get("named"):
            self.placed.pop(name, None)
