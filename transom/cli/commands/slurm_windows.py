"""What a Slurm does: ``transom slurm window``, ``advise``, ``score``, ``play`` and ``record``."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options import completion, records, slurm
from transom.cli.options.digits import DURATION
from transom.cli.options.reading import read_workload
from transom.cli.output.console import check_writable, describe, note, number, print_json, print_table, progress, remark
from transom.cli.output.imports import import_trace

if TYPE_CHECKING:
    from transom.slurm.advice import Advice
    from transom.slurm.window import Seen
    from transom.traces.records.slurm_text.jobs import SlurmJob


def window_command(
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


_NODES = 30  # characters of a list of nodes in a table


def advise_command(
    answers: slurm.Answers = None,
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            autocompletion=completion.policies,
            help="Policy that decides, as for simulate; `transom solvers` lists them.",
        ),
    ] = "fcfs-easy",
    allocate: slurm.Allocate = None,
    partition: slurm.PartitionOption = None,
    held: slurm.Held = False,
    no_later: slurm.NoLater = None,
    watch: Annotated[
        float | None,
        typer.Option("--watch", metavar=DURATION, min=0.1, help="Look again every DURATION, until Ctrl-C."),
    ] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", min=1, help="With --watch: stop after N looks.")] = None,
    log: Annotated[
        Path | None,
        typer.Option("--log", help="Parquet file to which new advice is added, for `transom slurm score`."),
    ] = None,
    seed: options.Seed = 0,
    now: slurm.Now = None,
    rest: slurm.Rest = None,
    json: options.Json = False,
) -> None:
    """Say which waiting jobs a policy would start now and where, and who would hold a reservation until when.

    The policy decides over the window of `transom slurm window` by the same code as in a replay. The table shows what
    Slurm itself means to do beside it, as far as Slurm says so. Nothing is changed, and no rights are needed.
    """
    from itertools import count

    from transom.errors import SpecError
    from transom.slurm.advice import Adviser
    from transom.slurm.advice_log import AdviceLog
    from transom.slurm.latest.latest_starts import LatestStarts
    from transom.slurm.window import window_of

    if watch is not None and answers:
        raise SpecError("--watch looks at a running Slurm, not at files")
    if rounds is not None and watch is None:
        raise SpecError("--rounds needs --watch")
    if log is not None:
        check_writable(log, ".parquet")
    adviser = Adviser(policy, slurm.allocator(allocate), seed)
    kept = None if log is None else AdviceLog(log, policy)
    latest = None if no_later is None else LatestStarts(no_later)
    before: Any = None
    for round_ in count(1):
        state = slurm.asked_state(answers, now, rest)
        limits, types = adviser.keeps_limits, adviser.keeps_types
        seen = window_of(state, partition, adviser.order, held, limits=limits, types=types)
        advice = adviser.advise(seen)
        if latest is not None:
            latest.note(window_of(state, partition, None, held, limits=limits, types=types), state.jobs, _released)
            kept_back = latest.keep(seen, [start.job.name for start in advice.starts]).kept_back
            advice = advice.within(latest.of, kept_back)
        if kept is not None:
            kept.add(advice)
        told = advice.document()
        if told != before:
            _tell_advice(seen, advice, policy, json)
            before = told
        if watch is None or round_ == rounds:
            return
        time.sleep(watch)


def _released(job: SlurmJob) -> bool:
    return not job.held


def _tell_advice(seen: Seen, advice: Advice, policy: str, json: bool) -> None:
    if json:
        head = {"policy": policy, "partition": seen.partition, "now": advice.now, **advice.document()}
        print_json({**head, "left": seen.left, "remarks": seen.remarks})
        return
    rows = []
    for start in advice.starts:
        how = "backfill now" if start.backfilled else "start now"
        rows.append([start.job.name, start.job.user, how, _short(start.where), *_slurms(start.job)])
    rows += [[job.name, job.user, f"by {_clock(at)}", "", *_slurms(job)] for job, at in advice.reserve]
    rows = [[*row[:2], *_size(job), *row[2:]] for row, job in zip(rows, _jobs(advice), strict=True)]
    columns = ["job", "user", "nodes", "limit [min]", policy, "where", "Slurm", "Slurm's nodes"]
    if (latest := advice.latest) is not None:
        columns.append("latest")
        known = [latest.get(job.name) for job in _jobs(advice)]
        rows = [[*row, "" if at is None else _clock(at)] for row, at in zip(rows, known, strict=True)]
    print_table(f"partition {seen.partition} at {_clock(advice.now)}", columns, rows, left=2)
    waiting, idle = len(seen.window.queue), len(seen.idle)
    taken = sum(len(start.nodes) for start in advice.starts)
    remark(f"{len(advice.starts)} of {waiting} waiting jobs start, on {taken} of {idle} idle nodes")
    if advice.kept_back:
        remark(f"kept back, as others would start too late: {', '.join(advice.kept_back)}")
    for line in slurm.remarks_on(seen):
        remark(line)


def _jobs(advice: Advice) -> list[Any]:
    return [start.job for start in advice.starts] + [job for job, _ in advice.reserve]


def _size(job: Any) -> list[str]:
    return [str(job.nodes), "none" if job.limit < 0 else str(job.limit // 60)]


def _slurms(job: Any) -> list[str]:
    return [_clock(job.start) if job.start > 0 else "", _short(job.planned)]


def _short(nodes: str) -> str:
    return nodes if len(nodes) <= _NODES else f"{nodes[: _NODES - 3]}..."


def _clock(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"


def score_command(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="The file of `transom slurm advise --log`.")],
    records: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RECORD]...",
            help="Slurm's records of what happened, as `transom import slurm` takes them. By default, the Slurm of "
            "this machine is asked, which forgets jobs some minutes after their end.",
        ),
    ] = None,
    timezone: records.Timezone = None,
    json: options.Json = False,
) -> None:
    """Compare logged advice with when the jobs started.

    The delay is from the first advice to start a job to its start: how much later Slurm started it than the policy
    would have. What the policy would have done afterwards is not known: that takes a replay of the records.
    """
    from transom.errors import SpecError
    from transom.slurm.advice_log import read_log, score
    from transom.slurm.happened import starts_of_records, starts_of_slurm

    if timezone is not None and not records:
        raise SpecError("--timezone belongs to records; the Slurm of this machine is asked in UTC")
    rows = read_log(log)
    found = score(rows, starts_of_records(records, timezone) if records else starts_of_slurm())
    if json:
        for each in found:
            print_json(each._asdict())
        return
    columns = [
        "policy",
        "advised",
        "started",
        "before advice",
        "later by > 1 min",
        "median [s]",
        "mean [s]",
        "Slurm's [s]",
    ]
    print_table(
        f"{log}: from the first advice to the start; Slurm's own expectation beside it, median of its error",
        columns,
        [
            [each.policy, *(str(n) for n in each[1:5]), *("" if t is None else number(t, 1) for t in each[5:])]
            for each in found
        ],
    )


def play_command(
    trace: options.Trace,
    faster: Annotated[float, typer.Option("--faster", help="Divide all times of the trace by X.")] = 1.0,
    smaller: Annotated[float, typer.Option("--smaller", help="Divide sizes of jobs by X, and round up.")] = 1.0,
    held: Annotated[bool, typer.Option("--held", help="Submit held jobs, for `transom slurm run`.")] = False,
    at_once: Annotated[
        bool,
        typer.Option("--at-once", help="Submit all jobs at once, with the times of their arrivals as begin times."),
    ] = False,
    clock: Annotated[
        float, typer.Option("--clock", help="Seconds of Slurm's clock in one of ours, for emulated Slurms.")
    ] = 1.0,
    option: Annotated[
        list[str] | None,
        typer.Option("--sbatch", metavar="OPTION", help="A further option of sbatch, such as --sbatch=-ptest. Repeat."),
    ] = None,
    start: options.Start = 0,
    jobs: options.Jobs = None,
    nodes: options.Nodes = None,
    json: options.Json = False,
) -> None:
    """Submit the jobs of a trace to the Slurm of this machine, each when it arrived in the trace.

    A job sleeps for its runtime on its number of nodes, with its walltime as limit. Its name is transom-ID. The
    command ends when all are submitted; Ctrl-C submits no more. `transom slurm record` writes what happened.
    """
    from transom.slurm.playing import Manner, play

    manner = Manner(faster, smaller, held, at_once, clock, tuple(option or ()))
    workload = read_workload(trace, nodes, start, jobs)
    for line in describe(workload):
        note(line)
    with progress() as bars:
        task = bars.add_task("play", total=len(workload))
        numbers = list(play(workload, manner, lambda count: bars.update(task, completed=count)))
    if json:
        print_json({"trace": str(trace), "jobs": numbers})
    else:
        remark(f"{counted(len(numbers), 'job')} submitted" + (f": {numbers[0]} to {numbers[-1]}" if numbers else ""))


def record_command(
    out: records.Out,
    eligible: Annotated[
        bool, typer.Option("--eligible", help="Count jobs as submitted when they became eligible.")
    ] = False,
    unit: records.UnitOption = "auto",
    anonymise: records.Anonymise = False,
    key: records.Key = None,
    json: options.Json = False,
) -> None:
    """Write what the Slurm of this machine remembers of its jobs as a trace, with the nodes of each.

    Jobs of `transom slurm play` have the ids of their trace. Slurm forgets a job some minutes after its end
    (MinJobAge); `transom import slurm` takes its accounting records, which last.
    """
    from transom.slurm.playing import record

    import_trace("slurm", ["scontrol show job"], out, lambda: record(eligible, unit), anonymise, key, json)
