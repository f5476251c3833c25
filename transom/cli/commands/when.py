"""``transom when``: when will a job start?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options import completion
from transom.cli.options.digits import DURATION
from transom.cli.options.outages import unforeseen
from transom.cli.options.reading import Reading, read_workload
from transom.cli.options.structs import with_structs
from transom.cli.output.console import describe, note, print_json, print_table, remark, remarked, which_machine
from transom.cli.output.learned_policies import card_lines, print_cards


@with_structs
def command(
    trace: Annotated[
        Path, typer.Argument(help="A trace: SWF, plain or gzip, or Parquet. With --history, a snapshot of a queue.")
    ],
    job: Annotated[
        list[str] | None,
        typer.Option(
            "--job", metavar="ID", help="Id of a job as the trace spells it, such as 12 or 12_3. Repeat for several."
        ),
    ] = None,
    policy: Annotated[
        str, typer.Option("--policy", autocompletion=completion.policies, help="Policy: a priority rule.")
    ] = "fcfs-easy",
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar=f"{DURATION}|TIME",
            help="When to ask: on the clock of the trace, or a time such as 2026-01-31T12:00 (UTC). By default, when "
            "the job is submitted.",
        ),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option("--history", help="Trace of jobs that ran before the snapshot. All queued jobs by default."),
    ] = None,
    nodes: options.Nodes = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    *,
    reading: Reading,
) -> None:
    """Forecast when jobs start, from what was known when they were submitted.

    Each answer has the walltime plan, which assumes that every job runs to its limit and that no job is submitted, and
    quantiles of the start over sampled futures, calibrated on jobs that started before. What the calibration needs is
    kept in the user's cache. With --history, the first file holds snapshots as `transom snapshot` writes them. With
    --json, one line per job.
    """
    from transom.errors import SpecError
    from transom.forecast.questions import ask
    from transom.forecast.snapshot import History
    from transom.simulation.policies.by_name import deciding, make_policy
    from transom.traces.further_fields import read_applications
    from transom.traces.job_ids import jobs_called, read_labels, spelled
    from transom.traces.origin import unix_epoch
    from transom.traces.records.slurm_text.jobs import task_name

    workload = read_workload(history or trace, nodes, seed=seed, reading=reading)
    for line in describe(workload):
        note(line)
    name = read_applications(history or trace, workload.jobs.id)
    labels: dict[int, str] = {}
    limits: dict[int, int] = {}  # walltimes
    epoch = workload.origin.epoch
    now = None if at is None else _instant(at, epoch)
    if history is not None:
        from transom.io import read_windows

        options.refuse({"--at": at}, "--history")
        asked, answers = History(workload, policy, name, seed, keep=True), []
        for window in read_windows(trace):
            queued, where = window.queue.id, f"{trace}: queue at {window.now} s"
            names = [task_name(id_) for id_ in queued.tolist()]
            labels |= {id_: task_name(id_) for id_ in (*queued.tolist(), *window.running.id.tolist())}
            limits |= dict(zip(queued.tolist(), window.queue.walltime.tolist(), strict=True))
            epoch = unix_epoch(epoch or 0, window.now)
            answers += asked.ask(window, None if job is None else jobs_called(job, names, queued, where))
    elif not job:
        raise SpecError(f"{trace}: say with --job which job to ask about")
    else:
        ids = workload.jobs.id
        names = read_labels(trace, ids)
        labels = dict(zip(ids.tolist(), names, strict=True))
        limits = dict(zip(ids.tolist(), workload.jobs.walltime.tolist(), strict=True))
        left = sum(count for what, count in workload.repairs.items() if what.startswith("left out"))
        where = f"{workload.name} ({counted(left, 'job')} left out)" if left else workload.name
        answers = ask(workload, policy, jobs_called(job, names, ids, where), now, name, seed, keep=True)
    later = (epoch or 0) - (workload.origin.epoch or 0)  # the clock of the trace than that of the answers [s]
    first = min((each.now for each in answers), default=0) + later
    last = max((max(each.p90, each.plan) + limits[each.job] for each in answers), default=0) + later
    left_out = unforeseen(workload, first, last)
    told = [each._asdict() for each in answers]
    for each in told:
        each |= {"job": spelled(labels.get(each["job"], str(each["job"]))), "because": _called(each["because"], labels)}
    print_cards(card_lines([(policy, deciding(make_policy(policy)))], workload.cluster.num_nodes), json)
    if json:
        for line in left_out:
            note(line)
        for each in told:
            print_json(each)
        return
    for line in (*which_machine(workload), *left_out):
        remark(line)
    clock = "on the clock of the trace" if epoch is None else "in UTC"
    print_table(
        remarked(f"starts under {policy}, times {clock}", workload),
        ["job", "asked at", "p10", "p50", "p90", "by the plan", "because"],
        [_cells(each, epoch) for each in told],
    )


def _instant(text: str, epoch: int | None) -> int:
    """A time on the clock of the trace [s], from a duration since its 0 s or a date.

    Raises
    ------
    SpecError : it is neither, or a date of a trace that states none.
    """
    from datetime import UTC, datetime

    from transom._system.durations import EXPECTED, seconds_in
    from transom.errors import SpecError

    try:
        found = int(seconds_in(text, whole=True))
    except ValueError:
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            also = f"or a time such as 2026-01-31T12:00, got {text[:40]!r}"
            raise SpecError(f"--at: expected {EXPECTED}, {also}") from None
        if epoch is None:
            raise SpecError(f"--at {text}: the trace does not state when its clock began (UnixStartTime)") from None
        found = int((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()) - epoch
    if found < 0:
        raise SpecError(f"--at {text}: is before the clock of the trace began")
    return found


def _cells(told: Mapping[str, Any], epoch: int | None) -> list[str]:
    """A line of the table: instants as dates, without the date where it is that of the question."""
    from transom._system.durations import from_now, minute

    asked = minute(told["now"], epoch)
    date = asked[: -len("00:00")]
    starts = [
        "now" if told[name] == told["now"] else
        f"{minute(told[name], epoch).removeprefix(date)}, {from_now(told[name] - told['now'])}"
        for name in ("p10", "p50", "p90", "plan")
    ]  # fmt: skip
    return [str(told["job"]), asked, *starts, told["because"]["text"]]


def _called(because: dict[str, Any], labels: Mapping[int, str]) -> dict[str, Any]:
    """A reason with the jobs that it names as the trace spells them."""
    from transom.forecast.reasons import ending
    from transom.traces.job_ids import spelled

    if not (ids := because.get("jobs")):
        return because
    names = [spelled(labels.get(job, str(job))) for job in ids]
    return {**because, "jobs": names, "text": because["text"].replace(ending(ids), ending(names))}
