"""Tables of ``transom simulate``: policies side by side, and broken down."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from transom._system.durations import column_unit, day
from transom._system.wording import counted
from transom.cli.output.console import display, note, number, print_table, remark

if TYPE_CHECKING:
    from transom.simulation import Schedule
    from transom.simulation.output.as_logged import Logged
    from transom.simulation.output.job_groups import Grouping
    from transom.simulation.output.metrics import Trim
    from transom.simulation.runs import Run
    from transom.traces import Workload


class By(StrEnum):  # typer takes no list of literals
    """How to break the figures down."""

    MODE = "mode"
    SIZE = "size"
    WEEK = "week"
    PARTITION = "partition"
    ACCOUNT = "account"
    USER = "user"


GROUPED = {By.PARTITION: "partition", By.ACCOUNT: "group", By.USER: "user"}
"""Kinds of :mod:`~transom.simulation.output.job_groups`."""

_SHOWN = 20  # groups in a table
_LONG = 40  # letters of a label; tables cut longer ones


TIME = 0
"""Instead of a unit: hours, minutes or seconds, as the values of a column need them."""

_COLUMNS = {
    "mean wait": ("mean_wait", TIME, 2),
    "median wait": ("median_wait", TIME, 2),
    "max wait": ("max_wait", TIME, 1),
    "mean response": ("mean_response", TIME, 2),
    "mean slowdown": ("mean_slowdown", 1, 1),
    "mean bounded slowdown": ("mean_bounded_slowdown", 1, 2),
    "utilisation [%]": ("utilisation", 0.01, 1),
    "ready [%]": ("job_share_ready", 0.01, 1),
    "reserved [%]": ("job_share_reserved", 0.01, 1),
    "backfilled [%]": ("job_share_backfilled", 0.01, 1),
}
_HOP_COLUMNS = {
    "mean hop cost": ("mean_hop_cost", 1, 1),
    "switches per job": ("mean_leaves", 1, 2),
    "pods per job": ("mean_pods", 1, 2),
}
_OUTAGE_COLUMNS = {
    "out of service [%]": ("out_of_service", 0.01, 2),
    "failures": ("failures", 1, 0),
    "requeued": ("requeued", 1, 0),
    "lost jobs": ("lost_jobs", 1, 0),
    "lost [node h]": ("lost_node_seconds", 3600, 0),
}
_IF_ANY = ("failures", "requeued", "lost jobs", "lost [node h]")  # maintenance ends no job
_EACH = "utilisation_submitting_"  # begins a figure of each further resource


def print_summaries(
    title: str,
    runs: list[Run],
    summaries: list[dict[str, float]],
    repeated: list[list[dict[str, float]]],
    over: str = "repetition",
    logged: dict[str, float] | None = None,
) -> None:
    """One row per run: its figures, or where there are repetitions (``over``: of what) their means and deviations;
    before them the figures by the log where it tells any."""
    from transom.simulation.output.as_logged import AS_LOGGED
    from transom.simulation.output.metrics import aggregate
    from transom.traces.partitions import PREFIX

    def cell(name: str, unit: float, digits: int, one: dict[str, float], many: list[dict[str, float]]) -> str:
        if not many:
            return number(one[name] / unit, digits)
        mean, deviation = aggregate(many)[name]
        return f"{number(mean / unit, digits)} ± {number(deviation / unit, digits)}"

    labels = [*_shown_as(runs).values()]
    if logged is not None:
        labels, summaries, repeated = [AS_LOGGED, *labels], [logged, *summaries], [[], *repeated]

    def values(name: str) -> list[float]:
        return [aggregate(many)[name][0] if many else one[name] for one, many in zip(summaries, repeated, strict=True)]

    columns: dict[str, tuple[str, float, int]] = {}
    shown = {**_COLUMNS, **(_HOP_COLUMNS if "mean_hop_cost" in summaries[0] else {})}
    shown |= _OUTAGE_COLUMNS if "failures" in summaries[0] else {}
    for figure, stated in shown.items():
        if figure in _IF_ANY and not any(each > 0 for each in values(stated[0])):
            continue
        heading, column = sized(figure, *stated, values(stated[0]))
        columns[heading] = column
        if column[0] == "utilisation":
            further = [name.removeprefix(_EACH) for name in summaries[0] if name.startswith(_EACH)]
            columns |= {f"{name.removeprefix(PREFIX)} used [%]": (f"utilisation_{name}", 0.01, 1) for name in further}
    rows = [
        [label, *(cell(*column, one, many) for column in columns.values())]
        for label, one, many in zip(labels, summaries, repeated, strict=True)
    ]
    means = f"; mean ± deviation over {counted(len(repeated[-1]), over)}" if repeated[-1] else ""
    print_table(title + means, ["policy", *columns], rows)
    _print_names(runs)


def sized(
    heading: str, name: str, unit: float, digits: int, values: Iterable[float]
) -> tuple[str, tuple[str, float, int]]:
    """A column with its heading: of times, in the unit that its values need."""
    if unit != TIME:
        return heading, (name, unit, digits)
    sign, unit = column_unit(values, digits)
    return f"{heading} [{sign}]", (name, unit, digits)


def print_answer(sentences: Sequence[str]) -> None:
    """The sentences that stand before the table, each on a line, which a terminal wraps between words."""
    from shutil import get_terminal_size
    from textwrap import wrap

    width = get_terminal_size().columns if sys.stdout.isatty() else 0
    for sentence in sentences:
        print("\n".join(wrap(sentence, width, break_on_hyphens=False)) if width else sentence)
    print()


def check_kinds(kinds: Iterable[By], groups: Mapping[str, Grouping]) -> None:
    """Refuse what the trace says nothing about, before anything is replayed.

    Raises
    ------
    SpecError : it states one partition, account or user, or none.
    """
    from transom.errors import SpecError

    for kind in kinds:
        if GROUPED.get(kind, "") not in groups and kind in GROUPED:
            raise SpecError(f"--by {kind}: the trace names no two of them")


def print_breakdown(
    title: str,
    kind: By,
    runs: list[Run],
    schedules: list[Schedule],
    trim: Trim,
    groups: Mapping[str, Grouping],
    logged: Logged | None,
) -> None:
    """One row per run and mode, size class, week, partition, account or user; before them those by the log."""
    from transom.simulation.output.as_logged import AS_LOGGED

    labels, parts = [*_shown_as(runs).values()], [_breakdown(schedule, trim, groups, kind) for schedule in schedules]
    if logged is not None and kind is not By.MODE:  # which the log does not tell
        labels, parts = [AS_LOGGED, *labels], [_breakdown(*logged[:2], groups, kind), *parts]
    if kind in GROUPED and len(parts[-1]) > _SHOWN:
        remark(f"by {kind}: the {_SHOWN} with the most node-hours of {len(parts[-1]):,}; --json has all")
        shown = list(parts[-1])[:_SHOWN]
        parts = [{name: part[name] for name in shown if name in part} for part in parts]
    every = [group for part in parts for group in part.values()]
    mean, most = (
        column_unit((each[name] for each in every), digits) for name, digits in (("mean_wait", 2), ("max_wait", 1))
    )
    rows = []
    zero = schedules[0].epoch if kind is By.WEEK else None
    hop_names = [name for name in _HOPS if any(name in group for group in every)]
    for run, part in zip(labels, parts, strict=True):
        for label, group in part.items():
            label = label if zero is None else day(zero + group["start"])
            shares = [number(100 * group["job_share"], 2), number(100 * group["node_hour_share"], 2)]
            waits = [number(group["mean_wait"] / mean[1]), number(group["max_wait"] / most[1], 1)]
            hops = [number(group.get(name, math.nan), _HOPS[name]) for name in hop_names]
            rows.append([run, label, str(group["jobs"]), *shares, *waits, *hops])
    columns = [
        "policy",
        str(kind) if zero is None else "week from",
        "jobs",
        "jobs [%]",
        "node-hours [%]",
        f"mean wait [{mean[0]}]",
        f"max wait [{most[0]}]",
    ]
    columns += list(_HOP_COLUMNS) if hop_names else []
    print_table(title, columns, rows)
    _print_names(runs)


def note_diagnostics(workload: Workload, runs: list[Run], schedules: list[Schedule]) -> None:
    """Print what is doubtful about schedules beyond their workload."""
    for run, schedule in zip(runs, schedules, strict=True):
        for each in schedule.diagnostics[len(workload.diagnostics) :]:
            note(f"{run.label}: {each.text}")


def _shown_as(runs: list[Run]) -> dict[str, str]:
    """What policies are called in tables, by label: long ones are cut and numbered, unless ``--wide`` was asked for."""
    most = math.inf if display.wide else _LONG
    labels = [run.label for run in runs]
    return {each: each if len(each) <= most else f"{each[: _LONG - 7]}… ({i})" for i, each in enumerate(labels, 1)}


def _print_names(runs: list[Run]) -> None:
    """Below a table, the specifications of those whose names are cut, and clocks."""
    from transom.simulation.policies.clocks import clock_of, clock_remarks

    names = _shown_as(runs)
    for run in runs:
        if names[run.label] != run.label:
            remark(f"{names[run.label]}: {run.spec}")
    for text in clock_remarks((names[run.label], clock_of(run.policy)) for run in runs):
        remark(text)


_HOPS = {"hop_cost": 1, "leaves": 2, "pods": 2}


def breakdowns_of(
    schedule: Schedule, trim: Trim, groups: Mapping[str, Grouping], kinds: Iterable[By]
) -> dict[str, dict[str, dict[str, float]]]:
    """The figures by mode, size class and week, and by those of the groups that are asked for, by name."""
    shown = dict.fromkeys((By.MODE, By.SIZE, By.WEEK, *kinds))
    return {kind.value: _breakdown(schedule, trim, groups, kind) for kind in shown}


def _breakdown(schedule: Schedule, trim: Trim, groups: Mapping[str, Grouping], kind: By) -> dict[str, dict[str, float]]:
    from transom.simulation.output.breakdowns import by_group, by_mode, by_size, by_week, hops_by_size

    if kind is By.WEEK:
        return {
            str(week.number): {"start": week.start, "utilisation": week.utilisation, **week.group._asdict()}
            for week in by_week(schedule, trim)
        }
    if kind is By.SIZE:
        hops = hops_by_size(schedule, trim=trim)
        return {
            label: {**group._asdict(), **(hops[label]._asdict() if hops else {})}
            for label, group in by_size(schedule, trim=trim).items()
        }
    found = by_mode(schedule, trim) if kind is By.MODE else by_group(schedule, *groups[GROUPED[kind]], trim=trim)
    return {label: group._asdict() for label, group in found.items()}


def limits_line(policy: str, held: Mapping[str, int], decisions: int) -> str | None:
    """How often limits held back jobs, and which, in so many decisions of a policy; None where none did."""
    words = ", ".join(f"{name} in {count:,}" for name, count in held.items())
    of = f"{sum(held.values()):,} of {decisions:,} decisions"
    return f"{policy}: limits hold back jobs in {of}, first {words}" if held else None
