"""The past of a machine: a trace, replayed, and the machine at any instant of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from transom.errors import SpecError
from transom.forecast.futures import Instant, instant
from transom.forecast.known import Known
from transom.models.arrays import IntArray
from transom.simulation.core.promise_log import PromiseLog
from transom.simulation.core.site_order import clock_begins, load_rule
from transom.simulation.engine import simulate
from transom.simulation.policies.by_name import RulePolicy, make_policy
from transom.traces.workload import Workload


class Past:
    """A replay of a trace.

    Parameters
    ----------
    workload : the trace, or its first jobs.
    policy : a priority rule, without or with backfilling.
    name : number of the application of each job, -1 where unknown, shape ``(jobs,)``.

    Raises
    ------
    SpecError : the policy is not a priority rule.
    """

    def __init__(self, workload: Workload, policy: str, name: IntArray) -> None:
        rule = make_policy(policy)
        if not isinstance(rule, RulePolicy):
            raise SpecError(f"when: policy {policy!r} is not a priority rule, such as fcfs-easy")
        self._log = PromiseLog()
        schedule = simulate(workload, rule, promises=self._log)
        self._times = schedule.decisions["time"]
        loaded = load_rule(rule.rule)
        origin = clock_begins(loaded, workload)
        self.known = Known(
            workload.cluster, workload.jobs, schedule.start, schedule.end, name,
            loaded, rule.backfilling, rule.depth, origin,
        )  # fmt: skip

    def instants(self, questions: Iterable[tuple[int, int]]) -> Iterator[Instant]:
        """The machine at instants [s] that ascend, each with how many jobs, the first ones, are known."""
        if self.known.backfilling != "conservative":
            yield from (instant(self.known, now, shown) for now, shown in questions)
            return
        asked = list(questions)
        promises = self._promises([now for now, _ in asked])
        for (now, shown), promised in zip(asked, promises, strict=True):
            yield instant(self.known, now, shown, promised)

    def _promises(self, instants: list[int]) -> Iterator[IntArray]:
        """The reservations before each of these instants, by job: one array, which changes."""
        ids = self.known.jobs.id
        order = np.argsort(ids)
        begin, pieces = np.full(len(ids), -1), self._log.pieces()
        each, low = next(pieces, None), 0
        for now in instants:
            row = int(np.searchsorted(self._times, now))
            while each is not None:
                last = len(each.offsets) - 1
                high = int(each.offsets[min(max(row - each.first, 0), last)])
                begin[order[np.searchsorted(ids, each.jobs[low:high], sorter=order)]] = each.starts[low:high]
                low = high
                if row < each.first + last:
                    break
                each, low = next(pieces, None), 0
            yield begin
