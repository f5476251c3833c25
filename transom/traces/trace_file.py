"""Traces as Parquet files, ``transom/trace/1``: what records of resource managers state of jobs and their machine.

A row is a job. All columns are always there: -1, the empty text and the empty list stand for what is not known. The
metadata state, as JSON under the key ``transom``, the format, the machine, partitions in the order of their numbers
(from 1), in which ``unit`` sizes are counted, and what was repaired.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from transom._system.files import atomic_path
from transom.errors import SpecError, TraceError
from transom.models.arrays import IntArray
from transom.reading import head
from transom.traces.partitions import PartitionNodes
from transom.traces.swf_header import FIELDS, Field, Header, standard_name

if TYPE_CHECKING:
    import polars as pl


FORMAT = "transom/trace/1"

NUMBERS = (
    "id", "submit", "eligible", "start", "end", "runtime", "suspended", "walltime", "nodes", "cores", "gpus", "memory",
    "req_nodes", "req_cores", "req_gpus", "req_memory", "user", "array_job", "array_task", "array_tasks", "het_job",
    "restarts", "priority",
)  # fmt: skip
"""Columns of whole numbers: times [s] since 1970 or on the clock of the trace, durations [s], memory [MiB].

``runtime`` leaves out suspensions; sizes are what was allocated, those with ``req_`` what was requested.
"""

TEXTS = (
    "label", "state", "partition", "qos", "account", "user_name", "group", "reservation", "cluster", "name",
    "node_list", "req_node_list", "tres",
)  # fmt: skip
"""Columns of text; ``label`` is the id as the resource manager writes it, such as ``123_4``."""

STATUS = {
    "COMPLETED": 1, "CANCELLED": 5, "PARTIAL": 2, "PARTIAL_COMPLETED": 3, "PARTIAL_FAILED": 4, "FAILED": 0, "": -1,
}  # fmt: skip
"""The status of the Standard Workload Format by state; every other state is a failure, 0."""

_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True)
class TraceCard:
    """What the metadata of a trace state.

    Parameters
    ----------
    unit : what sizes of jobs count: ``nodes`` or ``cores``.
    machine : what there is of ``nodes``, ``cores``, ``gpus``, ``memory`` [MiB].
    told_by : where the size of the machine comes from; empty where a configuration or an option states it.
    partitions : by name, in the order of their numbers: sizes, limits [s], and whatever else is known. Where it is
        known which nodes each has, ``pool`` names all that are linked by nodes that they share, itself included, and
        ``pool_nodes`` and ``pool_cores`` are what these have together.
    topology : the switch and the pod of each node, where known.
    repairs : number of records by what was done to them.
    source : from what the trace was made; ``epoch`` is the Unix time of 0 s where times do not count from 1970.
    maintenance : what is known of it: ``begin`` and ``end`` [s], ``nodes`` and their ``cores``.
    """

    unit: str = "nodes"
    machine: Mapping[str, int] = field(default_factory=dict)
    told_by: str = ""
    partitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    topology: Mapping[str, Any] = field(default_factory=dict)
    repairs: Mapping[str, int] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)
    maintenance: Sequence[Mapping[str, int]] = ()

    def document(self) -> dict[str, Any]:
        """The same in JSON's terms."""
        return {"format": FORMAT, **{name: _plain(getattr(self, name)) for name in self.__slots__}}


def _plain(value: Any) -> Any:
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, Mapping) else value


def complete(frame: pl.DataFrame, further: Sequence[str] = ()) -> pl.DataFrame:
    """A frame with all columns of a trace, in their order, then further ones; those it lacks are not known."""
    import polars as pl

    numbers = (
        pl.col(name).cast(pl.Int64).fill_null(-1) if name in frame.columns else pl.lit(-1, pl.Int64).alias(name)
        for name in NUMBERS
    )
    texts = (
        pl.col(name).cast(pl.String).fill_null("") if name in frame.columns else pl.lit("", pl.String).alias(name)
        for name in TEXTS
    )
    empty = pl.lit([], dtype=pl.List(pl.Int64)).alias("depends_on")
    return frame.select(
        *numbers, *texts, pl.col("depends_on").fill_null(empty) if "depends_on" in frame.columns else empty, *further
    )


