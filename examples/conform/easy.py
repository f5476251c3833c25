"""FCFS with EASY backfilling as a command for ``transom conform --golden``: TRACE POLICY -> start times as CSV.

A template for a simulator of yours: it reads the Standard Workload Format, refuses what it does not know by status 77,
and prints the columns job and start.
"""

import sys
from pathlib import Path


def easy(jobs, machine, backfill):
    """Start [s] by job; jobs are (submission, id, nodes, walltime, runtime) in the order of the queue."""
    start, now, queue = {}, -1, []
    while len(start) < len(jobs):
        ends = [start[j[1]] + j[4] for j in jobs if j[1] in start]
        now = min(t for t in ends + [j[0] for j in jobs] if t > now)
        running = [j for j in jobs if j[1] in start and start[j[1]] + j[4] > now]
        queue = [j for j in jobs if j[1] not in start and j[0] <= now]
        free = machine - sum(j[2] for j in running)
        while queue and queue[0][2] <= free:
            running.append(queue.pop(0))
            start[running[-1][1]], free = now, free - running[-1][2]
        if not queue or not backfill:
            continue
        left, shadow = free, now
        for end in sorted({start[j[1]] + j[3] for j in running}):
            if left < queue[0][2]:
                shadow = end
                left += sum(j[2] for j in running if start[j[1]] + j[3] == end)
        extra = left - queue[0][2]
        for job in queue[1:]:
            late = now + job[3] > shadow
            if job[2] <= free and not (late and job[2] > extra):
                start[job[1]], free, extra = now, free - job[2], extra - job[2] * late
    return start


def main():
    """Read, refuse, replay, print."""
    trace, policy = Path(sys.argv[1]), sys.argv[2]
    lines = trace.read_text().splitlines()
    rows = [[int(x) for x in line.split()] for line in lines if line.strip() and line.strip()[0] != ";"]
    unknown = [row for row in rows if row[16] > 0 or row[15] > 0 or row[3] < 1 or row[3] > row[8] or len(row) > 18]
    if policy not in ("fcfs", "fcfs-easy") or unknown or (trace.parent / "outages.csv").exists():
        sys.exit(77)
    machine = next(int(line.split(":")[1]) for line in lines if line.startswith("; MaxProcs"))
    jobs = sorted((row[1], row[0], row[7], row[8], row[3]) for row in rows)
    print("job,start")
    for job, time in easy(jobs, machine, policy == "fcfs-easy").items():
        print(f"{job},{time}")


if __name__ == "__main__":
    main()
