"""Records as text made into the columns of a trace: numbers in their units, states, what was known and what was not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from transom._system.wording import digits
from transom.traces.records.clocks import both_readings, settled
from transom.traces.records.delimited import LINE
from transom.traces.records.findings import Findings, quoted
from transom.traces.records.values import (
    PER_CORE,
    RUNNING,
    UNKNOWN,
    WAITING,
    Tres,
    count,
    gpus,
    instant,
    minutes,
    parsed,
    requested_memory,
    seconds,
    state,
    tres,
)

if TYPE_CHECKING:
    import polars as pl

_JOB = r"^\s*(\d{1,18})(?:_(\d{1,18})|_\[([^\]|]*)\])?(?:\+(\d{1,9}))?\s*$"
_BLANK = dict.fromkeys(("(null)", "None", "None assigned", "N/A", "n/a", "Unknown", "NONE", "INVALID"), "")
_TEXTS = ("partition", "qos", "account", "group", "reservation", "cluster")
_RECURRING = {*_TEXTS, "state", "user_name", "req_node_list", "dependency", "tres"}
_MOST_OF_NODE = 2**23  # memory of a node [MiB]; none has as much
_NEEDED = ("id", "submit", "start", "end", "runtime")
_TIMES = ("submit", "eligible", "start", "end")
_WRAPPED = 2**31  # seconds that no job takes: a negative number printed as one without a sign


@dataclass(frozen=True, slots=True)
class Reading:
    """How texts are read.

    Parameters
    ----------
    zone : of times that state none.
    limits : the longest time [s] of a partition by name, for jobs that ask for as much.
    record : what a record is called in messages: a line, or the number of a job in JSON.
    """

    zone: ZoneInfo | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    record: str = "line"


def typed(raw: pl.DataFrame, path: str, reading: Reading, findings: Findings) -> pl.DataFrame:
    """The columns of a trace, as far as these records state them; -1 and empty texts are not known.

    Parameters
    ----------
    raw : fields as text (:data:`~transom.traces.records.slurm_text.job_fields.RECORDED`), and the ``line`` of each.
    path : the file, for messages.
    reading : how texts are read.
    findings : takes repairs, and records without a job or with times that cannot be read. They are left out.
    """
    return _compact(_Records(raw, path, reading, findings).columns())


_ENERGY = r"energy=\d+,?"
_NO_ZONE = r"^\s*\d{4}-\d\d?-\d\d?[T ][\d:.]+\s*$"


class _Records:
    def __init__(self, raw: pl.DataFrame, path: str, reading: Reading, findings: Findings) -> None:
        self._path, self._reading, self._findings = path, reading, findings
        self._raw = raw
        self._bad = self._raw[LINE] < 0

    def columns(self) -> pl.DataFrame:
        """Everything."""
        made = self._ids()
        stated = self._states()
        waiting, final = stated.is_in(list(WAITING)), ~stated.is_in([*WAITING, *RUNNING])
        allocated = self._number("alloc_nodes", count)
        made |= self._times(waiting, final, stated == "CANCELLED", allocated == 0)
        made |= self._sizes(made["start"] >= 0, allocated)
        made |= self._limit()
        made |= self._texts()
        made["state"] = stated
        frame = _frame(made)
        return frame.filter(~self._bad) if self._bad.any() else frame

    def _text(self, name: str) -> pl.Series | None:
        return self._raw[name] if name in self._raw.columns else None

    def _unknown(self) -> pl.Series:
        import polars as pl

        return pl.repeat(UNKNOWN, len(self._raw), dtype=pl.Int64, eager=True)

    def _number(
        self, name: str, parse: Callable[[str], int | None], needed: bool = False, quick: pl.Series | None = None
    ) -> pl.Series:
        """A column of numbers; what cannot be read is not known, or makes the record unusable."""
        text = self._text(name)
        if text is None:
            return self._unknown()
        value = parsed(text, parse, quick)
        unread = value.is_null()
        if unread.any():
            if needed:
                self._refuse(unread, name, text)
            else:
                self._findings.count(f"{name} cannot be read, taken as not known", int(unread.sum()))
            value = value.fill_null(UNKNOWN)
        return value

    def _refuse(self, bad: pl.Series, name: str, text: pl.Series) -> None:
        new = bad & ~self._bad
        if new.any():
            at = int(new.arg_max() or 0)
            where = f"{self._path}: {self._reading.record} {self._raw[LINE][at]}"
            self._findings.refuse(where, f"{name}: cannot read {quoted(text[at])}", int(new.sum()))
            self._bad |= bad

    def _ids(self) -> dict[str, pl.Series]:
        import polars as pl

        label, raw = self._text("job"), self._text("raw")
        label = raw if label is None else label
        assert label is not None
        label = label.fill_null("")
        plain = label.cast(pl.Int64, strict=False)
        made = {name: self._unknown() for name in ("array_job", "array_task", "array_tasks", "het_job")}
        number = plain if raw is None else raw.cast(pl.Int64, strict=False).fill_null(plain)
        odd = plain.is_null()
        if odd.any():
            parts = label.str.extract_groups(_JOB).struct.unnest()
            job, task, several, offset = (parts[str(i)] for i in range(1, 5))
            job, task = (each.cast(pl.Int64, strict=False) for each in (job, task))
            in_array = task.is_not_null() | several.is_not_null()
            made["array_job"] = _where(in_array, job)
            made["array_task"] = _where(task.is_not_null(), task)
            made["array_tasks"] = parsed(several, array_tasks).fill_null(UNKNOWN)
            made["het_job"] = _where(offset.is_not_null(), job)
            # Without the raw id a task has none yet: only a job that cannot be read has a label.
            alone = several.is_not_null() | (offset.cast(pl.Int64, strict=False) == 0).fill_null(False)
            number = number.fill_null(job.zip_with(alone, pl.Series([None], dtype=pl.Int64)))
            self._refuse(job.is_null() & number.is_null(), "JobID", label)
        for name in ("array_job", "het_job"):
            if self._text(name) is not None:
                given = self._number(name, count)
                made[name] = given.zip_with(given > 0, made[name])
        if (tasks := self._text("array_task")) is not None:  # one, or those of a part that is still one record
            single = tasks.cast(pl.Int64, strict=False).fill_null(UNKNOWN)
            made["array_task"] = single.zip_with(single >= 0, made["array_task"])
            several = parsed(tasks, array_tasks).fill_null(UNKNOWN)
            made["array_tasks"] = several.zip_with((single < 0) & (several > 0), made["array_tasks"])
        if "array_tasks" in self._raw.columns:
            given = self._number("array_tasks", array_tasks)
            made["array_tasks"] = given.zip_with(given >= 0, made["array_tasks"])
        # squeue calls a job that is no array an array of its own id.
        own = (number == made["array_job"]).fill_null(False)
        made["array_job"] = _where(~own | (made["array_task"] >= 0) | (made["array_tasks"] > 0), made["array_job"])
        made["array_task"] = _where(made["array_job"] > 0, made["array_task"])
        of_array = own & (made["array_task"] >= 0) & plain.is_not_null()
        if of_array.any():
            both = made["array_job"].cast(pl.String) + "_" + made["array_task"].cast(pl.String)
            label = label.zip_with(~of_array, both)
        self._refuse(number.fill_null(1) <= 0, "JobID", label)
        return {"id": number, "label": label, **made}

    def _states(self) -> pl.Series:
        import polars as pl

        text = self._text("state")
        if text is None:
            return pl.repeat("", len(self._raw), dtype=pl.String, eager=True)
        texts = text.fill_null("").unique()
        return text.fill_null("").replace_strict(texts, pl.Series([state(each) for each in texts], dtype=pl.String))

    def _time(self, name: str) -> tuple[pl.Series, pl.Series]:
        """A column of times by both readings, which differ where a change of clocks makes a time ambiguous."""
        import polars as pl

        text = self._text(name)
        if text is None:
            return self._unknown(), self._unknown()
        zone = self._reading.zone
        local = text.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="ms", strict=False, cache=False)
        if zone is not None and local.null_count() < len(local):
            local = local.dt.replace_time_zone(str(zone), ambiguous="null", non_existent="null")
        elif zone is None and (local.null_count() < len(local) or text.str.contains(_NO_ZONE).any()):
            self._findings.note("times state no zone: they are read as UTC (--timezone NAME states another)")
        value = local.dt.epoch("s")
        if value.null_count():
            value = value.fill_null(text.cast(pl.Int64, strict=False))
        value = value.zip_with(value >= 0, pl.Series([UNKNOWN], dtype=pl.Int64)).zip_with(
            value.is_not_null(), pl.Series([None], dtype=pl.Int64)
        )
        again: dict[str, int] = {}

        def read(text: str) -> int | None:
            both = None if zone is None else both_readings(text, zone)
            if both is None:
                return instant(text, zone)
            first, again[text] = both
            return first

        first = self._number(name, read, needed=True, quick=value)
        second = text.replace_strict(again, default=None, return_dtype=pl.Int64).fill_null(first) if again else first
        return first, second

    def _times(
        self, waiting: pl.Series, final: pl.Series, cancelled: pl.Series, nobody: pl.Series
    ) -> dict[str, pl.Series]:
        findings = self._findings
        elapsed = self._span("elapsed time", "elapsed_raw", "elapsed")
        suspended = self._span("suspended time", "suspended").clip(0)
        both = [self._time(name) for name in _TIMES]
        submit, eligible, start, end = self._settled(both, _where(final, elapsed), suspended)
        # 0 is no time; a submission at 0 is of a log that begins there.
        eligible, start, end = (_where((each > 0) | (submit <= 0), each) for each in (eligible, start, end))
        start = _where(~waiting, start)
        end = _where(final, end)
        # A job that was cancelled while it waited often has a start: that of its end, and no nodes.
        if (nodes := self._text("nodes")) is not None:
            nobody |= nodes.fill_null("").is_in([*_BLANK, ""])
        else:
            nobody |= cancelled
        never = nobody & (start >= 0) & ((elapsed == 0) | (start == end))
        start = _where(~never, start)
        at_end = final & (start < 0) & (end >= elapsed + suspended) & (elapsed > 0)
        findings.count("start not known, taken from the end and the elapsed time", int(at_end.sum()))
        start = start.zip_with(~at_end, end - elapsed - suspended)
        derived = final & (start >= 0) & (end < 0) & (elapsed >= 0) & self._has("elapsed", "elapsed_raw")
        if "end" in self._raw.columns:
            findings.count("end not known, taken from the elapsed time", int(derived.sum()))
        end = end.zip_with(~derived, start + elapsed + suspended)
        ran = final & (start >= 0) & (end >= 0)
        between = end - start - suspended
        runtime = _where(ran, elapsed.zip_with(elapsed >= 0, between))
        findings.count(
            "elapsed time and start to end differ by over a minute: the elapsed time counts",
            int((ran & (elapsed >= 0) & ((between - elapsed).abs() > 60)).sum()),
        )
        backwards = ran & (runtime < 0)
        findings.count("end before the start: the runtime is not known", int(backwards.sum()))
        runtime = _where(~backwards, runtime)
        findings.count("suspended for a while: the runtime leaves that out", int((ran & (suspended > 0)).sum()))
        submit = self._submissions(submit, eligible, start)
        return {
            "submit": submit, "eligible": eligible, "start": start, "end": end, "runtime": runtime,
            "suspended": suspended,
        }  # fmt: skip

    def _settled(
        self, both: Sequence[tuple[pl.Series, pl.Series]], elapsed: pl.Series, suspended: pl.Series
    ) -> Sequence[pl.Series]:
        """The four times, those that a change of clocks makes ambiguous read as the others of their records say."""
        unsure = reduce(or_, (first != second for first, second in both)) & ~self._bad
        if not unsure.any():
            return [first for first, _ in both]
        at = unsure.arg_true()
        first, second = ([each[at].to_numpy() for each in readings] for readings in zip(*both, strict=True))
        found = settled(first, second, elapsed[at].to_numpy(), suspended[at].to_numpy(), self._findings)
        return [each.scatter(at, times) for (each, _), times in zip(both, found, strict=True)]

    def _span(self, what: str, *names: str) -> pl.Series:
        """A time span [s]; one below zero, which some versions print as a number near 2^32, is not known."""
        found, below = self._unknown(), self._unknown() > 0
        for name in names:
            value, text = self._duration(name), self._text(name)
            if text is not None:
                wrong = (value >= _WRAPPED) | text.str.contains(r"^\s*-\s*\d").fill_null(False)
                below |= wrong
                value = _where(~wrong, value)
            found = found.zip_with(found >= 0, value)
        self._findings.count(f"{what} below zero, taken as not known", int((below & ~self._bad).sum()))
        return found

    def _duration(self, name: str) -> pl.Series:
        import polars as pl

        text = self._text(name)
        if text is None:
            return self._unknown()
        hours, minutes, rest = (text.str.slice(at, 2).cast(pl.Int64, strict=False) for at in (0, 3, 6))
        plain = text.str.contains(r"^\d\d:\d\d:\d\d$")
        value = ((hours * 60 + minutes) * 60 + rest).zip_with(plain, text.cast(pl.Int64, strict=False))
        return self._number(name, seconds, quick=value)

    def _submissions(self, submit: pl.Series, eligible: pl.Series, start: pl.Series) -> pl.Series:
        for other, name in ((eligible, "eligible time"), (start, "start")):
            missing = (submit < 0) & (other >= 0) & ~self._bad
            self._findings.count(f"submission not known, taken from the {name}", int(missing.sum()))
            submit = submit.zip_with(~missing, other)
        late = (start >= 0) & (submit > start) & ~self._bad
        self._findings.count("submission after the start, moved to the start", int(late.sum()))
        return submit.zip_with(~late, start)

    def _has(self, *names: str) -> bool:
        return any(name in self._raw.columns for name in names)

    def _resources(self, name: str) -> dict[str, pl.Series]:
        import polars as pl

        text = self._text(name)
        if text is None or not len(text):
            return {each: self._unknown() for each in Tres._fields}
        text = text.fill_null("").str.replace(_ENERGY, "")  # which makes each list one of its own
        texts = text.unique()
        columns = zip(Tres._fields, zip(*map(tres, texts), strict=True), strict=True)
        return {each: text.replace_strict(texts, pl.Series(numbers, dtype=pl.Int64)) for each, numbers in columns}

    def _sizes(self, started: pl.Series, nodes: pl.Series) -> dict[str, pl.Series]:
        held, asked = self._resources("alloc_tres"), self._resources("req_tres")
        made: dict[str, pl.Series] = {}
        for name, both, allocated, requested in (
            ("nodes", "nnodes", nodes, "req_nodes"),
            ("cores", "ncpus", self._number("alloc_cpus", count), "req_cpus"),
        ):
            either = self._number(both, count)
            found = _first(allocated, either, held[name])
            made[name] = _where(started, found)
            wanted = _first(self._number(requested, count), asked[name], _where(~started, either))
            made[f"req_{name}"] = wanted
        made |= self._gpus(started, held["gpus"], asked["gpus"], made)
        made["memory"] = _where(started, held["memory"])
        memory = _first(self._memory(made), asked["memory"])
        made["req_memory"] = _where(memory > 0, memory)  # 0 asks for all that the nodes have
        return made

    def _gpus(
        self, started: pl.Series, held: pl.Series, asked: pl.Series, sizes: Mapping[str, pl.Series]
    ) -> dict[str, pl.Series]:
        """GPUs, and whether there is a list of resources that names none (:func:`gpus_of_file`)."""
        sockets = self._on_each(self._number("sockets_per_node", count), "nodes", sizes)
        of = dict(sizes, tasks=self._number("tasks", count), req_tasks=self._unknown(), sockets=sockets)
        wanted = self._number("job_gres", gpus)
        asks = wanted > 0
        for place, name in (("node_gres", "nodes"), ("task_gres", "tasks"), ("socket_gres", "sockets")):
            each = self._number(place, gpus)
            total = self._on_each(each, name, {"req_sockets": self._unknown(), **of})
            wanted, asks = wanted.zip_with(wanted >= total, total), asks | (each > 0)
        stated = _first(held, self._number("gres", gpus), self._number("gres_detail", gpus))
        guessed = started & (stated <= 0) & (wanted > 0)
        self._findings.count("GPUs not stated, taken from those that were requested", int(guessed.sum()))
        return {
            "gpus": _where(started, _first(stated, wanted)),
            "req_gpus": _first(asked, self._number("req_gres", gpus), wanted, _where(~started, stated)),
            "no_gpus": started & ~asks & self._listed("alloc_tres", "gres"),
            "no_req_gpus": ~asks & self._listed("req_tres", "req_gres"),
        }

    def _listed(self, resources: str, generic: str) -> pl.Series:
        """Which jobs have a list of resources: of all that are tracked, or of generic ones, which may be empty."""
        text = self._text(resources)
        listed = self._unknown() >= 0 if text is None else ~text.fill_null("").replace(_BLANK).is_in([""])
        return listed | self._has(generic)

    def _memory(self, sizes: Mapping[str, pl.Series]) -> pl.Series:
        """Requested memory of the whole job [MiB]."""
        import polars as pl

        text = self._text("req_mem")
        if text is None:
            return self._unknown()
        texts = text.fill_null("").unique()
        amounts = [requested_memory(each) for each in texts]
        total = self._number("req_mem", lambda each: found.mebibytes if (found := requested_memory(each)) else None)
        unit = text.fill_null("").replace_strict(
            texts, pl.Series([each.per if each else "" for each in amounts], dtype=pl.String)
        )
        # Without a letter, an amount is that of a job, which may have petabytes on many nodes, but not on few.
        nodes = _first(sizes["nodes"], sizes["req_nodes"]).clip(1)
        marked = (unit == "") & (total >= PER_CORE) & (total < 2 * PER_CORE) & (total > _MOST_OF_NODE * nodes)
        total = total.zip_with(~marked, total - PER_CORE)
        unit = unit.zip_with(~marked, pl.Series(["c"]))
        for per, name in (("n", "nodes"), ("c", "cores")):
            each = (unit == per) & (total > 0)
            if each.any():
                total = total.zip_with(~each, self._on_each(total, name, sizes))
        return total

    def _on_each(self, amount: pl.Series, name: str, sizes: Mapping[str, pl.Series]) -> pl.Series:
        """What a job has in all if it has an amount on each of its nodes or cores."""
        number = _first(sizes[name], sizes[f"req_{name}"])
        return _where((number > 0) & (amount >= 0), amount * number)

    def _limit(self) -> dict[str, pl.Series]:
        limits = (self._number("limit", minutes), self._number("limit_raw", minutes))
        value = _first(*limits, self._number("limit_seconds", seconds))
        text = next((text for name in ("limit", "limit_raw") if (text := self._text(name)) is not None), None)
        if text is not None:
            plain = text.str.to_lowercase()
            self._findings.count("no limit (UNLIMITED): the walltime is not known", int((plain == "unlimited").sum()))
            of_partition = (plain == "partition_limit").fill_null(False) & (value < 0)
            if of_partition.any():
                value = self._partition_limit(value, of_partition)
        return {"walltime": _where(value > 0, value)}

    def _partition_limit(self, value: pl.Series, wanted: pl.Series) -> pl.Series:
        import polars as pl

        partition, limits = self._text("partition"), self._reading.limits
        if partition is not None and limits:
            longest = partition.fill_null("").replace_strict(limits, default=UNKNOWN, return_dtype=pl.Int64)
            found = wanted & (longest > 0)
            self._findings.count("limit of the partition taken from the configuration", int(found.sum()))
            value, wanted = value.zip_with(~found, longest), wanted & ~found
        what = "limit of the partition (Partition_Limit), which is not known: the walltime is not known"
        self._findings.count(what, int(wanted.sum()))
        return value

    def _texts(self) -> dict[str, pl.Series]:
        made = {name: text.replace(_BLANK) for name in _TEXTS if (text := self._text(name)) is not None}
        if (user := self._text("user")) is not None:
            made["user_name"] = user.replace(_BLANK)
        if (name := self._text("name")) is not None:
            made["name"] = name
        if (nodes := self._text("nodes")) is not None:
            made["node_list"] = nodes.replace(_BLANK).str.replace(r"^\(.*\)$", "")
        for column in ("req_node_list", "dependency"):
            if (text := self._text(column)) is not None:
                made[column] = text.replace(_BLANK)
        made = {column: text.fill_null("") for column, text in made.items()}
        for column in ("uid", "restarts", "priority"):
            if self._text(column) is not None:
                made[column] = self._number(column, count)
        both = (text for each in ("alloc_tres", "req_tres") if (text := self._text(each)) is not None)
        listed = [text.fill_null("").replace(_BLANK) for text in both]
        if listed:
            made["tres"] = listed[0].zip_with(listed[0] != "", listed[-1])
        return made


def gpus_of_file(frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """The columns of a file's records; a job whose list of resources names no GPU has none if the file tracks GPUs.

    Sites that do not track ``gres/gpu`` list the resources of all jobs without GPUs: then nothing is known.
    """
    import polars as pl

    names = ("gpus", "req_gpus")
    tracked = any(name in each.columns and (each[name] >= 0).any() for each in frames for name in names)
    if tracked:
        none = {name: pl.when(f"no_{name}").then(0).otherwise(UNKNOWN) for name in names}
        frames = [
            each.with_columns(
                pl.when(pl.col(name) >= 0).then(name).otherwise(none[name]).alias(name)
                if name in each.columns
                else none[name].alias(name)
                for name in names
            )
            for each in frames
        ]
    return [each.drop("no_gpus", "no_req_gpus") for each in frames]


def array_tasks(text: str) -> int | None:
    """How many tasks a part of an array has: ``1-5%2`` has 5, ``1,4,8-16:4`` has 5, the bits ``0x3FC`` are 8."""
    found, tasks = text.strip().strip("[]").partition("%")[0], 0
    if re.fullmatch(r"0x[0-9A-Fa-f]+", found):
        return int(found, 16).bit_count()
    if not found:
        return UNKNOWN
    for part in found.split(","):
        bounds, _, step = part.partition(":")
        first, _, last = bounds.partition("-")
        if not all(digits(each) and len(each) < 10 for each in (first, last or first, step or "1")):
            return UNKNOWN if part.strip(". ") == "" else None
        tasks += max(0, (int(last or first) - int(first)) // max(int(step or 1), 1) + 1)
    return tasks


def _where(mask: pl.Series, value: pl.Series) -> pl.Series:
    import polars as pl

    return value.zip_with(mask, pl.Series([UNKNOWN], dtype=pl.Int64))


def _first(*values: pl.Series) -> pl.Series:
    """Of each row the first value above zero, else the last of zero or above."""
    found = values[-1]
    for value in reversed(values[:-1]):
        found = value.zip_with((value > 0) | ((value == 0) & (found < 0)), found)
    return found


def _compact(frame: pl.DataFrame) -> pl.DataFrame:
    """The same in less memory: texts that recur stored once, short integers, no columns of which nothing is known."""
    import polars as pl

    return frame.select(
        column.cast(pl.Categorical) if column.name in _RECURRING else _short(column)
        for column in frame.iter_columns()
        if column.name in _NEEDED or not (column.dtype.is_integer() and column.max() == UNKNOWN)
    )


def _short(column: pl.Series) -> pl.Series:
    return column.shrink_dtype() if column.dtype.is_integer() else column


def _frame(columns: Mapping[str, pl.Series]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame([series.alias(name) for name, series in columns.items()])