def write_trace(path: Path, frame: pl.DataFrame, card: TraceCard) -> None:
    """Write a trace, atomically.

    Parameters
    ----------
    path : the file.
    frame : the jobs, with the columns of :func:`complete`.
    card : what the metadata state.
    """
    with atomic_path(path) as target:
        frame.write_parquet(target, compression="zstd", metadata={"transom": json.dumps(card.document())})


def is_trace_file(path: str) -> bool:
    """Whether a file is Parquet, by its first bytes; False where it cannot be read."""
    try:
        return head(path, 4) == _MAGIC
    except (OSError, ValueError):
        return False


def read_trace_card(path: str) -> TraceCard:
    """What the metadata of a trace state.

    Raises
    ------
    TraceError : the file cannot be read, or is none of :data:`FORMAT`.
    """
    import polars as pl

    with _readable(path):
        text = pl.read_parquet_metadata(path).get("transom")
    try:
        document = json.loads(text or "")
        if document.pop("format") != FORMAT:
            raise ValueError
        card = TraceCard(**document)
        dict(card.machine, **{each: dict(card.partitions[each]) for each in card.partitions})
        for each in card.maintenance:
            begin, end, *amounts = (each[name] for name in ("begin", "end", "nodes", "cores"))
            if not 0 <= begin < end or not all(isinstance(number, int) for number in (begin, end, *amounts)):
                raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError):
        raise TraceError(f"{path}: is no trace of the format {FORMAT}, which `transom import` writes") from None
    return card


def made_of(path: str) -> str:
    """Of whose records a trace was made, such as ``slurm``; empty where it is no Parquet file or does not say.

    Raises
    ------
    TraceError : as of :func:`read_trace_card`.
    """
    return str(read_trace_card(path).source.get("kind", "")) if is_trace_file(path) else ""


