"""Records of several blocks and files made into one trace: duplicates, ids of tasks, users, the size of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transom.errors import TraceError
from transom.traces.records.findings import Findings
from transom.traces.records.values import WAITING, waits_for
from transom.traces.trace_file import complete

if TYPE_CHECKING:
    import polars as pl


def assembled(frames: list[pl.DataFrame], findings: Findings, path: str, further: Sequence[str] = ()) -> pl.DataFrame:
    """The jobs of a trace by (submission, id), each id once.

    Parameters
    ----------
    frames : columns of records (:func:`~transom.traces.records.typed.typed`); the list is emptied.
    findings : takes what is repaired.
    path : the file, for messages.
    further : columns that are kept beside those of a trace.

    Raises
    ------
    TraceError : no job is left.
    """
    import polars as pl

    jobs = pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame({"id": []})
    frames.clear()
    if not len(jobs):
        what = "holds no job" if findings.records == 0 else f"none of its {findings.records:,} records is a usable job"
        raise TraceError(f"{path}: {what}{f': {findings.first}' if findings.first else ''}")
    missing = jobs["submit"] < 0
    if missing.any():
        findings.count("left out: submission not known", int(missing.sum()))
        jobs = jobs.filter(~missing)
        if not len(jobs):
            raise TraceError(f"{path}: no job has a submission time")
    jobs = _each_once(_numbered(_own_ids(jobs.with_columns(pl.col("id").cast(pl.Int64)))), findings)
    jobs = _with_users(_with_dependencies(jobs))
    _count_states(jobs, findings)
    return complete(jobs.sort("submit", "id"), further)


def _own_ids(jobs: pl.DataFrame) -> pl.DataFrame:
    """Tasks that wait side by side are listed with the id of their array: they have none of their own."""
    import polars as pl

    if not {"array_job", "array_task", "label"} <= set(jobs.columns):
        return jobs
    shared = (pl.col("id") == pl.col("array_job")) & (pl.col("array_task") >= 0)
    who = [name for name in ("cluster", "id") if name in jobs.columns]
    several = (
        jobs.filter(shared).group_by(who).agg(pl.col("label").n_unique().alias("tasks")).filter(pl.col("tasks") > 1)
    )
    if not len(several):
        return jobs
    held = pl.struct(who).is_in(several.select(pl.struct(who)).to_series().implode())
    return jobs.with_columns(id=pl.when(~(shared & held).fill_null(False)).then("id"))


def _numbered(jobs: pl.DataFrame) -> pl.DataFrame:
    """Tasks of arrays whose own ids no record states get ids above all others, in the order of array and task."""
    import polars as pl

    missing = jobs["id"].is_null()
    if missing.any() and not missing.all():
        stated = jobs.filter(~missing & jobs["label"].str.contains("_", literal=True)).unique("label")
        jobs = jobs.join(stated.select("label", stated="id"), on="label", how="left", maintain_order="left")
        jobs = jobs.with_columns(pl.col("id").fill_null(pl.col("stated"))).drop("stated")
        missing = jobs["id"].is_null()
    if not missing.any():
        return jobs
    order = [name for name in ("array_job", "array_task", "het_job", "label") if name in jobs.columns]
    labels = jobs.filter(missing).sort(order).select("label").unique(maintain_order=True)
    top = max(int(jobs["id"].max() or 0), *(int(jobs[name].max() or 0) for name in order[:-1]))  # type: ignore[arg-type]
    fresh = labels.with_columns(pl.int_range(top + 1, top + 1 + len(labels), dtype=pl.Int64, eager=True).alias("fresh"))
    return jobs.join(fresh, on="label", how="left").with_columns(pl.col("id").fill_null(pl.col("fresh"))).drop("fresh")


def _each_once(jobs: pl.DataFrame, findings: Findings) -> pl.DataFrame:
    """One row for each execution of a job, each with an id of its own."""
    import polars as pl

    twice = jobs["id"].is_duplicated()
    if not twice.any():
        return jobs
    who = [name for name in ("cluster", "id") if name in jobs.columns]
    alone, several = jobs.filter(~twice), jobs.filter(twice)
    count = len(several)
    several = several.unique([*who, "submit", "start", "end", "state"], keep="first", maintain_order=True)
    findings.count("the same record again, left out", count - len(several))

    # Of records with the same submission those say less that were made before the job had ended.
    ended, count = pl.col("end") >= 0, len(several)
    several = several.with_columns(_known=pl.when(ended).then(2).when(pl.col("start") >= 0).then(1).otherwise(0))
    most = pl.col("_known").max().over(*who, "submit")
    several = several.filter(
        (pl.col("_known") == most) & ((pl.col("_known") == 2) | pl.struct([*who, "submit"]).is_last_distinct())
    )
    several = several.drop("_known")
    findings.count("an earlier record of a job that a later one says more of, left out", count - len(several))

    # What is left are executions: the last one is the job.
    several = several.sort(*who, "submit", "start", maintain_order=True)
    last = several.select(pl.struct(who).is_last_distinct()).to_series()
    earlier = several.filter(~last)
    waits = earlier.filter(pl.col("start") < 0)
    findings.count("a wait that ended in a requeue without a start, left out", len(waits))
    ran = earlier.filter(pl.col("start") >= 0)
    findings.count("an execution before a requeue, kept as a job of its own with a new id", len(ran))
    whole = pl.concat([alone, several.filter(last)])
    again = whole["id"].is_duplicated() & ~whole["id"].is_first_distinct()
    findings.count("an id of several clusters, kept with a new id", int(again.sum()))
    fresh = pl.concat([ran, whole.filter(again)])
    top = int(jobs["id"].max() or 0)  # type: ignore[arg-type]
    return pl.concat(
        [whole.filter(~again), fresh.with_columns(pl.int_range(top + 1, top + 1 + len(fresh)).alias("id"))]
    )


def _with_users(jobs: pl.DataFrame) -> pl.DataFrame:
    """Numbers of users: those of the system where all records state them, else in the order of first appearance."""
    import polars as pl

    if "uid" in jobs.columns and (jobs["uid"].is_not_null() & (jobs["uid"] >= 0)).all():
        return jobs.with_columns(user=pl.col("uid"))
    if "user_name" not in jobs.columns:
        return jobs
    names = jobs["user_name"].fill_null("")
    known = names.filter(names != "").unique(maintain_order=True)
    numbers = pl.int_range(1, 1 + len(known), dtype=pl.Int64, eager=True)
    return jobs.with_columns(user=names.replace_strict(known, numbers, default=-1, return_dtype=pl.Int64))


def _with_dependencies(jobs: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    if "dependency" not in jobs.columns:
        return jobs
    text = jobs["dependency"].fill_null("")
    texts = text.unique()
    lists = pl.Series([list(waits_for(each)) for each in texts], dtype=pl.List(pl.Int64))
    numbers = text.replace_strict(texts, pl.int_range(len(texts), eager=True), return_dtype=pl.Int64)
    return jobs.with_columns(depends_on=lists.gather(numbers))


def _count_states(jobs: pl.DataFrame, findings: Findings) -> None:
    import polars as pl

    started, ended = (pl.col("start") >= 0) | (pl.col("runtime") > 0), (pl.col("end") >= 0) | (pl.col("runtime") > 0)
    waiting = pl.col("state").is_in(list(WAITING))
    counts = jobs.select(a=(~started & ~waiting).sum(), b=(~started & waiting).sum(), c=(started & ~ended).sum()).row(0)
    for what, number in zip(("cancelled while waiting", "still waiting", "still running"), counts, strict=True):
        findings.count(f"{what}: kept, without a runtime", number)


def peak(jobs: pl.DataFrame, unit: str) -> int:
    """The most nodes or cores that were in use at once, which the machine had at least."""
    import numpy as np

    size = jobs[unit].to_numpy()
    size = np.where(size > 0, size, jobs[f"req_{unit}"].to_numpy())
    start, length = jobs["start"].to_numpy(), jobs["runtime"].to_numpy()
    ran = (start >= 0) & (length > 0) & (size > 0)
    start, end, size = start[ran], jobs["end"].to_numpy()[ran], size[ran]
    first, last = np.argsort(start), np.argsort(end)
    taken, freed = np.cumsum(size[first]), np.concatenate([[0], np.cumsum(size[last])])
    return int((taken - freed[np.searchsorted(end[last], start[first], side="right")]).max(initial=0))
