"""Execution of one run in this process: warm-up, timing, verification, row."""

from __future__ import annotations

import contextlib
import gc
import math
import resource
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import msgspec

from transom.bench.plan.documents import problem_of
from transom.bench.plan.failures import failed, one_line
from transom.bench.plan.provenance import provenance
from transom.bench.plan.task import CLOCKS, Outcome, Row, Task, check_weights
from transom.bench.run.curves import number, thinned
from transom.errors import TransomError
from transom.problems import size_of
from transom.result import Result
from transom.stop import Budget

Stage = Literal["warm-up", "run", "judging"]
Announce = Callable[[Stage], None]
Report = Callable[[Budget], None]

_DECODER = msgspec.json.Decoder(Task)


def execute(data: bytes, announce: Announce = lambda stage: None, report: Report | None = None) -> bytes:
    """Execute a task given as JSON and return its row as JSON."""
    return msgspec.json.encode(run_task(_DECODER.decode(data), announce, report), enc_hook=_plain)


def run_task(task: Task, announce: Announce = lambda stage: None, report: Report | None = None) -> Row:
    """Execute a task in this process.

    What the solver raises, refuses or gets wrong becomes part of the row. Nothing here ends a run that does not stop
    by itself, or survives a crash: that is for whoever keeps this process.

    Parameters
    ----------
    task : the run.
    announce : called when a stage begins; the clock of the budget runs during ``run``.
    report : called with the budget of a run whenever it gets better (:func:`~transom.solving.solve`).
    """
    announce("warm-up")
    try:
        if task.what == "replay":
            from transom.bench.plan.sequences import replay_task

            return replay_task(task, announce)
        return _solved(task, announce, report)
    except (Exception, SystemExit) as fault:
        return failed(task, "error", _words(fault))


def _solved(task: Task, announce: Announce, report: Report | None) -> Row:
    from transom import registry
    from transom.rng import stream
    from transom.solving import check, refusal, solve, warm_up

    entered = perf_counter()
    problem, judges = problem_of(task), problem_of(task)  # the judge has one that no solver ever held
    decoded = perf_counter()
    try:
        solver = registry.make(registry.SOLVERS, task.spec, type(problem))
        check_weights(task, solver)
        reason = refusal(solver, problem)
        if reason is None:
            warm_up(solver, problem)
            warm_up(problem)
            cold = perf_counter() - decoded
    except (Exception, SystemExit) as fault:
        return failed(task, "error", f"before the run: {_words(fault)}")
    facts = {**provenance(task), "sense": judges.sense, "size": size_of(judges)}
    if reason is not None:
        return Row(**facts, outcome="refused", cause=one_line(reason))

    stream(0)
    gc.collect()
    _forget_peak()
    announce("run")
    clock = CLOCKS[task.clock]
    begun, since = perf_counter(), clock()
    try:
        result = solve(problem, solver, task.stop, task.seed, threads=task.threads, clock=clock, report=report)
    except (Exception, SystemExit) as fault:
        wall = clock() - since
        return Row(**facts, outcome="error", cause=one_line(_words(fault)), wall=wall, cold=cold, memory=_peak())
    wall, took = clock() - since, perf_counter() - begun
    memory = _peak()
    announce("judging")
    try:
        # What is there now: a solver may have changed the instance that it was given.
        result = replace(result, instance=problem.digest())
        outcome, cause = _verdict(result, check(judges, result))
    except Exception as fault:
        outcome, cause = "error", f"the answer cannot be judged: {_words(fault)}"
    curve = thinned(result.curve)
    overhead = perf_counter() - entered - took - (cold or 0.0)
    return Row(
        **facts,
        outcome=outcome,
        cause=cause if cause is None else one_line(cause),
        status=result.status,
        reason=result.reason,
        value=number(result.value),
        bound=number(result.bound),
        curve=curve,
        seconds=result.seconds,
        wall=wall,
        cold=cold,
        overhead=overhead,
        memory=memory,
        parameters={
            **_plain(result.parameters),
            **({"curve_points": len(result.curve)} if len(curve) < len(result.curve) else {}),
        },
    )


def _verdict(result: Result, wrong: list[str]) -> tuple[Outcome, str | None]:
    if wrong:
        return "wrong", "; ".join(wrong)
    if result.error is None:
        return "ok", None
    return ("wrong" if result.error.startswith("infeasible answer") else "error"), result.error


def _plain(thing: Any) -> Any:
    """A parameter or note as JSON can carry it."""
    if isinstance(thing, float) and not math.isfinite(thing):
        return None
    if thing is None or isinstance(thing, (bool, int, float)):
        return thing
    if isinstance(thing, Mapping):
        return {_text(name): _plain(value) for name, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [_plain(value) for value in thing]
    if hasattr(thing, "tolist"):
        return _plain(thing.tolist())
    return _text(thing)


def _text(thing: Any) -> str:
    return str(thing).encode(errors="replace").decode()  # JSON cannot carry half a surrogate pair


def _words(fault: BaseException) -> str:
    return str(fault) if isinstance(fault, TransomError) else f"{type(fault).__name__}: {fault}"


def _forget_peak() -> None:
    """Begin the high-water mark of resident memory afresh, where the system can do that."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> float:
    """The most resident memory since the mark was begun afresh, or else in the life of the process [MiB]."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
