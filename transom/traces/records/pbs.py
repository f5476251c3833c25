"""Accounting logs of PBS Professional, OpenPBS and Torque: ``server_priv/accounting/YYYYMMDD``.

A line is ``DATE TIME;TYPE;ID;key=value ...``. Jobs are the records of their ends (``E``) and of executions that were
rerun (``R``). Those that still run are known from ``S``, those that wait or were deleted (``D``, ``A``) from ``Q``.

References
----------
Altair PBS Professional Administrator's Guide, chapter "Accounting"; Torque Administrator Guide, "Accounting records".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transom._system.notices import timed
from transom.errors import TraceError
from transom.traces.records.delimited import LINE
from transom.traces.records.findings import Findings
from transom.traces.records.importing import Imported, ImportRules, built
from transom.traces.records.typed import Reading, typed
from transom.traces.swf_blocks import blocks

if TYPE_CHECKING:
    import polars as pl

_LINE = r"^\s*(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d)(?:\.\d+)?;(\w);([^;]*);(.*)$"
_JOB = r"^(\d{1,18})(?:\[(\d*)\])?(?:[.\-].*)?$"
_KEYS = {
    "user": "user", "group": "group", "account": r"(?:account|Account_Name|account_name)", "partition": "queue",
    "created": "ctime", "queued": "qtime", "eligible": "etime", "start": "start", "end": "end",
    "exec_host": "exec_host", "nodect": r"Resource_List\.nodect", "ncpus": r"Resource_List\.ncpus",
    "procs": r"Resource_List\.procs", "ngpus": r"Resource_List\.(?:ngpus|gpus)",
    "limit_seconds": r"Resource_List\.walltime", "req_mem": r"Resource_List\.mem",
    "elapsed": r"resources_used\.walltime", "exit": "Exit_status",
    "reservation": r"(?:resvname|resvID)", "dependency": r"(?:depend|Resource_List\.depend)", "project": "project",
    "restarts": "run_count",
}  # fmt: skip
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
        entries.str.extract(rf'(?: |^){key}=("[^"]*"|\S*)').str.strip_chars('"').alias(field)
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
    number, task = (id_.str.extract(_JOB, i) for i in (1, 2))
    hosts = jobs["exec_host"].fill_null("")
    texts = hosts.unique()
    both = pl.Struct({"nodes": pl.String(), "cores": pl.String()})
    held = hosts.replace_strict(texts, pl.Series([_held(each) for each in texts], dtype=both)).struct.unnest()
    ran = type_ != "Q"
    nodes = pl.coalesce(pl.col("nodect"), held["nodes"])
    cores = pl.coalesce(pl.col("ncpus"), held["cores"], pl.col("procs"))
    return jobs.select(
        LINE,
        job=pl.when(task.is_not_null()).then(number + "_" + task).otherwise(pl.coalesce(number, id_)),
        submit=pl.coalesce("created", "queued", pl.when(type_ == "Q").then(_iso("stamp"))),
        eligible=pl.col("eligible"),
        start=pl.when(ran).then("start"),
        end=pl.when(ran).then("end").otherwise(_iso("gone") if "gone" in jobs.columns else pl.lit(None, pl.String)),
        elapsed=pl.when(type_ == "E").then("elapsed"),
        limit_seconds=pl.col("limit_seconds"),
        alloc_nodes=pl.when(ran).then(nodes),
        req_nodes=nodes,
        alloc_cpus=pl.when(ran).then(cores),
        req_cpus=cores,
        gres=pl.lit("gpu:") + pl.coalesce("ngpus", pl.lit("0")),
        req_gres=pl.lit("gpu:") + pl.coalesce("ngpus", pl.lit("0")),
        req_mem=pl.col("req_mem"),
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


def _held(text: str) -> dict[str, str | None]:
    """Nodes and cores of ``n1/0*4+n2/0*4`` or ``n1/0+n1/1+n2/0-3``."""
    if not text:
        return {"nodes": None, "cores": None}
    nodes, cores = set(), 0
    for part in text.split("+"):
        host, _, slots = part.strip("()").partition("/")
        nodes.add(host)
        for slot in slots.split(","):
            times = slot.partition("*")[2]
            first, dash, last = slot.partition("-")
            if times.isdecimal() and len(times) < 10:
                cores += int(times)
            elif dash and first.isdecimal() and last.isdecimal() and len(last) < 10:
                cores += max(int(last) - int(first) + 1, 1)
            else:
                cores += 1
    return {"nodes": str(len(nodes)), "cores": str(cores)}
