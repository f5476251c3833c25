"""A second, slow replay that shares nothing with the engine: brute force over lists, to compare with."""

from __future__ import annotations

from collections.abc import Callable

from transom.traces import TracedJob, Workload

Amounts = tuple[int, ...]
Key = Callable[[TracedJob, int], tuple[float, ...]]
Look = Callable[[int, list[TracedJob], list[tuple[TracedJob, int]]], None]


def replay(workload: Workload, key: Key, backfilling: str, look: Look | None = None) -> dict[int, int]:
    """Start [s] per job id under a queue order ``key(job, now)`` and a way of backfilling.

    ``look(now, queue, running)`` is shown who waits, and who runs with their starts, before each pass.
    """
    jobs = [workload[i] for i in range(len(workload))]
    capacity: Amounts = (workload.cluster.num_nodes, *workload.cluster.capacities)
    start: dict[int, int] = {}
    plan: dict[int, int] = {}
    by_id = {t.job.id: t for t in jobs}

    def end(t: TracedJob) -> int:
        return start[t.job.id] + t.runtime

    def asks(t: TracedJob) -> Amounts:
        return (t.job.nodes, *t.job.demand)

    now = -1
    while len(start) < len(jobs) or plan:
        # The next instant: an end, a submission, or a reservation that comes due.
        times = [end(t) for t in jobs if t.job.id in start] + [t.job.submit for t in jobs] + list(plan.values())
        coming = [time for time in times if time > now]
        if not coming:
            break
        now = min(coming)
        running = [t for t in jobs if t.job.id in start and end(t) > now]
        queue = [
            t
            for t in jobs
            if t.job.id not in start
            and t.job.submit <= now
            and all(p in start and end(by_id[p]) <= now for p in t.job.depends_on)
        ]
        if look is not None:
            look(now, queue, [(t, start[t.job.id]) for t in running])
        queue.sort(key=lambda t: (*key(t, now), t.job.submit, t.job.id))

        def expected(t: TracedJob, now: int = now) -> int:
            return max(start[t.job.id] + t.job.walltime, now + 1)

        def free_at(time: int, among: list[TracedJob], reserved: dict[int, int], now: int = now) -> Amounts:
            used = [asks(t) for t in among if expected(t, now) > time]
            used += [asks(by_id[j]) for j, b in reserved.items() if b <= time < b + by_id[j].job.walltime]
            return tuple(c - sum(u[r] for u in used) for r, c in enumerate(capacity))

        def fits(t: TracedJob, free: Amounts) -> bool:
            return all(a <= f for a, f in zip(asks(t), free, strict=True))

        if backfilling in ("none", "easy"):
            while queue and fits(queue[0], free_at(now, running, {})):
                t = queue.pop(0)
                start[t.job.id] = now
                running.append(t)
            if backfilling == "easy" and queue:
                head = queue.pop(0)
                shadow = min(e for e in map(expected, running) if fits(head, free_at(e, running, {})))
                for t in queue:
                    if not fits(t, free_at(now, running, {})):
                        continue
                    trial = [*running, t]
                    start[t.job.id] = now
                    if fits(head, free_at(shadow, trial, {})):
                        running = trial
                    else:
                        del start[t.job.id]
            continue

        early = any(
            start[t.job.id] + t.runtime == now and t.runtime < t.job.walltime for t in jobs if t.job.id in start
        )

        def earliest(t: TracedJob, reserved: dict[int, int], now: int = now, among: list[TracedJob] = running) -> int:
            steps = {now, *map(expected, among), *reserved.values()}
            steps |= {b + by_id[j].job.walltime for j, b in reserved.items()}
            for begin in sorted(s for s in steps if s >= now):
                inside = [begin, *(s for s in steps if begin < s < begin + t.job.walltime)]
                if all(fits(t, free_at(s, among, reserved)) for s in inside):
                    return begin
            raise AssertionError("the last step is an empty machine")

        while early:  # round after round, until none moves
            early = False
            for t in queue:
                if t.job.id in plan:
                    rest = {j: b for j, b in plan.items() if j != t.job.id}
                    moved = earliest(t, rest)
                    assert moved <= plan[t.job.id]
                    early = early or moved < plan[t.job.id]
                    plan[t.job.id] = moved
        for t in queue:
            if t.job.id not in plan:
                plan[t.job.id] = earliest(t, plan)
        for t in queue:
            if plan[t.job.id] == now:
                start[t.job.id] = now
                del plan[t.job.id]
    return start
