"""``transom slurm window``: the window of a Slurm, as a document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options import slurm
from transom.cli.output.console import check_writable, print_json, remark


def command(
    answers: slurm.Answers = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Output file for the window: .json or .json.gz.")
    ] = None,
    partition: slurm.PartitionOption = None,
    order: Annotated[
        str | None,
        typer.Option("--order", help="Priority rule that orders the queue. By default, Slurm's own priorities."),
    ] = None,
    held: slurm.Held = False,
    now: slurm.Now = None,
    rest: slurm.Rest = None,
    limits: Annotated[
        bool,
        typer.Option(
            "--limits",
            help="Jobs with --switches=N are in the window, with their limits; otherwise they are left to Slurm.",
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """Write what waits, runs and is idle in a Slurm as a window, which `transom solve` takes.

    The window counts whole nodes of one partition. A node is idle if it is neither down, drained, reserved nor in use
    by any job. Nodes that several jobs share become idle with the last of them. Licences are further resources, and
    so are the nodes that no coming reservation takes away, and those that some job is confined to by features, cores or
    memory; node types state which nodes these are. Jobs that cannot be expressed so are left to Slurm, and
    counted by reason; with `--limits` the window has those with limits on leaf switches, too, which allocations and
    joint choices keep. Nothing is changed, and no rights are needed.
    """
    from transom.io import write_documents
    from transom.slurm.window import window_of

    if out is not None:
        check_writable(out, ".json")
    seen = window_of(slurm.asked_state(answers, now, rest), partition, order, held, limits=limits, types=True)
    window = seen.window
    if out is not None:
        write_documents(out, [window])
    if json:
        print_json(
            {
                "partition": seen.partition,
                "now": window.now,
                "nodes": len(seen.names),
                "idle": [seen.names[i] for i in seen.idle.tolist()],
                "queue": [seen.jobs[job].name for job in window.queue.id.tolist()],
                "running": [seen.jobs[job].name for job in window.running.id.tolist()],
                "left": seen.left,
                "remarks": seen.remarks,
                "out": None if out is None else str(out),
            }
        )
        return
    told = f"{counted(len(window.queue), 'job')} waiting, {len(window.running)} running"
    told += f", {len(seen.idle)} of {counted(len(seen.names), 'node')} idle"
    remark(f"partition {seen.partition}: {told}")
    for line in slurm.remarks_on(seen):
        remark(line)
    if out is not None:
        remark(f"window: {out}")
