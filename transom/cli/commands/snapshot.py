"""``transom snapshot``: windows cut out of a replay."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options import completion
from transom.cli.options.digits import DURATION
from transom.cli.options.nodes import machine, on_tree
from transom.cli.options.reading import Reading, read_workload
from transom.cli.options.resources import Resources, equipped
from transom.cli.options.structs import with_structs
from transom.cli.output.console import check_writable, describe, note, print_json, progress, remark, which_machine


@with_structs
def command(
    trace: options.Trace,
    every: Annotated[int, typer.Option("--every", metavar=DURATION, min=1, help="Time between two windows.")],
    out: Annotated[Path, typer.Option("--out", help="Output file for the windows: .jsonl or .jsonl.gz.")],
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            autocompletion=completion.policies,
            help="Policy of the replay; `transom solvers` lists them.",
        ),
    ] = "fcfs-easy",
    order: Annotated[
        str | None, typer.Option("--order", help="Priority rule that orders the queue. By default, that of the policy.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="Network of the nodes, as for simulate. Windows then list the idle nodes."),
    ] = None,
    allocate: Annotated[
        str | None,
        typer.Option(
            "--allocate",
            autocompletion=completion.solvers,
            help="Solver that chooses the nodes of each job. By default, the lowest idle ids.",
        ),
    ] = None,
    resources: Resources = None,
    minimum: Annotated[int, typer.Option("--minimum", min=1, help="Skip windows with fewer than N waiting jobs.")] = 1,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Write at most N windows.")] = None,
    start: options.Start = 0,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    nodes: options.Nodes = None,
    *,
    reading: Reading,
) -> None:
    """Replay a trace and write scheduling windows at regular times.

    A window is the state just before the first decision at or after each point in time. It holds the waiting jobs
    in the order of the site, the running jobs with the ends that follow from their walltimes, and what is free. It
    never holds the real runtime of a job. With --cluster it lists the ids of the idle nodes. `transom solve` reads
    the file.
    """
    from itertools import islice

    from transom.errors import SpecError
    from transom.io import write_documents
    from transom.simulation import make_policy, simulate
    from transom.simulation.core.site_order import load_rule, site_order
    from transom.simulation.nodes.allocator import Allocator
    from transom.simulation.snapshots import snapshots

    if allocate is not None and cluster is None:
        raise SpecError("--allocate needs --cluster, such as fat-tree:k=20")
    allocator = None if allocate is None else Allocator(allocate)
    chosen = make_policy(policy)
    rule = str(order or getattr(chosen, "order", "fcfs"))
    load_rule(rule)
    check_writable(out, ".jsonl")
    read = read_workload(trace, machine(nodes, cluster), start, jobs, seed=seed, reading=reading)
    extended = equipped(on_tree(read, cluster, []), trace, resources, seed)
    workload = extended.workload
    for line in describe(workload) + extended.lines + which_machine(workload):
        note(line)
    first = workload.jobs.take(slice(0, 1))
    try:
        site_order(load_rule(rule), first, int(first.submit[0]), int(first.submit[0]))  # before minutes of a replay
    except SpecError as error:
        raise SpecError(f"windows cannot be in the order of {rule}: {error}; name another one with --order") from None
    with progress() as bars:
        task = bars.add_task(policy, total=len(workload))
        schedule = simulate(
            workload,
            chosen,
            seed=seed,
            label=policy,
            progress=lambda started: bars.update(task, completed=started),
            allocator=allocator,
        )
    longest = int(schedule.decisions["queued"].max(initial=0))
    if longest < minimum:
        raise SpecError(f"{trace}: no window has {minimum} waiting jobs; the longest queue has {longest}")
    windows = snapshots(schedule, every, rule, minimum, workload)
    count = write_documents(out, windows if limit is None else islice(windows, limit))
    if json:
        described = {"trace": str(trace), "workload": workload.digest(), "policy": policy}
        more = workload.facts if resources is None else {**workload.facts, "resources": extended.documents}
        print_json({**described, **more, "windows": count, "out": str(out)})
    else:
        remark("; ".join([f"{out}: {counted(count, 'window')}", *(each.short for each in workload.diagnostics)]))
