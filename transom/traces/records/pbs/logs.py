"""Accounting logs of PBS Professional, OpenPBS and Torque: ``server_priv/accounting/YYYYMMDD``.

A line is ``DATE TIME;TYPE;ID;key=value ...``. Jobs are the records of their ends (``E``) and of executions that were
rerun (``R``). Those that still run are known from ``S``, those that wait or were deleted (``D``, ``A``) from ``Q``.

References
----------
Altair PBS Professional Administrator's Guide, chapter "Accounting"; Torque Administrator Guide, "Accounting records".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from transom._system.notices import timed
from transom.errors import TraceError
from transom.traces.records.delimited import LINE
from transom.traces.records.findings import Findings
from transom.traces.records.importing import Imported, ImportRules, built
from transom.traces.records.pbs.resources import ASKED, ASSIGNED, Size, asked, assigned
from transom.traces.records.typed import Reading, typed
from transom.traces.swf_blocks import blocks

if TYPE_CHECKING:
    import polars as pl

_LINE = r"^\s*(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d)(?:\.\d+)?;(\w);([^;]*);(.*)$"
_JOB = r"^(\d{1,18})(?:\[(\d*)\]|-(\d{1,18}))?(?:[.\-].*)?$"  # a task is 1008[3] or, until Torque 2.4, 1008-3
_KEYS = {
    "user": "user", "group": "group", "account": r"(?:account|Account_Name|account_name)", "partition": "queue",
    "created": "ctime", "queued": "qtime", "eligible": "etime", "start": "start", "end": "end",
    "limit_seconds": r"Resource_List\.walltime", "req_mem": r"Resource_List\.mem",
    "elapsed": r"resources_used\.walltime", "exit": "Exit_status",
    "reservation": r"(?:resvname|resvID)", "dependency": r"(?:depend|Resource_List\.depend)", "project": "project",
    "restarts": "run_count", **ASSIGNED, **ASKED,
}  # fmt: skip
_VALUE = r'("[^"]*"|\S*)'
_VALUES = {"tasks": r"((?: ?-L \S+)+)"}  # others have no blank, or are in quotes
_BLOCK = 1 << 25
_TYPES = ("E", "R", "S", "Q", "D", "A")
_TERMINATED = 271  # 256 + SIGTERM: deleted, or killed at its limit


def read_pbs(
    paths: Sequence[str],
    rules: ImportRules = ImportRules(),  # noqa: B008  (frozen data)
) -> Imported:
    """The trace of accounting logs.

    Parameters
    ----------
    paths : the files, plain or gzip, in any order; ``-`` is standard input.
    rules : how records become a trace.

    Raises
    ------
    TraceError : a file cannot be read, too many lines cannot be used, or no job is left.
    """
    findings, reading = Findings(), Reading(rules.zone())
    parts: list[pl.DataFrame] = []
    for path in paths:
        with timed(f"reading {path}"):
            parts += [_records(path, number, block, findings) for number, block in blocks(path, _BLOCK)]
    where = ", ".join(paths)
    jobs = _jobs(parts, findings, where)
    return built([typed(jobs, where, reading, findings)], findings, rules, where)


def _records(path: str, before: int, block: bytearray, findings: Findings) -> pl.DataFrame:
    """Type, job, time and fields of each line, as text."""
    import polars as pl

    text = pl.Series("text", block.decode("utf-8", "replace").split("\n")[:-1], dtype=pl.String)
    frame = pl.DataFrame([pl.int_range(before + 1, before + 1 + len(text), eager=True).alias(LINE), text])
    frame = frame.filter(pl.col("text").str.strip_chars() != "")
    parts = pl.col("text").str.extract_groups(_LINE).struct
    frame = frame.select(
        LINE, stamp=parts.field("1"), type=parts.field("2"), id=parts.field("3"), text=parts.field("4")
    )
    findings.records += len(frame)
    bad = frame["type"].is_null()
    if bad.any():
        at = frame.filter(bad)[LINE][0]
        findings.refuse(f"{path}: line {at}", "expected DATE TIME;TYPE;ID;key=value ...", int(bad.sum()))
    known = frame["type"].is_in(list(_TYPES)).fill_null(False)
    findings.count("records of other types (not read)", int((~known & ~bad).sum()))
    name = pl.col("text").str.extract(r'(?:^| )jobname=("[^"]*"|\S*)').str.strip_chars('"')
    entries = pl.col("text").str.replace(r'(?:^| )jobname=("[^"]*"|\S*)', "")
    found = (
        entries.str.extract(rf"(?: |^){key}={_VALUES.get(field, _VALUE)}").str.strip_chars('"').alias(field)
        for field, key in _KEYS.items()
    )
    return frame.filter(known).select(LINE, "stamp", "type", "id", *found, name=name, file=pl.lit(path))


def _jobs(parts: Sequence[pl.DataFrame], findings: Findings, path: str) -> pl.DataFrame:
    """Records of jobs as text, in the terms of Slurm."""
    import polars as pl

    if not parts or not any(map(len, parts)):
        raise TraceError(findings.first or f"{path}: holds no record of a job")
    entries = pl.concat(parts)
    whole = entries["id"].str.contains("[]", literal=True)
    findings.count("records of whole arrays (their tasks are jobs)", int(whole.sum()))
    entries = entries.filter(~whole)
    type_, id_ = pl.col("type"), pl.col("id")
    began, ended = (entries.filter(type_.is_in(types))["id"].unique().implode() for types in (["S", "E", "R"], ["E"]))
    waited = entries.filter(~id_.is_in(began))
    gone = (
        waited.filter(type_.is_in(["D", "A"])).unique("id", keep="last", maintain_order=True).select("id", gone="stamp")
    )
    queued = waited.filter(type_ == "Q").unique("id", keep="first", maintain_order=True).join(gone, "id", how="left")
    unknown = gone.join(queued, "id", "anti")
    findings.count("deleted while waiting, with no record of the submission: left out", len(unknown))
    running = entries.filter((type_ == "S") & ~id_.is_in(ended)).unique("id", keep="last", maintain_order=True)
    rerun = entries.filter((type_ == "R") & pl.col("start").is_not_null() & pl.col("end").is_not_null())
    jobs = pl.concat([entries.filter(type_ == "E"), rerun, running, queued], how="diagonal").sort("file", LINE)
    if not len(jobs):
        raise TraceError(f"{path}: holds no record of a job that was submitted")
    number, task = id_.str.extract(_JOB, 1), pl.coalesce(id_.str.extract(_JOB, 2), id_.str.extract(_JOB, 3))
    ran = type_ != "Q"
    jobs = _sized(jobs, findings)
    return jobs.select(
        LINE,
        job=pl.when(task.is_not_null()).then(number + "_" + task).otherwise(pl.coalesce(number, id_)),
        submit=pl.coalesce("created", "queued", pl.when(type_ == "Q").then(_iso("stamp"))),
        eligible=pl.col("eligible"),
        start=pl.when(ran).then("start"),
        end=pl.when(ran).then("end").otherwise(_iso("gone") if "gone" in jobs.columns else pl.lit(None, pl.String)),
        # Some versions write a walltime of zero, or below, for jobs that ran.
        elapsed=pl.when((type_ == "E") & ~pl.col("elapsed").str.contains(r"^[0:]*$|-")).then("elapsed"),
        limit_seconds=pl.col("limit_seconds"),
        alloc_nodes=pl.when(ran).then("had_nodes"),
        req_nodes="asked_nodes",
        alloc_cpus=pl.when(ran).then("had_cores"),
        req_cpus="asked_cores",
        gres=pl.when(ran).then("had_gpus"),
        req_gres="asked_gpus",
        req_mem=pl.col("req_mem").str.replace(r"^(\d+)$", "${1}b"),  # bytes, where no unit is stated
        partition=pl.col("partition"),
        account=pl.coalesce("account", pl.col("project").replace("_pbs_project_default", None)),
        user=pl.col("user"),
        group=pl.col("group"),
        state=_state(),
        name=pl.col("name"),
        nodes=pl.col("exec_host"),
        reservation=pl.col("reservation"),
        dependency=pl.col("dependency").str.replace_all(r"\.[A-Za-z][\w.-]*|@[\w.-]+", ""),
        restarts=pl.col("restarts"),
    )


def _sized(jobs: pl.DataFrame, findings: Findings) -> pl.DataFrame:
    """Records with what each job had and asked for, as text: what was assigned, else what was asked for."""
    import polars as pl

    had, wanted = _read(jobs, tuple(ASSIGNED), assigned), _read(jobs, tuple(ASKED), asked)
    # Of a job on a Cray's compute nodes, only the login node is listed.
    of_cray = (wanted["cores"] > had["cores"]) & (jobs["mppwidth"].is_not_null() | jobs["size"].str.contains(r"^\d+$"))
    had = had.with_columns(pl.when(of_cray.fill_null(False)).then(None).otherwise(pl.all()).name.keep())
    fewer = (had["cores"] < wanted["cores"]) & (jobs["type"] != "Q")
    findings.count("fewer cores assigned than asked for: those assigned count", int(fewer.sum()))
    had = had.select(each.zip_with(each.is_not_null(), wanted[each.name]) for each in had.iter_columns())
    # A log that nowhere speaks of GPUs does not say that there are none.
    if had["gpus"].is_not_null().any() or wanted["gpus"].is_not_null().any():
        none = pl.when(pl.any_horizontal(pl.col("nodes", "cores").is_not_null())).then(0)
        had, wanted = (each.with_columns(pl.col("gpus").fill_null(none)) for each in (had, wanted))
    as_text = pl.col("nodes", "cores").cast(pl.String), pl.format("gpu:{}", "gpus").alias("gpus")
    return pl.concat(
        [
            jobs,
            had.select(*as_text).rename(lambda name: f"had_{name}"),
            wanted.select(*as_text).rename(lambda name: f"asked_{name}"),
        ],
        how="horizontal",
    )


def _read(jobs: pl.DataFrame, names: Sequence[str], read: Callable[[Mapping[str, str]], Size]) -> pl.DataFrame:
    """The sizes that some columns state, each combination of their texts read once."""
    import polars as pl

    texts = jobs.select(pl.col(names).fill_null(""))
    each = texts.unique(maintain_order=True)
    found = pl.DataFrame(
        [read(row) for row in each.iter_rows(named=True)], dict.fromkeys(Size._fields, pl.Int64), orient="row"
    ).rename({name: f"size_{name}" for name in Size._fields})
    joined = texts.join(pl.concat([each, found], how="horizontal"), on=list(names), how="left", maintain_order="left")
    return joined.select(pl.col(f"size_{name}").alias(name) for name in Size._fields)


def _iso(column: str) -> pl.Expr:
    """``MM/DD/YYYY HH:MM:SS`` as other times are written."""
    import polars as pl

    return pl.col(column).str.replace(r"^(\d\d)/(\d\d)/(\d{4}) (.*)$", "${3}-${1}-${2}T${4}")


def _state() -> pl.Expr:
    import polars as pl

    code = pl.col("exit").cast(pl.Int64, strict=False)
    waiting = pl.when(pl.col("gone").is_not_null()).then(pl.lit("CANCELLED")).otherwise(pl.lit("PENDING"))
    return (
        pl.when(pl.col("type") == "Q").then(waiting)
        .when(pl.col("type") == "S").then(pl.lit("RUNNING"))
        .when(pl.col("type") == "R").then(pl.lit("REQUEUED"))
        .when(code == 0).then(pl.lit("COMPLETED"))
        .when(code == _TERMINATED).then(pl.lit("CANCELLED"))
        .otherwise(pl.lit("FAILED"))
    )  # fmt: skip
