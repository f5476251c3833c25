"""What the bench carries to a worker and what comes back: a task, and the row that it leaves in the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from hashlib import blake2b
from time import perf_counter
from typing import Any, Literal

import msgspec

from transom._system.cpu_clock import cpu_time
from transom.errors import SpecError
from transom.registry import weights_of
from transom.stop import Stop

Outcome = Literal["ok", "refused", "error", "wrong", "timeout", "memory", "crash"]
"""How a run ended.

``ok``: the solver came to its end, whatever it found; ``refused``: it said that it cannot take the instance;
``error``: it raised; ``wrong``: an answer did not pass the judge; ``timeout``: it was ended at the grace past its
budget; ``memory``: it was ended beyond the memory limit; ``crash``: its process died.
"""

Clock = Literal["wall", "cpu"]
"""What the seconds of a budget are read from: ``wall`` time, or the ``cpu`` time of the process of the run."""

CLOCKS: dict[Clock, Callable[[], float]] = {"wall": perf_counter, "cpu": cpu_time}

_BUSY = 20  # how much slower than its CPU time a run may be on a machine that others use

FAILED: tuple[Outcome, ...] = ("error", "wrong", "timeout", "memory", "crash")
"""Outcomes that ``--only failed`` runs again."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A run to execute: plain data for any process on any machine.

    Parameters
    ----------
    what : ``solve`` an instance, or ``replay`` a workload under a policy.
    set : the name of the set that the instance is from.
    label : the instance in words: file and line, or recipe and number.
    document : the instance as one of Transom's JSON documents; of a replay the JSON of a
        :class:`~transom.bench.plan.plan.TraceSet` with one policy, and the seed of its jitter.
    instance : digest of the problem, or of the workload.
    problem : its kind, such as ``knapsack``; ``sequence`` for a replay.
    name : what the plan calls the solver or policy.
    spec : its specification.
    stop : the budget; of a replay empty.
    seed : of the solver or policy, >= 0.
    threads : how many the run may use.
    weights : what decides beside the specification, such as the weights in a file that it names
        (:func:`~transom.registry.weights_of`); it may be empty.
    grace : how long past its budget a run may take before its process is ended [s].
    limit : the longest a run without ``seconds`` in its budget may take, before the grace [s].
    memory : resident memory at which the process of the run is ended [MiB].
    clock : what the seconds of the budget are read from.
    """

    what: Literal["solve", "replay"] = "solve"
    set: str
    label: str
    document: msgspec.Raw
    instance: str
    problem: str
    name: str
    spec: str
    stop: Stop
    seed: int
    threads: int = 1
    weights: str = ""
    grace: float = 5.0
    limit: float = 3600.0
    memory: int = 4096
    clock: Clock = "wall"

    @property
    def seconds(self) -> float:
        """When the process of the run is ended, counted in wall-clock time from the start of the run [s]."""
        seconds = (self.limit if self.stop.seconds is None else self.stop.seconds) + self.grace
        return seconds if self.clock == "wall" else _BUSY * seconds

    def key(self) -> str:
        """A digest of all that the plan says and that decides the result; limits that only end a run are no part of it.

        Nor are weights: a row of others is of the same run, which is to be done anew and then takes its place.
        """
        stop = [None if limit is None else float(limit) for limit in astuple(self.stop)]  # 1 and 1.0 are one budget
        terms = [self.what, self.instance, self.problem, self.spec, stop, self.seed, self.threads]
        terms += [] if self.clock == "wall" else [self.clock]
        return blake2b(msgspec.json.encode(terms), digest_size=16).hexdigest()


def check_weights(task: Task, *things: Any) -> None:
    """Refuse a task whose weights here differ from those where the plan was read.

    Raises
    ------
    SpecError : they are others: a file was changed meanwhile, or is another one on this machine.
    """
    found = weights_of(*things, spec=task.spec)
    if found != task.weights:
        raise SpecError(
            f"{task.spec}: here are weights {found or '(none)'}, the task is about {task.weights or 'none'}"
        )


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a task: one row of the store.

    Parameters
    ----------
    key, set, label, instance, problem, what, name, spec, stop, seed, threads, weights, clock : as in :class:`Task`.
    sense : ``min`` or ``max``.
    size : items, jobs or arcs of the instance.
    outcome : how the run ended.
    cause : why, in one line, where it is not ``ok``.
    status, reason, value, bound, curve : as in :class:`~transom.result.Result`; curves hold (seconds, value, bound).
    seconds : the solver's time on the clock of ``solve`` [s].
    wall : the time of the whole call on the same clock, measured outside the solver [s]; where the process was ended,
        until then.
    cold : imports and compilation before the run [s].
    overhead : what the bench needed beside the run and its warm-up: its process, decoding, judging [s].
    memory : the most resident memory of the process and its children that was seen [MiB].
    parameters : of the solver, with what it noted.
    metrics : of a replay, by name.
    begun : when the run began [s since 1970, UTC].
    machine : host, processor, cores, memory, system.
    load : load average over one minute when the run began.
    workers : how many runs went on side by side.
    versions : of Python, Transom and the libraries that can decide a result.
    code : digest of Transom's sources.
    attempt : 1, and one more each time the run was repeated; the last one counts.
    """

    key: str
    what: Literal["solve", "replay"] = "solve"
    set: str
    label: str
    instance: str
    problem: str
    name: str
    spec: str
    stop: Stop
    seed: int
    threads: int
    sense: Literal["min", "max"]
    size: int
    outcome: Outcome
    cause: str | None = None
    status: Literal["optimal", "feasible", "infeasible", "unknown"] = "unknown"
    reason: str | None = None
    value: float | None = None
    bound: float | None = None
    curve: tuple[tuple[float, float | None, float | None], ...] = ()
    seconds: float | None = None
    wall: float | None = None
    cold: float | None = None
    overhead: float | None = None
    memory: float | None = None
    parameters: dict[str, Any] = {}
    metrics: dict[str, float] = {}
    begun: float = 0.0
    machine: dict[str, Any] = {}
    load: float | None = None
    workers: int = 1
    versions: dict[str, str] = {}
    code: str = ""
    attempt: int = 1
    weights: str = ""
    clock: Clock = "wall"

    @property
    def overshoot(self) -> float | None:
        """Time used beyond the budget, measured outside the solver [s]; None without a budget in seconds."""
        if self.stop.seconds is None or self.wall is None:
            return None
        return self.wall - self.stop.seconds
