"""Who runs the jobs of a workload, and what they hold beside nodes: what limits and priorities of a site go by."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from transom.models.arrays import IntArray
from transom.traces.further_fields import read_fields
from transom.traces.trace_file import is_trace_file, read_trace_frame

if TYPE_CHECKING:
    from transom.traces.workload import Workload

AMOUNTS = ("jobs", "cpu", "mem", "node", "gres/gpu")
"""What is counted of each job: itself, cores, memory [MiB], nodes, GPUs."""

_GROUP, _PARTITION = 13, 16  # fields of the Standard Workload Format
_COLUMNS = {"cpu": "cores", "mem": "memory", "node": "nodes", "gres/gpu": "gpus"}


class Kind(NamedTuple):
    """What jobs of one kind have in common: names in lower case, empty where unknown."""

    user: str
    account: str
    qos: str
    partition: str
    reservation: str = ""


class JobFacts(NamedTuple):
    """Facts about the jobs of a workload.

    Parameters
    ----------
    kinds : the kinds of jobs that there are.
    of : the kind of each job, shape ``(jobs,)``.
    amounts : what each job holds, in the order of :data:`AMOUNTS`, -1 where unknown, shape ``(jobs, 5)``.
    """

    kinds: tuple[Kind, ...]
    of: IntArray
    amounts: IntArray


def job_facts(workload: Workload) -> JobFacts:
    """The facts that a workload and the trace that it was read from state.

    Imported traces state names, cores, memory and GPUs, of which the allocated amounts count where they are known. In
    the Standard Workload Format users and groups have numbers, which are taken for their names; the group is the
    account.

    Raises
    ------
    TraceError : the trace cannot be read any more.
    """
    if is_trace_file(workload.origin.path):
        return _of_trace(workload)
    jobs, origin = workload.jobs, workload.origin
    unknown = np.full(len(jobs), -1)
    group, partition = (unknown if each is None else each for each in (origin.group, origin.partition))
    if origin.path not in ("", "-") and (origin.group is None or origin.partition is None):
        # A workload does not keep what is the same for all jobs.
        stated = read_fields(origin.path, (_GROUP, _PARTITION), jobs.id)
        group, partition = (np.nan_to_num(stated[field], nan=-1).astype(np.int64) for field in (_GROUP, _PARTITION))
    numbers, of = np.unique(np.column_stack((jobs.user, group, partition)), axis=0, return_inverse=True)
    kinds = tuple(
        Kind(_text(user), origin.groups.get(account, _text(account)).lower(), "", origin.names.get(part, "").lower())
        for user, account, part in numbers.tolist()
    )
    amounts = np.full((len(jobs), len(AMOUNTS)), -1, np.int64)
    amounts[:, 0], amounts[:, AMOUNTS.index("node")] = 1, jobs.nodes
    return JobFacts(kinds, of.reshape(-1).astype(np.int64), amounts)


def facts_digest(facts: JobFacts) -> str:
    """A digest of facts, which that of the workload does not cover."""
    state = blake2b(repr(facts.kinds).encode(), digest_size=8)
    state.update(facts.of.tobytes() + facts.amounts.tobytes())
    return state.hexdigest()


def _of_trace(workload: Workload) -> JobFacts:
    import polars as pl

    names = ("user_name", "account", "qos", "partition", "reservation")
    sizes = [name for each in _COLUMNS.values() for name in (each, f"req_{each}")]
    stated = read_trace_frame(workload.origin.path, ("id", "user", *names, *sizes)).unique("id", keep="last")
    stated = stated.with_columns(user_name=pl.when(pl.col("user_name") != "").then("user_name").otherwise("user"))
    rows = pl.DataFrame({"id": workload.jobs.id}).join(stated, "id", "left", maintain_order="left")
    rows = rows.with_columns(pl.col(name).cast(pl.String).fill_null("").str.to_lowercase() for name in names)
    kinds = rows.select(names).unique(maintain_order=True).with_row_index("kind")
    of = rows.join(kinds, names, "left", maintain_order="left")["kind"].to_numpy().astype(np.int64)
    amounts = rows.select(
        pl.lit(1, pl.Int64).alias("jobs"),
        *(
            pl.when(pl.col(column) > 0).then(column).otherwise(f"req_{column}").fill_null(-1).alias(name)
            for name, column in _COLUMNS.items()
        ),
    )
    found = np.array(amounts.to_numpy(), np.int64, order="C")
    gpus = AMOUNTS.index("gres/gpu")
    found[:, gpus] = np.maximum(found[:, gpus], 0)  # who asks for none says nothing of them
    return JobFacts(tuple(Kind(*row) for row in kinds.select(names).iter_rows()), of, found)


def _text(number: int) -> str:
    return str(number) if number >= 0 else ""
