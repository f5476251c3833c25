"""Replays of a trace for ``transom simulate``: policies side by side, with repetitions that show what is noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from transom.cli.output.console import (
    check_recording,
    check_writable,
    describe,
    note,
    print_json,
    remarked,
    which_machine,
)
from transom.cli.output.learned_policies import card_lines, print_cards, references
from transom.cli.output.schedule_tables import (
    By,
    breakdowns_of,
    check_kinds,
    limits_line,
    note_diagnostics,
    print_answer,
    print_breakdown,
    print_summaries,
)
from transom.cli.output.side_by_side import Comparison, drawing, side_by_side
from transom.cli.output.today import error_of, todays_run

if TYPE_CHECKING:
    from transom.cli.options.outages import OutOfService
    from transom.cli.options.resources import Equipped
    from transom.simulation import Schedule
    from transom.simulation.output.answer import Repetition
    from transom.simulation.output.metrics import Trim
    from transom.simulation.runs import Run


class Traced(NamedTuple):
    """What is replayed: the file, what a recording says of its rules, its jobs, the text of a tree, and outages."""

    trace: Path
    rules: dict[str, Any]
    jobs: Equipped
    cluster: str | None
    out_of_service: OutOfService


class Figures(NamedTuple):
    """Of which jobs figures are, and of how many moved copies; ``by`` what they are broken down; ``today`` is the
    policy that stands for the scheduler of the log."""

    tau: float
    trim: Trim
    jitter: int
    repeats: int
    by: Sequence[By]
    today: str | None = None


class Replayed(NamedTuple):
    """A schedule, its figures, and those of its repetitions."""

    schedule: Schedule
    own: Repetition
    copies: list[Repetition]


def simulate_trace(asked: Comparison, traced: Traced, runs: list[Run], figures: Figures) -> None:
    """Replay a trace under one or more policies.

    Parameters
    ----------
    asked : what is kept and shown.
    traced : the jobs.
    runs : the policies.
    figures : what is said of the schedules.
    """
    from transom.simulation.output.answer import Repetition, identical
    from transom.simulation.output.as_logged import as_logged, replay_error
    from transom.simulation.output.breakdowns import limits_held
    from transom.simulation.output.job_groups import groupings, mean_waits
    from transom.simulation.output.metrics import summary
    from transom.simulation.output.sentences import answer
    from transom.simulation.policies.by_name import deciding
    from transom.simulation.runs import repetitions, replay
    from transom.traces.further_fields import read_job_texts

    workload, out = traced.jobs.workload, asked.out
    tau, trim, jitter, repeats, by, stated = figures
    cards = card_lines(((run.label, deciding(run.policy)) for run in runs), workload.cluster.num_nodes)
    beside = references(runs) if cards and asked.reference and not asked.json else []
    details: dict[str, Any] = {"trace": str(traced.trace), "rules": traced.rules, **workload.facts}
    details["policies"] = [run.label for run in runs]
    if traced.cluster is not None:
        details["cluster"] = traced.cluster
    if traced.jobs.card:
        details["resources"] = {**traced.jobs.card, "made": traced.jobs.documents}
    if out:
        # Before the work, not after it.
        for run in runs:
            check_recording(out / run.label)
    if asked.pictures:
        check_writable(asked.pictures / "timeline.png", ".png")
    for line in (*describe(workload), *traced.jobs.lines, *traced.out_of_service.notes):
        note(line)

    texts = read_job_texts(traced.trace, workload.jobs.id) if out else {}
    groups = groupings(workload.jobs, workload.runtime, workload.cluster, workload.origin)
    check_kinds(by, groups)

    today = todays_run(workload, runs, stated)
    error = None
    if today is not None and today not in runs and (error := error_of(today, workload, stated is not None, trim)):
        details["today"] = error.document()

    def one(run: Run, report: Callable[[int], None]) -> tuple[Replayed, bool]:
        folder = None if run in beside else out
        schedule, kept = replay(workload, run, folder, details, asked.force, report, texts)
        own = Repetition(summary(schedule, tau, trim), mean_waits(schedule, groups, trim))
        copies: list[Repetition] = []
        for each in repetitions(workload, run, jitter, repeats, folder, tau, trim, asked.force):
            copies.append(each)
            report(len(workload) + len(copies))
        return Replayed(schedule, own, copies), kept

    compared = [*runs, *beside]
    found = side_by_side(compared, len(workload) + repeats, one)
    schedules, own = [each.schedule for each in found[: len(runs)]], [each.own for each in found]
    note_diagnostics(workload, compared, [each.schedule for each in found])
    copies = [each.copies for each in found]
    labels = [run.label for run in compared]
    logged = as_logged(schedules[0], trim)
    if today in runs:
        error = replay_error(today.label, schedules[runs.index(today)], groups, trim)
    said = answer(labels[: len(runs)], own[: len(runs)], copies[: len(runs)] if repeats else [], jitter, error)
    print_cards(cards, asked.json)
    drawn: list[Path] = []
    if asked.pictures:
        from transom.plot import save_figures

        with drawing():
            drawn = save_figures(schedules, asked.pictures, asked.formats, trim)
    if asked.json:
        policies = [
            _document(run, each, out, breakdowns_of(each.schedule, trim, groups, by))
            for run, each in zip(runs, found, strict=True)
        ]
        facts = {"answer": said.facts, "policies": policies, "figures": [str(path) for path in drawn]}
        if logged is not None:
            parts = breakdowns_of(logged.schedule, logged.trim, groups, by)
            del parts[By.MODE.value]  # which the log does not tell, nor uses of all nodes from starts of some jobs
            if logged.trim.among is not None:
                parts[By.WEEK.value] = {
                    week: {**each, "utilisation": nan} for week, each in parts[By.WEEK.value].items()
                }
            facts["logged"] = {"metrics": logged.figures(own[0].figures, tau), "by": parts}
        print_json(_facts(traced, schedules[0].rules) | facts)
        return
    for k in range(len(runs), len(compared)):
        pair = answer([labels[0], labels[k]], [own[0], own[k]], [copies[0], copies[k]] if repeats else ())
        said.sentences.append(pair.sentences[0])
    print_answer([*which_machine(workload), *traced.out_of_service.unasked, *said.sentences])
    title = f"{workload.name} under {schedules[0].rules} events{traced.jobs.title}"
    if (broken := traced.out_of_service.outages) is not None:
        title += f", with outages, jobs on them {_BECOME[broken.on_failure]}"
    # A deviation of repetitions that are all alike would say how much is noise.
    shown = [[] if not jitter and identical(own, copies) else [each.figures for each in listed] for listed in copies]
    by_log = None if logged is None else logged.figures(own[0].figures, tau)
    print_summaries(remarked(title, workload), compared, [each.figures for each in own], shown, logged=by_log)
    for kind in by:
        title = remarked(f"by {kind}, {schedules[0].rules} events", workload)
        print_breakdown(title, kind, runs, schedules, trim, groups, logged)
    for run, schedule in zip(runs, schedules, strict=True):
        if limited := limits_line(schedule.policy, limits_held(schedule), len(schedule.decisions["time"])):
            note(limited)
        if made := _allocations(schedule):
            note(f"{run.label}: {made['proved']:,} of {made['solved']:,} allocations are proved to be of least cost")
    if out:
        more = "" if broken is None else ", outages.parquet, attempts.parquet"
        note(f"jobs and decisions: {out}/LABEL/jobs.parquet, decisions.parquet{more}")
    for path in drawn:
        note(f"figure: {path}")


_BECOME = {"requeue": "requeued", "lose": "lost"}


def _facts(traced: Traced, rules: str) -> dict[str, Any]:
    """What a program reads of the jobs that were replayed."""
    workload = traced.jobs.workload
    return {
        "trace": str(traced.trace),
        "workload": workload.digest(),
        "jobs": len(workload),
        "nodes": workload.cluster.num_nodes,
        "rules": rules,
        **({} if traced.cluster is None else {"cluster": traced.cluster}),
        **({} if not traced.jobs.card else {"resources": traced.jobs.documents}),
        **traced.out_of_service.document(),
        **workload.facts,
        "repairs": dict(workload.repairs),
    }


def _allocations(schedule: Schedule) -> dict[str, int]:
    """How many instants had their nodes chosen by a solver, and how many of them provably well; empty if none."""
    if "allocated" not in schedule.decisions:
        return {}
    solved = schedule.decisions["allocated"] > 0
    return {"solved": int(solved.sum()), "proved": int(schedule.decisions["allocation_proved"][solved].sum())}


def _document(run: Run, replayed: Replayed, out: Path | None, by: dict[str, Any]) -> dict[str, Any]:
    from transom.simulation.output.breakdowns import limits_held
    from transom.simulation.output.metrics import aggregate
    from transom.simulation.policies.clocks import clock_of

    schedule, repeated = replayed.schedule, [each.figures for each in replayed.copies]
    return {
        "policy": run.label,
        "spec": run.spec,
        **({} if (clock := clock_of(run.policy)) is None else {"clock": clock}),
        "seed": run.seed,
        **({} if run.allocator is None else {"allocator": asdict(run.allocator)}),
        "rules": schedule.rules,
        "folder": str(out / run.label) if out else None,
        "metrics": replayed.own.figures,
        **({"limits": held} if (held := limits_held(schedule)) else {}),
        **({"allocations": allocations} if (allocations := _allocations(schedule)) else {}),
        "repeats": len(repeated),
        "jittered": {name: each._asdict() for name, each in aggregate(repeated).items()} if repeated else {},
        "by": by,
    }
