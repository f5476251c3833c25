"""The recipe of a workload: from a model, like a trace, or part of a trace."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from transom._system.settings import Natural, Positive
from transom.errors import SpecError
from transom.generate.instance_generator import InstanceGenerator
from transom.generate.memory import JOB, check_memory
from transom.generate.workload.arrivals import fit_arrivals
from transom.generate.workload.lublin import generate_lublin
from transom.rng import stream
from transom.traces import ReadingRules, Workload, cut, read_swf
from transom.traces.estimates import parse_estimates
from transom.traces.origin import EXACT

NODES, JOBS = 512, 5000

_OF = {
    "lublin": ("jobs", "nodes", "load", "walltimes"),
    "weekly": ("jobs", "nodes", "like", "rate"),
    "trace": ("jobs", "nodes", "like", "start"),
}


class WorkloadRecipe(InstanceGenerator, frozen=True, kw_only=True):
    """Workloads; each is a block.

    Parameters
    ----------
    model : ``lublin``, the model of Lublin and Feitelson; ``weekly``, jobs of a trace in its weekly rhythm; or
        ``trace``, a trace as it is, which gives one workload only.
    jobs : how many; 5000 by default, of a trace all.
    nodes : of the machine; lublin: 512 by default, else what the trace says.
    load : lublin: scale the gaps to this offered load.
    walltimes : what jobs ask for, as of ``simulate --estimates``; lublin: all jobs, ``overestimated`` by default;
        weekly, trace: those that request no time, ``exact`` by default.
    like : weekly, trace: the file of the trace.
    rate : weekly: factor on the arrival rate, 1 by default.
    start : trace: position of the first job, from 0.
    """

    model: Literal["lublin", "weekly", "trace"] = "lublin"
    jobs: Positive | None = None
    nodes: Positive | None = None
    load: float | None = None
    walltimes: str | None = None
    like: str | None = None
    rate: float | None = None
    start: Natural | None = None

    @property
    def num_blocks(self) -> int | None:
        return 1 if self.model == "trace" else None

    def check(self) -> None:
        """Refuse what the model does not have; nothing is drawn and no file is read.

        Raises
        ------
        SpecError : a parameter does not go with the model, the trace is missing, or the jobs do not fit into memory.
        """
        for name in ("load", "like", "rate", "start"):
            if getattr(self, name) is not None and name not in _OF[self.model]:
                raise SpecError(f"workload: {name} does not go with model {self.model}")
        if self.model != "lublin" and self.like is None:
            raise SpecError(f"workload: model {self.model} needs like, the file of a trace")
        if self.model != "trace":
            check_memory("jobs", self.jobs or JOBS, JOB)
        if self.walltimes is not None:
            parse_estimates(self.walltimes)

    def block(self, seed: int, number: int) -> Iterator[Workload]:
        yield self.workload(seed, number)

    def workload(self, seed: int, number: int) -> Workload:
        """Workload ``number``, from 1.

        Raises
        ------
        TraceError : the trace cannot be read.
        SpecError, ModelError : a number is out of range.
        """
        rng = stream(seed, "workload") if number == 1 else stream(seed, "workload", number)
        if self.model == "lublin":
            walltimes = self.walltimes or "overestimated"
            return generate_lublin(self.jobs or JOBS, self.nodes or NODES, rng, self.load, walltimes)
        given = self.trace(seed)
        if self.model == "weekly":
            return fit_arrivals(given).sample(self.jobs or JOBS, rng, 1.0 if self.rate is None else self.rate)
        return given if self.jobs is None and not self.start else cut(given, self.start or 0, self.jobs)

    def trace(self, seed: int = 0) -> Workload:
        """The whole trace of ``like`` on one machine; the seed is that of walltimes that nobody requested."""
        assert self.like is not None
        seed = seed if self.walltimes else 0
        rules = ReadingRules(merge_partitions=True, estimates=self.walltimes or EXACT, seed=seed)
        return _read(os.path.abspath(self.like), self.like, self.nodes, rules)


@lru_cache(maxsize=2)
def _read(path: str, name: str, nodes: int | None, rules: ReadingRules) -> Workload:
    # Kept for the next epoch: a trace is read once, not once for each.
    return read_swf(name, rules, nodes)
