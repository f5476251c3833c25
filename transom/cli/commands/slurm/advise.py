"""``transom slurm advise``: what a policy would start now, and where."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.options import completion, slurm
from transom.cli.output.console import check_writable, print_json, print_table, remark

if TYPE_CHECKING:
    from transom.slurm.advice import Advice
    from transom.slurm.window import Seen
    from transom.traces.records.slurm_text.jobs import SlurmJob

_SHOWN = 30  # characters of a list of nodes in a table


def command(
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
        float | None, typer.Option("--watch", min=0.1, help="Look again after so many seconds, until Ctrl-C.")
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
            _tell(seen, advice, policy, json)
            before = told
        if watch is None or round_ == rounds:
            return
        time.sleep(watch)


def _released(job: SlurmJob) -> bool:
    return not job.held


def _tell(seen: Seen, advice: Advice, policy: str, json: bool) -> None:
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
    return nodes if len(nodes) <= _SHOWN else f"{nodes[: _SHOWN - 3]}..."


def _clock(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"