def read_trace_frame(path: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The jobs of a trace, or some of their columns.

    Raises
    ------
    TraceError : the file cannot be read, or lacks a column.
    """
    import polars as pl

    with _readable(path):
        return pl.read_parquet(path, columns=None if columns is None else list(columns), glob=False)


def read_fields_of(
    path: str, whole: Sequence[Field], real: Sequence[Field]
) -> tuple[IntArray, tuple[Any, ...], tuple[Any, ...], Header]:
    """Fields of the Standard Workload Format and columns by name, as :func:`~transom.traces.swf_lines.read_lines` has.

    Returns
    -------
    Numbers of the rows from 1, the fields asked for, each of shape ``(jobs,)``, and the header.

    Raises
    ------
    TraceError : the file cannot be read, is no trace, or holds no job.
    SpecError : there is no such field.
    """
    import polars as pl

    card = read_trace_card(path)
    with _readable(path):
        schema = pl.read_parquet_schema(path)
        further = [name for name, dtype in schema.items() if dtype.is_numeric()]
        known = _expressions(card, further)
        for each in (*whole, *real):
            if str(each).lower() not in known:
                names = ", ".join(name for name in known if not name.isdigit())
                raise SpecError(f"{path}: has no field {each!r}. Known: 1 to {len(FIELDS)}, {names}")
        asked = {str(each).lower(): known[str(each).lower()] for each in (*whole, *real)}
        table = pl.scan_parquet(path, glob=False).select(**asked).collect()
        groups = pl.scan_parquet(path, glob=False).select(_group().unique().sort()).collect().to_series().to_list()
    if not len(table) or not asked:
        raise TraceError(f"{path}: holds no job")
    arrays = {name: table[name].cast(pl.Float64).to_numpy() for name in {str(each).lower() for each in real}}
    ints = tuple(table[str(each).lower()].cast(pl.Int64).to_numpy() for each in whole)
    return (
        np.arange(1, len(table) + 1),
        ints,
        tuple(arrays[str(each).lower()] for each in real),
        _header(path, card, groups),
    )


def swf_fields(card: TraceCard) -> list[pl.Expr]:
    """The 18 fields of the Standard Workload Format, each of its own name there."""
    import polars as pl

    unknown, unit = pl.lit(-1, pl.Int64), card.unit
    size = pl.when(pl.col(f"req_{unit}") > 0).then(f"req_{unit}").otherwise(unit)
    numbers = {name: number for number, name in enumerate(card.partitions, 1)} or {"": -1}
    known = {
        "job number": pl.col("id"),
        "submit time": pl.col("submit"),
        "wait time": pl.when(pl.col("start") >= 0).then(pl.col("start") - pl.col("submit")).otherwise(unknown),
        "run time": pl.col("runtime"),
        "allocated processors": pl.col(unit),
        "requested processors": pl.col(f"req_{unit}"),
        "requested time": pl.col("walltime"),
        "requested memory": pl.when((pl.col("req_memory") >= 0) & (size > 0))
        .then(pl.col("req_memory") * 1024 // size)  # KiB of each processor
        .otherwise(unknown),
        "status": pl.when((pl.col("end") < 0) & (pl.col("runtime") < 0) & ~pl.col("state").is_in(list(STATUS)))
        .then(unknown)  # it has not ended
        .otherwise(pl.col("state").replace_strict(STATUS, default=0, return_dtype=pl.Int64)),
        "user": pl.col("user"),
        "group": _group().rank("dense").cast(pl.Int64),
        "partition": pl.col("partition").replace_strict(numbers, default=-1, return_dtype=pl.Int64),
        "preceding job": pl.col("depends_on").list.first().fill_null(unknown),
    }
    return [known.get(name, unknown).alias(name) for name in FIELDS]


def _group() -> pl.Expr:
    """The account that a job is charged to, else the group of its user; the empty text where neither is known."""
    import polars as pl

    return pl.when(pl.col("account") != "").then("account").otherwise("group")


def _expressions(card: TraceCard, further: Sequence[str]) -> dict[str, pl.Expr]:
    """Fields of the format by number and by name, and the numeric columns by name."""
    import polars as pl

    fields = dict(enumerate(swf_fields(card), 1))
    by_name = {standard_name(number): field for number, field in fields.items()}
    columns = {name.lower(): pl.col(name) for name in further}
    return {str(number): field for number, field in fields.items()} | columns | by_name


def _header(path: str, card: TraceCard, groups: Sequence[str]) -> Header:
    size = card.machine.get(card.unit)
    sizes = {"maxprocs": size} if size else {}
    return Header(
        path,
        sizes=sizes,
        partitions=dict(enumerate(card.partitions, 1)),
        counted={name: size for name, size in card.machine.items() if size > 0},
        partition_nodes=_partition_nodes(card),
        told_by=card.told_by,
        groups={number: name or "none" for number, name in enumerate(groups, 1)},
        epoch=epoch if isinstance(epoch := card.source.get("epoch"), int) else 0,
    )


def _partition_nodes(card: TraceCard) -> PartitionNodes:
    numbers = {name: number for number, name in enumerate(card.partitions, 1)}
    pools = {tuple(each["pool"]): each for each in card.partitions.values() if "pool" in each}
    return PartitionNodes(
        {numbers[name]: size for name, each in card.partitions.items() if (size := each.get(card.unit, 0)) > 0},
        [([numbers[name] for name in pool], each[f"pool_{card.unit}"]) for pool, each in pools.items()],
    )


@contextmanager
def _readable(path: str) -> Iterator[None]:
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TraceError(f"{path}: not a Parquet file, or damaged ({reason})") from None
