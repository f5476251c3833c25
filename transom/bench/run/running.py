"""Execution of a plan: missing runs are executed and stored one by one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Literal

import msgspec

from transom.bench.plan.contents import read_contents
from transom.bench.plan.plan import Plan
from transom.bench.plan.task import FAILED, Outcome, Row, Task
from transom.bench.plan.tasks import DryRun, Known, State, dry_run, expand_plan
from transom.bench.store.index import Entry, ResultIndex, made_by
from transom.bench.store.store import Store
from transom.stop import Stop

if TYPE_CHECKING:
    from transom.bench.run.engine import Engine

Only = Literal["failed", "outdated"]
"""Which runs to do anew, and no others."""

_CAUSES = 200  # different causes of failures that are counted one by one


@dataclass(slots=True)
class Tally:
    """Outcomes of the runs of one solver under one budget.

    Parameters
    ----------
    outcomes : runs by how they ended.
    solved : runs with an answer, be it that there is none.
    proved : runs that proved theirs.
    """

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    solved: int = 0
    proved: int = 0

    @property
    def runs(self) -> int:
        """All runs."""
        return self.outcomes.total()

    @property
    def failed(self) -> int:
        """Runs that failed."""
        return sum(self.outcomes[each] for each in FAILED)

    def add(self, outcome: Outcome, status: str) -> None:
        """Count a run."""
        self.outcomes[outcome] += 1
        if outcome not in ("wrong", "refused"):  # one that came to no end counts with what it had
            self.solved += status != "unknown"
            self.proved += status in ("optimal", "infeasible")


@dataclass(slots=True)
class Summary:
    """The result of executing a plan.

    Parameters
    ----------
    dry_run : the plan, and what of it was there before.
    todo : how many runs there were to do.
    done : how many of them came to an end.
    outcomes : how these ended.
    tallies : all runs of the plan that are in the store, earlier ones too, by name, budget and threads.
    failures : of the runs that were done now: how many by name, outcome and cause.
    renamed : runs that were there before under another name than the plan's: how many by that name and the plan's.
    seconds : how long it took [s].
    """

    dry_run: DryRun
    todo: int
    done: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    tallies: dict[tuple[str, Stop, int], Tally] = field(default_factory=dict)
    failures: Counter[tuple[str, Outcome, str]] = field(default_factory=Counter)
    renamed: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def failed(self) -> int:
        """Runs of this execution that failed."""
        return sum(self.outcomes[each] for each in FAILED)

    def tally(self, name: str, stop: Stop, threads: int) -> Tally:
        """The tally of these terms."""
        return self.tallies.setdefault((name, stop, threads), Tally())


Progress = Callable[[Summary], None]
"""Called at the start and after every run."""


def run_plan(
    plan: Plan,
    folder: str | os.PathLike[str],
    engine: Engine,
    force: bool = False,
    only: Only | None = None,
    progress: Progress = lambda summary: None,
) -> Summary:
    """Execute the runs of a plan that a store lacks.

    A row of other code or other versions counts as done: a change of a comment would otherwise throw away a week of
    results. The dry run says how many there are, and ``only="outdated"`` does them anew. A row of other weights does
    not count, and is replaced.

    Parameters
    ----------
    plan : what to do.
    folder : the store; it may hold results of this and other plans.
    engine : what carries runs out.
    force : do all runs anew.
    only : do only those anew that ``failed``, or that are ``outdated``; what was never done is left out as well.
    progress : called with how it goes on.

    Raises
    ------
    DocumentError, ModelError, SpecError, TraceError : the plan does not stand, or a file is damaged; no run was done.
    StoreError : the store is in use, or cannot be written: what was finished until then is kept.
    EngineError : runs cannot be carried out at all.
    """
    begun = perf_counter()
    contents = read_contents(plan)  # a plan that does not stand should leave no folder behind
    with Store(folder) as store:
        known = states(store)
        planned = dry_run(plan, known, contents)
        summary = Summary(planned, _to_do(planned, force, only))
        store.add_plan(plan)
        progress(summary)
        under_way: set[str] = set()

        def wanted(run: Task) -> bool:
            key = run.key()
            chosen = force or _chosen(known(run), only)
            if chosen:
                under_way.add(key)
            elif (kept := store.find(key)) is not None:
                summary.tally(run.name, run.stop, run.threads).add(kept.outcome, kept.status)
                if kept.name != run.name:
                    summary.renamed[kept.name, run.name] += 1
            return chosen

        rows = engine.run(expand_plan(plan, wanted, contents))
        try:
            for row in rows:
                if row.key not in under_way:
                    continue  # a second row of one run, as from a worker that was given up too early
                under_way.remove(row.key)
                before = store.find(row.key)
                attempt = 1 if before is None else before.attempt + 1
                row = msgspec.structs.replace(row, attempt=attempt, workers=engine.workers)
                store.append(row)
                _count(summary, row)
                summary.seconds = perf_counter() - begun
                progress(summary)
        finally:
            close = getattr(rows, "close", None)  # which ends what is going on
            if close is not None:
                close()
    summary.seconds = perf_counter() - begun
    return summary


def states(store: Store | ResultIndex) -> Known:
    """Tells the state of a run from what a store holds."""
    from transom._system.source_digest import source_digest
    from transom.result import versions

    current = made_by(source_digest(), versions())

    def state(run: Task) -> State:
        kept = store.find(run.key())
        return "open" if kept is None or kept.weights != run.weights else _state(kept, current)

    return state


def _state(kept: Entry, current: int) -> State:
    if kept.outcome in FAILED:
        return "failed"
    return "done" if kept.digest == current else "outdated"


def _chosen(state: State, only: Only | None) -> bool:
    return state == ("open" if only is None else only)


def _to_do(planned: DryRun, force: bool, only: Only | None) -> int:
    return planned.runs() if force else planned.runs("open" if only is None else only)


def _count(summary: Summary, row: Row) -> None:
    summary.done += 1
    summary.outcomes[row.outcome] += 1
    summary.tally(row.name, row.stop, row.threads).add(row.outcome, row.status)
    if row.outcome in FAILED:
        failure = (row.name, row.outcome, row.cause or "")
        if failure not in summary.failures and len(summary.failures) >= _CAUSES:
            failure = (row.name, row.outcome, "other causes")
        summary.failures[failure] += 1
