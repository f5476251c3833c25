"""Nodes that go out of service during a replay and come back: who holds which, and what that does to jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count

import numpy as np

from transom.errors import PolicyError, SpecError
from transom.models.arrays import BoolArray, IntArray
from transom.simulation.core import events
from transom.simulation.core.event_kinds import Kind
from transom.simulation.core.events import NEVER, State, interrupt
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.outage_log import ATTEMPT_COLUMNS, FAILURE, MAINTENANCE, OUTAGE_COLUMNS, OutageLog
from transom.simulation.core.schedule import Schedule
from transom.simulation.nodes.allocator import Allocator, Placed, Placer
from transom.simulation.nodes.caught_up import NOBODY, Changes, Nodes, catch_up
from transom.simulation.nodes.draining import Drains
from transom.simulation.nodes.occupancy import Occupancy
from transom.simulation.nodes.sections import sections_of
from transom.simulation.nodes.service_plan import Known, Plan, plan_of
from transom.simulation.nodes.tracker import completed
from transom.traces.outages import Outages, failures
from transom.traces.workload import Workload

_ATTEMPTS = 1000
"""A job that has been interrupted so often would never end."""

_NOWHERE = NOBODY


class Service:
    """The nodes of a replay with outages: a source of events and a keeper of nodes.

    Jobs get nodes as they start: those that are stated, those that the allocator chooses, or the idle ones that leave
    service first after the job's walltime, and among these the lowest ids.

    Parameters
    ----------
    workload : what is replayed.
    outages : what goes out of service.
    seed : >= 0, for drawn failures and for the allocator's solver.
    allocator : how jobs get nodes on a cluster with a topology, by default the lowest idle ids.
    limited : whether maintenance that is ahead limits the jobs of a pass as further resources do; else the pass plans.

    Raises
    ------
    SpecError : a row states nodes that the machine lacks, or there is an allocator but no topology.
    """

    def __init__(
        self, workload: Workload, outages: Outages, seed: int, allocator: Allocator | None, limited: bool
    ) -> None:
        self._nodes, self._outages = workload.cluster.num_nodes, outages
        tree = workload.cluster.topology
        if tree is None and allocator is not None:
            raise SpecError("allocate: the cluster has no topology")
        if tree is not None and sections_of(workload.cluster, workload.jobs) is not None:
            raise SpecError("--cluster: nodes are placed by partition or by tree, which outages do not state")
        self._placer = None if tree is None else Placer(tree, allocator or Allocator(), seed)
        self._occupancy = Occupancy(self._nodes, len(workload))
        self._jobs = workload.jobs
        self._allocated: dict[int, Placed] = {}
        self._placed = np.zeros(len(workload), bool)
        self._owner = np.full(self._nodes, _NOWHERE)
        self._failed, self._out = np.zeros(self._nodes, np.int64), np.zeros(self._nodes, np.int64)
        self._taken = np.full(self._nodes, _NOWHERE)  # by which window that states a number
        self._since = np.zeros(self._nodes, np.int64)
        self._drains = Drains(self._nodes)

        self._rows = outages.stated(self._nodes, seed)
        self._coming: list[tuple[int, int, Kind, int, IntArray, int]] = []  # time, number, kind, row, ids, end
        self._number = count()
        self._later: Iterator[tuple[int, IntArray]] = iter(())
        self._until = int(NEVER)
        if outages.mtbf is not None and len(workload):
            self._later = failures(outages, self._nodes, int(self._jobs.submit[0]), seed)
            self._until = int(self._jobs.submit[0])
        self._open: list[int] = []
        self._known: list[int] = []
        for k, row in enumerate(self._rows):
            if row.kind == "maintenance" and row.announced is not None:
                self._push(row.announced, Kind.TIMER, k)
            elif row.kind == "maintenance":
                self._known.append(k)
            self._push(row.begin, Kind.NODE_DOWN if row.ranges else Kind.CAPACITY, k, row.ids(), row.end)
        self._longest = int(self._jobs.walltime.max()) if len(workload) else 0
        begins = np.unique([row.begin for row in self._rows if row.kind == "maintenance"])
        near = np.searchsorted(begins, begins + self._longest) - np.arange(len(begins))
        self.limits = int(near.max(initial=0))
        """How many windows may begin during the longest walltime, at most."""
        self.columns = self.limits if limited else 0
        drained = min(sum(row.number for row in self._rows if row.kind == "drain"), self._nodes)
        self.room = 2 * (2 * len(self._rows) + drained + self.limits)
        """What the plan of the service takes behind the counters of the state."""
        self._plan, self._serving = Plan((), ()), self._nodes
        self._leaving = False  # whether jobs run on drained nodes
        self._near: list[int] = []
        self._looked, self._known_starts = int(NEVER), 0  # at the last look: when it was [s], and jobs started before
        self._state: State
        self._interrupted = np.zeros(len(workload), np.int64)
        self._log: list[tuple[int, int, int, int, int, int]] = []
        self._attempts: list[tuple[int, int, int]] = []
        self._attempt_runs: list[tuple[IntArray, IntArray]] = []

    def attach(self, state: State) -> None:
        """Go on with the state of a replay before its first event."""
        self._state = state
        state.at[events.LIMITED] = self.columns
        self._renew(-1, True)

    # A source of events.

    def next(self) -> int:
        """When nodes go or come next, or maintenance is announced."""
        while self._until != NEVER and (not self._coming or self._coming[0][0] >= self._until):
            self._until, rows = next(self._later)
            for begin, end, node in rows.tolist():
                self._push(begin, Kind.NODE_DOWN, _NOWHERE, np.array([node]), end)
        return self._coming[0][0] if self._coming else int(NEVER)

    def take(self, kind: Kind, now: int) -> None:
        """Take in all events of a kind that happen now; after the last kind, what is planned is renewed."""
        if kind == Kind.END:
            self._due: dict[Kind, list[tuple[int, IntArray, int]]] = {}
            while self._coming and self._coming[0][0] == now:
                _, _, which, row, ids, end = heappop(self._coming)
                self._due.setdefault(which, []).append((row, ids, end))
        elif kind == Kind.TIMER and kind in self._due:
            self._known += [row for row, _, _ in self._due[kind]]
            self._expect_interruptions()
        elif kind == Kind.NODE_UP and kind in self._due:
            self._bring_up(self._due[kind])
        elif kind == Kind.NODE_DOWN and kind in self._due:
            self._bring_down(self._due[kind], now)
        elif kind == Kind.CAPACITY and (self._due or self._leaving):
            self._change_windows(self._due.get(kind, []), now)
            self._renew(now)

    def idle_for_ever(self) -> bool:
        """Whether all nodes are in service, and nothing but failures is to come."""
        return all(row == _NOWHERE for _, _, _, row, _, _ in self._coming) and not self._out_of_service().any()

    def _push(self, time: int, kind: Kind, row: int, ids: IntArray | None = None, end: int = 0) -> None:
        none = np.empty(0, np.int64)
        heappush(self._coming, (time, next(self._number), kind, row, none if ids is None else ids, end))

    def _bring_up(self, due: list[tuple[int, IntArray, int]]) -> None:
        for row, ids, _ in due:
            away = ids[self._out_of_service()[ids]]  # where a job runs on a drained node, it never was
            if row != _NOWHERE and self._rows[row].kind == "drain":
                self._drains.end(row)
            else:
                self._out[ids] -= 1
                if row == _NOWHERE or self._rows[row].kind == "failure":
                    self._failed[ids] -= 1
            self._restore(away[~self._out_of_service()[away]])

    def _bring_down(self, due: list[tuple[int, IntArray, int]], now: int) -> None:
        for row, ids, end in due:
            if row != _NOWHERE and self._rows[row].kind == "drain":
                self._drain(row, ids, end, now)
                continue
            failure = row == _NOWHERE or self._rows[row].kind == "failure"
            ranges = [(int(ids[0]), int(ids[0]))] if row == _NOWHERE else list(self._rows[row].ranges)
            self._log += [(FAILURE if failure else MAINTENANCE, row, now, end, *each) for each in ranges]
            self._push(end, Kind.NODE_UP, row, ids)
            serving = ids[~self._out_of_service()[ids]]
            self._out[ids] += 1
            self._failed[ids] += failure
            self._withdraw(serving, now)

    def _drain(self, row: int, ids: IntArray, end: int, now: int) -> None:
        """Take nodes out of service on which no job runs; the others follow as their jobs end."""
        self._push(end, Kind.NODE_UP, row, ids)
        free = ids[self._owner[ids] == _NOWHERE]
        idle = free[~self._out_of_service()[free]]
        self._drains.begin(row, ids, end)
        self._log += self._drains.pieces(free, now, (row,))
        self._mark_out(idle)

    def _change_windows(self, due: list[tuple[int, IntArray, int]], now: int) -> None:
        """End the windows that are over, begin the others; a node that came back may go to one that lacks nodes."""
        for row, _, end in due:
            if end:
                self._open.append(row)
                self._push(end, Kind.CAPACITY, row)
                continue
            self._open.remove(row)
            held = np.flatnonzero(self._taken == row)
            self._note_window(row, held, now)
            self._taken[held] = _NOWHERE
            self._restore(held[~self._out_of_service()[held]])
        for row in sorted(self._open):
            lacking = self._rows[row].number - int((self._taken == row).sum())
            while lacking > 0:
                idle = self._occupancy.idle()
                if not len(idle):
                    busy = np.flatnonzero((self._owner != _NOWHERE) & ~self._drains.nodes)
                    if not len(busy):
                        break
                    self._interrupt(int(self._owner[busy[-1]]), now)
                    continue
                chosen = idle[-lacking:]
                self._taken[chosen], self._since[chosen] = row, now
                self._withdraw(chosen, now)
                lacking -= len(chosen)

    def _restore(self, ids: IntArray) -> None:
        self._occupancy.mark(ids, False)
        self._state.free[0] += len(ids)

    def _withdraw(self, ids: IntArray, now: int) -> None:
        """Take nodes that were in service, and end the jobs on them."""
        for job in np.unique(self._owner[ids]).tolist():
            if job != _NOWHERE:
                self._interrupt(job, now)
        self._mark_out(ids[~self._drains.nodes[ids]])  # drained ones have left with their jobs

    def _mark_out(self, ids: IntArray) -> None:
        """Idle nodes are no longer in service."""
        self._occupancy.mark(ids, True)
        self._state.free[0] -= len(ids)

    def _interrupt(self, job: int, now: int) -> None:
        s, lose = self._state, self._outages.on_failure == "lose"
        self._attempts.append((job, int(s.jobs[job, events.START]), now))
        self._attempt_runs.append(self._occupancy.runs_of(job))
        self._interrupted[job] += 1
        if self._interrupted[job] > _ATTEMPTS:
            raise PolicyError(
                f"at {now} s: job {self._jobs.id[job]} has been interrupted {_ATTEMPTS} times and would never end; "
                "state rarer failures, or have jobs lost"
            )
        interrupt(s, job, not lose)
        s.jobs[job, events.WALLTIME] = self._jobs.walltime[job]
        self.release(np.array([job]))
        s.at[events.REPLAN] = 1

    def _out_of_service(self) -> BoolArray:
        drained = self._drains.nodes & (self._owner == _NOWHERE)
        out: BoolArray = (self._out > 0) | (self._taken != _NOWHERE) | drained
        return out

    def _note_window(self, row: int, held: IntArray, end: int) -> None:
        order = held[np.lexsort((held, self._since[held]))]
        cuts = np.flatnonzero((np.diff(order) != 1) | (np.diff(self._since[order]) != 0)) + 1
        for piece in np.split(order, cuts):
            if len(piece) and self._since[piece[0]] < end:
                since = int(self._since[piece[0]])
                self._log.append((MAINTENANCE, row, since, end, int(piece[0]), int(piece[-1])))

    # What is known ahead.

    def _renew(self, now: int, first: bool = False) -> None:
        """Bring up to date what is known of the service from now on."""
        at = self._state.at
        self._known = [k for k in self._known if self._rows[k].end > now]
        lacking = {k: self._rows[k].number - int((self._taken == k).sum()) for k in self._open}
        draining = self._drains.nodes & (self._owner != _NOWHERE)
        self._leaving = bool(draining.any())
        away = (self._failed > 0) | (self._drains.nodes & ~draining)
        rows = [(k, self._rows[k]) for k in self._known]
        known = Known(away, self._taken, rows, lacking, self._ends_on(draining, now) if self._leaving else {})
        plan, serving = plan_of(known, now), int((~self._out_of_service()).sum())
        if first or plan.after(now) != self._plan.after(now) or serving != self._plan.level(self._serving, now):
            at[events.REPLAN] = 1
        self._plan, self._serving = plan, serving
        at[events.PASSED] = 0
        at[events.CHANGES] = len(plan.changes)
        at[events.COUNTERS : events.COUNTERS + 2 * len(plan.changes)] = np.array(plan.changes, np.int64).ravel()

    def _expect_interruptions(self) -> None:
        """Jobs on nodes of announced windows will run until the first of these begins: their walltimes end there.

        From then on a job holds none of its nodes, within the window or not, and nothing of the further resources.
        """
        leaves, s, running = self._leaves(), self._state, int(self._state.at[events.RUNNING])
        if leaves is None or not running:
            return
        until, busy = np.full(len(self._jobs), NEVER), self._owner != _NOWHERE
        np.minimum.at(until, self._owner[busy], leaves[busy])
        expected, jobs = s.expected[:running], s.expected[:running, 1].copy()
        ends = np.minimum(expected[:, 0], until[jobs])
        if (ends == expected[:, 0]).all():
            return
        s.jobs[jobs, events.WALLTIME] = ends - s.jobs[jobs, events.START]
        order = np.lexsort((jobs, ends))
        expected[:] = np.column_stack((ends, jobs))[order]
        s.at[events.REPLAN] = 1

    def _ends_on(self, draining: BoolArray, now: int) -> dict[int, IntArray]:
        """The drained nodes on which jobs run, by the ends that are expected of these [s]."""
        ids, jobs = np.flatnonzero(draining), self._state.jobs[self._owner[draining]]
        ends = np.maximum(jobs[:, events.START] + jobs[:, events.WALLTIME], now + 1)
        return {int(end): ids[ends == end] for end in np.unique(ends)}

    def prepare(self) -> None:
        """Before a pass, say what limits the jobs that would run beyond the begin of a window."""
        s, at, now = self._state, self._state.at, int(self._state.at[events.NOW])
        near = [time for time in self._plan.begins if now < time < now + self._longest]
        self._looked = now
        at[events.STOP] = self._next_look(near)
        if near != self._near:
            at[events.PASSED] = 0
        elif not near:
            return
        self._near = near
        leaves = self._leaves()
        idle = None if leaves is None else leaves[self._occupancy.idle()]
        queue, running = s.queue[: at[events.QUEUED]], s.expected[: at[events.RUNNING], 1]
        ends = np.maximum(s.expected[: at[events.RUNNING], 0], now + 1)
        place = events.COUNTERS + 2 * int(at[events.CHANGES])
        at[events.LIMITS] = len(near) if self.columns or idle is not None else 0
        for k in range(max(len(near), self.columns)):
            time = near[k] if k < len(near) else None
            lasting = int(s.free[0]) if idle is None or time is None else int((idle > time).sum())
            if time is not None and at[events.LIMITS]:
                at[place + 2 * k : place + 2 * k + 2] = time, lasting
            if not self.columns:
                continue
            column = s.jobs.shape[1] - self.columns + k
            if time is None:
                s.jobs[queue, column] = s.jobs[running, column] = s.free[column - events.DEMAND] = 0
                continue
            nodes = s.jobs[:, events.DEMAND]
            s.jobs[queue, column] = np.where(now + s.jobs[queue, events.WALLTIME] > time, nodes[queue], 0)
            s.jobs[running, column] = np.where(ends > time, nodes[running], 0)
            then = self._plan.level(self._serving, time) - int(s.jobs[running, column].sum())
            s.free[column - events.DEMAND] = max(0, min(then, lasting))

    def _next_look(self, near: list[int]) -> int:
        """The instant from which on events are taken in one by one: the next one of the service, or when a window may
        begin during the longest walltime; at once where nodes matter to each event."""
        if near or self._leaving or (self._placer is not None and self._placer.solver is not None):
            return -int(NEVER)
        begins = [time - self._longest + 1 for time in self._plan.begins if time > self._looked]
        return max(min([self.next(), *begins]), 1)

    def _leaves(self) -> IntArray | None:
        """When each node leaves service next, as far as that is known; None if nothing is."""
        now, leaves = int(self._state.at[events.NOW]), None
        for k in self._known:
            row = self._rows[k]
            if row.ranges and row.begin > now:
                if leaves is None:
                    leaves = np.full(self._nodes, NEVER)
                ids = row.ids()
                leaves[ids] = np.minimum(leaves[ids], row.begin)
        return leaves

    # A keeper of nodes.

    def idle(self) -> IntArray:
        """Ids of the idle nodes in service, ascending, read-only."""
        return self._occupancy.idle()

    def release(self, jobs: IntArray) -> None:
        """Take back the nodes of jobs that ended."""
        for job in jobs.tolist():
            ids = self._occupancy.ids_of(job)
            self._occupancy.release(job)
            self._owner[ids] = _NOWHERE
            self._placed[job] = False
            if len(left := ids[self._drains.nodes[ids]]):
                self._mark_out(left)
                self._log += self._drains.pieces(left, int(self._state.at[events.NOW]))

    def allocate_started(self) -> None:
        """Give nodes to the jobs that were started since the last look, and take back those of jobs that ended."""
        s = self._state
        if s.at[events.NOW] > self._looked:
            self._catch_up()
        self._known_starts = int(s.at[events.STARTED])
        running = s.expected[: s.at[events.RUNNING], 1]
        new = running[~self._placed[running]]
        if len(new):
            order = np.argsort(s.jobs[new, events.ORDER])
            self.start(int(s.at[events.NOW]), new[order], {})

    def _catch_up(self) -> None:
        """Go through the starts and ends that compiled loops have taken in, while nothing of the service changed."""
        jobs = self._state.jobs
        started = np.flatnonzero(jobs[:, events.ORDER] >= self._known_starts)
        over = jobs[:, events.END] >= 0
        ended = np.flatnonzero(self._placed & over)
        low, high = np.zeros(len(jobs), np.int64), np.zeros(len(jobs), np.int64)
        for k in ended.tolist():
            first, last = self._occupancy.runs_of(k)
            low[k], high[k] = first[0], last[-1]
        ended = np.concatenate((ended, started[over[started]]))
        job = np.concatenate((ended, started))
        starts = np.arange(len(job)) >= len(ended)
        time = np.where(starts, jobs[job, events.START], jobs[job, events.END])
        order = np.lexsort((jobs[job, events.ORDER], starts, time))
        job, starts = job[order], starts[order]
        until = jobs[job, events.START] + self._jobs.walltime[job]
        leaves = self._leaves()
        stays = np.full(self._nodes, NEVER) if leaves is None else leaves
        nodes = Nodes(self._occupancy.busy, self._owner, stays, low, high)
        for each, firsts, lasts in catch_up(Changes(job, starts, until, self._jobs.nodes[job]), nodes):
            self._occupancy.note(each, firsts, lasts)
        self._placed[started] = True
        self._placed[ended] = False

    def lasts(self, nodes: Sequence[int], until: int) -> bool:
        """Whether, as far as is known, these nodes stay in service before an instant [s]."""
        leaves = self._leaves()
        return leaves is None or bool((leaves[np.asarray(nodes, np.int64)] >= until).all())

    def start(self, now: int, jobs: IntArray, stated: Mapping[int, Sequence[int]]) -> None:
        """Give nodes to jobs that start: those stated by job id, else what the allocator or the order of ids finds.

        Raises
        ------
        PolicyError : stated nodes are not idle, or not as many distinct ones as the job asks for.
        """
        rest, leaves = [], self._leaves()
        for job in jobs.tolist():
            id_ = int(self._jobs.id[job])
            if id_ in stated:
                asks = int(self._jobs.nodes[job])
                self._occupancy.take_stated(job, stated[id_], asks, f"at {now} s: job {id_}")
                self._own(job)
            else:
                rest.append(job)
        if self._placer is None or self._placer.solver is None:
            for job in rest:
                self._occupancy.take(job, np.sort(self._soonest_leaving(job, now, leaves)))
                self._own(job)
        elif rest:
            self._allocate(now, rest, leaves)

    def _soonest_leaving(self, job: int, now: int, leaves: IntArray | None) -> IntArray:
        """The idle nodes that leave service first, of those that stay as long as a job may run."""
        idle, asks = self._occupancy.idle(), int(self._jobs.nodes[job])
        if leaves is None:
            return idle[:asks]
        lasting: IntArray = idle[leaves[idle] >= now + self._jobs.walltime[job]]
        return lasting[np.lexsort((lasting, leaves[lasting]))][:asks]

    def _allocate(self, now: int, jobs: list[int], leaves: IntArray | None) -> None:
        assert self._placer is not None
        ends = now + self._jobs.walltime[jobs]
        if leaves is None or (leaves[self._occupancy.idle()] >= ends.max()).all():
            groups = [jobs]
        else:  # Those who stay longest choose first: what they leave is enough for the others.
            groups = [[jobs[k]] for k in np.argsort(-ends, kind="stable").tolist()]
        total = Placed([])
        for group in groups:
            idle = self._occupancy.idle()
            if leaves is not None and len(groups) > 1:
                idle = idle[leaves[idle] >= now + self._jobs.walltime[group[0]]]
            placed = self._placer.place(idle, self._jobs.nodes[group])
            for job, nodes in zip(group, placed.nodes, strict=True):
                self._occupancy.take(job, nodes)
                self._own(job)
            total = Placed([], total.jobs + placed.jobs, total.cost + placed.cost, total.proved and placed.proved)
        self._allocated[now] = total

    def _own(self, job: int) -> None:
        self._owner[self._occupancy.ids_of(job)] = job
        self._placed[job] = True

    def completed(self, schedule: Schedule) -> Schedule:
        """The schedule with its nodes, what they cost, and what outages did."""
        end = int(self._state.at[events.NOW])
        for row in sorted(self._open):
            self._note_window(row, np.flatnonzero(self._taken == row), self._rows[row].end)
        outages = np.array(sorted(self._log, key=lambda each: (each[2], each[4])), np.int64).reshape(-1, 6)
        outages = outages[outages[:, 2] <= end]
        attempts = np.array(self._attempts, np.int64).reshape(-1, 3)
        firsts, lasts = ([runs[side] for runs in self._attempt_runs] for side in (0, 1))
        none = np.empty(0, np.int64)
        offsets = np.cumsum([0, *map(len, firsts)])
        lost = np.unique(attempts[:, 0]) if self._outages.on_failure == "lose" else none
        log = OutageLog(
            self._outages.on_failure,
            **dict(zip(OUTAGE_COLUMNS, outages.T, strict=True)),
            **dict(zip(ATTEMPT_COLUMNS, attempts.T, strict=True)),
            runs=NodeRuns(offsets, np.concatenate([none, *firsts]), np.concatenate([none, *lasts])),
            lost=lost,
        )
        runs = self._occupancy.runs()
        schedule = replace(schedule, outages=log)
        if self._placer is None:
            return replace(schedule, runs=runs)
        return completed(schedule, runs, self._placer, self._allocated)
