"""The page of recorded replays: an answer, charts to zoom into, jobs to look up, and sliders that replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.durations import column_unit
from transom._system.wording import counted
from transom.errors import DocumentError
from transom.models.arrays import IntArray
from transom.report.assembly import assembled
from transom.report.explorer.compact import packed
from transom.report.explorer.recorded import Recorded, answered, read_recorded
from transom.report.groups import group_lines
from transom.simulation.core.outage_log import OUTAGE_COLUMNS, OUTAGE_KINDS, OutageLog
from transom.simulation.core.schedule import MODES, Schedule
from transom.simulation.output.as_logged import AS_LOGGED, as_logged
from transom.simulation.output.metrics import METRICS, summary
from transom.simulation.output.recording import read_texts
from transom.traces.outages import outages_of
from transom.traces.partitions import PREFIX, partition_sizes

_OWN = (
    *("decode", "service_plan", "service", "easy", "nodes", "steps", "state", "gantt", "lines", "card", "hover"),
    *("search", "whatif", "main"),
)
SCRIPT = ("script/elements.js", "script/boxes.js", *(f"explorer/script/{name}.js" for name in _OWN))
"""Parts of the page's script, in the order in which they stand."""

_WAITS = ("mean_wait", "median_wait", "max_wait")
_FIGURES = {"mean_bounded_slowdown": (1, ""), "utilisation": (0.01, "%")}


class Explorer(NamedTuple):
    """The text of the page, the policies in it, and the facts of the answer."""

    html: str
    labels: list[str]
    jobs: int
    facts: dict[str, Any]


def explorer(paths: Sequence[Path], title: str | None = None) -> Explorer:
    """Make the page. The same recordings give the same bytes.

    Parameters
    ----------
    paths : folders of ``transom simulate --out``, or of single policies in one; the first policy is the baseline.
    title : of the page; by default the name of the trace and the policies.

    Raises
    ------
    DocumentError : a recording is damaged, or the recordings do not belong beside one another.
    """
    recorded = read_recorded(paths)
    labels, schedule = [each.label for each in recorded], recorded[0].schedule
    texts = read_texts(recorded[0].folder)
    answer = answered(recorded, texts)
    epoch = schedule.epoch
    html = assembled(
        "transom.report.explorer",
        ["style.css", "explorer/style.css"],
        SCRIPT,
        title=title or f"{schedule.workload}: {', '.join(labels)}",
        sentences=answer.sentences,
        remarks=[each.text for each in schedule.diagnostics] or [each["text"] for each in recorded[0].card["remarks"]],
        facts=_facts(recorded),
        figures=_figures(recorded),
        groups=group_lines(answer.facts["policies"]),
        clock="Times count from the first submission." if epoch is None else "Times are in UTC.",
        data=_data(recorded, texts, epoch),
    )
    return Explorer(html, labels, len(schedule), answer.facts)


def _facts(recorded: Sequence[Recorded]) -> list[tuple[str, str]]:
    schedule = recorded[0].schedule
    versions = recorded[0].card["versions"]
    return [
        ("Workload", schedule.workload),
        ("Jobs", f"{len(schedule):,}"),
        ("Machine", _machine(recorded[0])),
        ("Event rules", schedule.rules),
        *(
            (f"Policy {each.label}", f"{each.schedule.policy}, seed {each.card['details'].get('seed', 0)}")
            for each in recorded
        ),
        ("Version", f"transom {versions.get('transom', '')}".strip()),
    ]


def _machine(recorded: Recorded) -> str:
    """The size of the machine, and how its partitions are replayed where their sizes are known."""
    cluster, how = recorded.schedule.cluster, recorded.card["details"].get("machine")
    sizes = [f"{name} {size:,}" for name, size in partition_sizes(cluster).items()]
    parts = f", by partition ({', '.join(sizes)})" if sizes else ", its partitions merged" if how == "merged" else ""
    return f"{counted(cluster.num_nodes, 'node')}{parts}"


def _figures(recorded: Sequence[Recorded]) -> tuple[list[tuple[str, str]], list[tuple[str, list[str]]]]:
    """Headings with their meanings, and a row of figures per policy, before them one by the log where it tells any."""
    rows = {each.label: summary(each.schedule) for each in recorded}
    if (logged := as_logged(recorded[0].schedule)) is not None:
        rows = {AS_LOGGED: logged.figures((*_WAITS, *_FIGURES)), **rows}
    figures, units = list(rows.values()), dict(_FIGURES)
    for name in _WAITS:
        unit, seconds = column_unit((each[name] for each in figures), 2)
        units[name] = (seconds, unit)
    names = (*_WAITS, *_FIGURES)
    heads = [
        (f"{name.replace('_', ' ')} [{units[name][1]}]".replace(" []", ""), METRICS[name].description) for name in names
    ]
    cells = [
        ["–" if isnan(each[name]) else f"{each[name] / units[name][0]:,.2f}" for name in names] for each in figures
    ]
    return heads, list(zip(rows, cells, strict=True))


