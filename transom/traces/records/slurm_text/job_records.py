"""Records of ``Key=value`` pairs: jobcomp's file (a line each), ``scontrol show job`` (a paragraph each)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from transom.traces.records.delimited import LINE
from transom.traces.records.findings import Findings
from transom.traces.records.hostlist import hosts
from transom.traces.records.slurm_text.job_fields import RECORDED
from transom.traces.records.values import RUNNING, WAITING, gpus

if TYPE_CHECKING:
    import polars as pl

_KEYS = {
    field: names.keys[0] if len(names.keys) == 1 else f"(?:{'|'.join(names.keys)})"
    for field, names in RECORDED.items()
    if names.keys
}
"""The key of each field, as a regular expression."""

_NAME = r"^(.*? )(?:JobName=(.*) (UserId=.*)|Name=(.*) (JobState=.*))$"


_NODE_GRES = r" Nodes=(\S+) CPU_IDs=\S* Mem=\S* GRES(?:_IDX)?=(\S*gpu\S*)"


def read_key_values(path: str, blocks: Iterable[tuple[int, bytearray]], findings: Findings) -> Iterator[pl.DataFrame]:
    """The fields that are known, as text, block by block.

    Lines that begin with blanks continue the record before them. A job's name may contain anything, also what looks
    like further pairs.
    """
    import polars as pl

    for numbers, texts in _records(blocks):
        record = pl.Series(texts, dtype=pl.String)
        is_job = record.str.contains(r"^Job_?I[dD]=\d")
        bad = ~is_job
        findings.records += len(record)
        if bad.any():
            findings.refuse(f"{path}: line {numbers[bad.arg_max() or 0]}", "expected JobId=NUMBER", int(bad.sum()))
        frame = pl.DataFrame({LINE: numbers, "record": record}).filter(is_job)
        yield _fields(frame)


def _fields(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    text = pl.col("record")
    frame = frame.with_columns(
        name=pl.coalesce(
            text.str.extract(_NAME, 2).str.replace(r" HetJobIdSet=\S+$", ""), text.str.extract(_NAME, 4), pl.lit("")
        ),
        record=text.str.replace(_NAME, "${1}${3}${5}"),
    )
    found = frame.select(
        LINE, "name", **{field: text.str.extract(rf"(?: |^){key}=(\S*)") for field, key in _KEYS.items()}
    )
    memory = pl.coalesce(pl.col("memory_node") + "n", pl.col("memory_core") + "c")
    owner = pl.col("owner")
    found = found.with_columns(
        req_mem=memory,
        user=owner.str.replace(r"\(\d+\)$", ""),
        uid=owner.str.extract(r"\((\d+)\)$"),
        group=pl.col("group").str.replace(r"\(\d+\)$", ""),
        job=pl.col("raw"),
        suspended=_suspended(),
        gres_detail=frame["record"].map_elements(_gpus_of_nodes, return_dtype=pl.String),
    ).drop("memory_node", "memory_core", "owner", "last_suspended", "before")
    # jobcomp writes when an execution has ended. A job that is requeued then waits already.
    ended = frame["record"].str.contains(" NodeCnt=", literal=True)
    waits = ended & pl.col("state").is_in(list(WAITING | RUNNING))
    found = found.with_columns(state=pl.when(waits).then(pl.lit("REQUEUED")).otherwise("state"))
    return found.select(
        column for column in found.iter_columns() if column.null_count() < len(column) or not len(found)
    )


def _gpus_of_nodes(record: str) -> str | None:
    """The GPUs of all nodes of a running job, which ``scontrol -d`` lists by groups of nodes that hold the same."""
    try:
        held = [len(hosts(nodes)) * max(gpus(each) or 0, 0) for nodes, each in re.findall(_NODE_GRES, record)]
    except ValueError:
        return None
    return f"gpu:{sum(held)}" if held else None


def _suspended() -> pl.Expr:
    """How long a job was suspended until it was suspended, or resumed, the last time."""
    import polars as pl

    last, start = (
        pl.col(name).str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False) for name in ("last_suspended", "start")
    )
    length = (last - start).dt.total_seconds() - pl.col("before").cast(pl.Int64, strict=False)
    return pl.when(length > 0).then(length.cast(pl.String))


def _in_name(record: str) -> bool:
    """Whether a record so far ends in the name of its job, which goes on in the next line."""
    return re.search(r" (?:JobName=(?!.* UserId=)|Name=(?!.* JobState=))", record) is not None


def _records(blocks: Iterable[tuple[int, bytearray]]) -> Iterator[tuple[list[int], list[str]]]:
    """Records on one line each, and the numbers of their first lines."""
    numbers: list[int] = []
    texts: list[str] = []
    for before, block in blocks:
        for number, line in enumerate(block.decode("utf-8", "replace").split("\n")[:-1], before + 1):
            plain = line.strip()
            if not plain:
                continue
            if texts and (line[0] in " \t" or (not plain.startswith("Job") and _in_name(texts[-1]))):
                texts[-1] += " " + plain
            else:
                texts.append(re.sub(r"[\r\n]", " ", plain))
                numbers.append(number)
        if len(texts) > 1:  # the last one may go on in the next block
            yield numbers[:-1], texts[:-1]
            numbers, texts = numbers[-1:], texts[-1:]
    if texts:
        yield numbers, texts
