"""Provenance of the rows: solvers, machines, versions, dates, and warnings for comparisons."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from transom.bench.plan.task import FAILED
from transom.report.table import Column, Table, count, several, significant, words

if TYPE_CHECKING:
    import polars as pl

    from transom.bench.plan.plan import Plan

_LOADED = 1.25  # load per core, the runs themselves among it, from which times are not to be trusted
_SHOWN = 300  # characters of a solver's parameters


def facts(frame: pl.DataFrame, plans: Sequence[Plan] = ()) -> list[tuple[str, str]]:
    """Terms and facts for the head of the page.

    Parameters
    ----------
    frame : rows of a store, at least one.
    plans : whose runs they are, where that is known.
    """
    begun, ended = frame["begun"].min(), (frame["begun"] + frame["wall"].fill_null(0)).max()
    outcomes = frame["outcome"].value_counts().sort("outcome")
    failed = frame.filter(frame["outcome"].is_in(FAILED))
    rows = [
        ("plan", several([f"{plan.name or 'without a name'} ({plan.digest()[:8]})" for plan in plans])),
        ("runs", f"{len(frame):,} on {frame['instance'].n_unique():,} instances, {len(failed):,} failed"),
        ("outcomes", several([f"{name} {runs:,}" for name, runs in outcomes.iter_rows()])),
        ("seeds", several([str(seed) for seed in frame["seed"].unique().sort()])),
        ("threads per run", several([str(threads) for threads in frame["threads"].unique().sort()])),
        ("concurrent runs", several([str(workers) for workers in frame["workers"].unique().sort()])),
        ("began", _moment(begun)),
        ("ended", _moment(ended)),
        ("time of all runs", _span(float(frame["wall"].fill_null(0).sum()))),
        ("load average, 1 min", _load(frame)),
        ("memory per run, maximum", _most(frame["memory"], "MiB")),
        ("bench overhead, median", _median(frame["overhead"])),
        ("cold start, maximum", _most(frame["cold"], "s")),
        ("code", several([code[:12] or "unknown" for code in _different(frame["code"])])),
    ]
    return [(term, fact) for term, fact in rows if fact]


def about(frame: pl.DataFrame) -> list[Table]:
    """Tables of sets, solvers, machines and versions."""
    import polars as pl

    sets = frame.group_by("set", "problem").agg(pl.col("instance").n_unique(), pl.len()).sort("set", "problem")
    solvers = (
        frame.group_by("name", "spec", "what")
        .agg(pl.col("problem").unique().sort(), pl.col("parameters").unique().sort(), pl.len())
        .sort("what", "name", "spec", descending=[True, False, False])
    )
    machines = frame.group_by("machine").agg(pl.len()).sort("machine")
    return [
        Table(
            "Sets of instances",
            [Column("Set"), Column("Problem"), Column("Instances", number=True), Column("Runs", number=True)],
            [[words(name), words(kind), count(n), count(runs)] for name, kind, n, runs in sets.iter_rows()],
        ),
        Table(
            "Solvers and policies",
            [
                Column("Name"),
                Column("Specification"),
                Column("Problems"),
                Column("Runs", number=True),
                Column("Parameters"),
            ],
            [
                [words(name), words(spec), words(several(problems)), count(runs), words(_parameters(noted))]
                for name, spec, _, problems, noted, runs in solvers.iter_rows()
            ],
            note="Only parameters with the same value in all runs.",
        ),
        Table(
            "Machines",
            [Column("Host"), Column("Runs", number=True), Column("Facts")],
            [
                [words(_object(each).get("host", "unknown")), count(runs), words(_said(each))]
                for each, runs in machines.iter_rows()
            ],
        ),
        Table(
            "Versions",
            [Column("Package"), Column("Version")],
            [[words(name), words(", ".join(found))] for name, found in sorted(_versions(frame).items())],
        ),
    ]


def warnings(frame: pl.DataFrame) -> list[str]:
    """What makes rows hard to compare: several machines, codes or versions, and loaded machines."""
    rows = []
    for column, what in (("machine", "machines"), ("code", "states of Transom's code")):
        if (different := frame[column].n_unique()) > 1:
            rows.append(f"The runs are from {different} {what}; times are not comparable between them.")
    mixed = [f"{name} ({', '.join(found)})" for name, found in sorted(_versions(frame).items()) if len(found) > 1]
    if mixed:
        rows.append(f"The runs used several versions: {several(mixed)}.")
    loaded = _loaded(frame)
    if loaded:
        rows.append(
            f"{loaded:,} of {len(frame):,} runs began on a machine with more load than cores; "
            "their times are less reliable."
        )
    if frame["workers"].n_unique() > 1:
        rows.append("The number of concurrent runs varied.")
    return rows


def _loaded(frame: pl.DataFrame) -> int:
    import polars as pl

    machines = frame["machine"].unique().to_list()
    cores = {each: _object(each).get("usable") or _object(each).get("cores") for each in machines}
    known = {each: float(number) for each, number in cores.items() if isinstance(number, int)}
    if not known:
        return 0
    most = pl.col("machine").replace_strict(known, default=None, return_dtype=pl.Float64)
    return len(frame.filter(pl.col("load") > _LOADED * most))


def _versions(frame: pl.DataFrame) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for each in frame["versions"].unique().to_list():
        for name, version in _object(each).items():
            found.setdefault(name, set()).add(str(version))
    return {name: sorted(versions) for name, versions in found.items()}


def _parameters(noted: Sequence[str]) -> str:
    """Parameters that all runs of a solver share, in words."""
    shared: dict[str, Any] = {}
    for place, each in enumerate(noted):
        facts = _object(each)
        shared = facts if place == 0 else {key: value for key, value in shared.items() if facts.get(key) == value}
    text = several([f"{key} {value}" for key, value in sorted(shared.items())])
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _said(machine: str) -> str:
    units = {"memory": " MiB"}
    return several([f"{key} {value}{units.get(key, '')}" for key, value in _object(machine).items() if key != "host"])


def _object(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text else {}


def _different(column: pl.Series) -> list[str]:
    return [each or "" for each in column.unique().sort().to_list()]


def _moment(seconds: Any) -> str:
    return datetime.fromtimestamp(float(seconds), UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if seconds else ""


def _span(seconds: float) -> str:
    for unit, word in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{significant(seconds / unit)} {word}"
    return f"{significant(seconds)} s"


def _load(frame: pl.DataFrame) -> str:
    load = frame["load"].drop_nulls().to_numpy()
    if not len(load):
        return ""
    least, most, middle = (significant(float(each), 2) for each in (load.min(), load.max(), np.median(load)))
    return f"{least} to {most}, median {middle}"


def _most(column: pl.Series, unit: str) -> str:
    known = column.drop_nulls().to_numpy()
    return f"{significant(float(known.max()))} {unit}" if len(known) else ""


def _median(seconds: pl.Series) -> str:
    known = seconds.drop_nulls().to_numpy()
    return f"{significant(1000 * float(np.median(known)))} ms" if len(known) else ""