def _data(recorded: Sequence[Recorded], texts: Mapping[str, NDArray[Any]], epoch: int | None) -> dict[str, Any]:
    schedule = recorded[0].schedule
    jobs, runtime = schedule.jobs, schedule.runtime
    place = {job: at for at, job in enumerate(jobs.id.tolist())} if jobs.depends_on else {}
    outages, without = _replayed_outages(recorded)
    pairs = [(place[job], place[parent]) for job, parents in jobs.depends_on.items() for parent in parents]
    return {
        "count": len(schedule),
        "nodes": schedule.cluster.num_nodes,
        "columns": {name: packed(getattr(jobs, name)) for name in ("id", "submit", "nodes", "walltime", "user")}
        | {"runtime": packed(runtime)},
        "texts": {name: _named(column) for name, column in texts.items()},
        "parents": [packed(np.array(column, np.int64)) for column in (zip(*pairs, strict=True) if pairs else ((), ()))],
        "epoch": epoch,
        "resources": _resources(schedule),
        "logged": None if schedule.logged is None else packed(np.maximum(schedule.logged - jobs.submit, -1)),
        "modes": MODES,
        "refused": _refused(recorded),
        "outages": outages,
        "without": without,
        "policies": [_policy(each, runtime) for each in recorded],
    }


def _policy(each: Recorded, runtime: IntArray) -> dict[str, Any]:
    schedule = each.schedule
    submit = schedule.jobs.submit
    promised = each.promised
    rank = np.argsort(np.argsort(schedule.order))  # the order counts all attempts
    return {
        "label": each.label,
        "spec": schedule.policy,
        "wait": packed(schedule.wait),
        "runtime": None if np.array_equal(schedule.runtime, runtime) else packed(schedule.runtime),
        "mode": packed(schedule.mode),
        "order": packed(rank - np.arange(len(schedule))),
        "promised": [
            packed(np.where(promised.when < 0, -1, promised.when - submit)),
            *(packed(np.where((column < 0) | (column >= 2**51), -1, column - submit)) for column in promised[1:]),
        ],
        "outages": _outages(schedule.outages),
        "runs": None
        if each.runs is None
        else [packed(np.diff(each.runs.offsets)), packed(each.runs.first), packed(each.runs.last - each.runs.first)],
    }


def _resources(schedule: Schedule) -> list[dict[str, Any]]:
    """Further resources: partitions by their names, of which they count the nodes, and all others."""
    cluster, demand = schedule.cluster, schedule.jobs.demand
    return [
        {
            "name": name,
            "partition": name.removeprefix(PREFIX) if name.startswith(PREFIX) else None,
            "capacity": capacity,
            "demand": packed(demand[:, place]),
        }
        for place, (name, capacity) in enumerate(zip(cluster.resources, cluster.capacities, strict=True))
    ]


def _outages(log: OutageLog | None) -> dict[str, Any] | None:
    if log is None:
        return None
    columns = (np.clip(getattr(log, name), None, 2**50) for name in OUTAGE_COLUMNS)  # some never end
    times, levels = log.out_of_service()
    return {
        "kinds": OUTAGE_KINDS,
        "columns": [packed(each) for each in columns],
        "out": [packed(np.clip(times, None, 2**50)), packed(levels)],
    }


def _replayed_outages(recorded: Sequence[Recorded]) -> tuple[dict[str, Any] | None, str]:
    """What goes out of service in the page's own replay, and what it leaves out, in a sentence."""
    if all(each.schedule.outages is None for each in recorded):
        return None, ""
    stated = [{key: each.card["details"].get(key) for key in ("outages", "seed", "allocator")} for each in recorded]
    first = stated[0]
    if first["outages"] is None or any(each != first for each in stated):
        return None, "The page's replay has no outages: the recorded replays do not state the same ones."
    if first["allocator"] is not None:
        return None, "The page's replay has no outages: it places jobs without a solver."
    nodes = recorded[0].schedule.cluster.num_nodes
    try:
        outages = outages_of(first["outages"])
        rows = [each._asdict() for each in outages.stated(nodes, first["seed"]) if each.kind != "drain"]
    except (KeyError, TypeError, ValueError) as error:
        raise DocumentError(f"{recorded[0].folder}: jobs.parquet: the outages in its metadata: {error}") from None
    left = ["drains"] if len(rows) < len(outages.rows) else []
    left += [] if outages.mtbf is None else ["failures drawn by a law"]
    said = [f"The page's replay leaves out {' and '.join(left)}."] if left else []
    if (log := recorded[0].schedule.outages) is not None and len(log.lost):
        said.append(f"In it, jobs that {recorded[0].label} lost run no longer than they did there.")
    return {"rows": rows, "lose": outages.on_failure == "lose"}, " ".join(said)


def _named(column: NDArray[Any]) -> dict[str, Any]:
    names, of = np.unique(column.astype(str), return_inverse=True)
    return {"names": names.tolist(), "of": packed(of)}


def _refused(recorded: Sequence[Recorded]) -> str:
    """Why the page cannot replay this workload as the engine does; empty if it can."""
    schedule = recorded[0].schedule
    if schedule.rules != "textbook":
        return f"The page replays under textbook events alone; these replays are under {schedule.rules}."
    return ""
