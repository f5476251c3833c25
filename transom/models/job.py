"""A job as the scheduler knows it, and a table of jobs in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError, shown
from transom.models.arrays import Frozen, IntArray, expected, frozen_ints, whole

if TYPE_CHECKING:
    import polars as pl

UNKNOWN = -1
"""What stands for an unknown user or priority."""

ID, SUBMIT, NODES, WALLTIME, USER, PRIORITY, DEMAND = range(7)
"""Columns of :attr:`JobTable.data`; the demands on further resources begin at the last."""


@dataclass(frozen=True, slots=True)
class Job:
    """One rigid job, with only what its user told the scheduler.

    Parameters
    ----------
    id : positive number, unique in its trace.
    submit : time of submission [s].
    nodes : requested nodes, > 0.
    walltime : the user's limit on the runtime [s], > 0.
    demand : requested amounts of the cluster's further resources, one per resource, >= 0.
    user : number of the user, -1 if unknown.
    priority : the site's priority, -1 if unknown.
    depends_on : ids of the jobs that must have ended before this one may start.

    Raises
    ------
    ModelError : a condition above does not hold.
    """

    id: int
    submit: int
    nodes: int
    walltime: int
    demand: tuple[int, ...] = ()
    user: int = UNKNOWN
    priority: int = UNKNOWN
    depends_on: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("id", "submit", "nodes", "walltime", "user", "priority"):
            if type(value := getattr(self, name)) is not int:
                object.__setattr__(self, name, whole(value, f"job {shown(self.id)}: {name}"))
        for name in ("demand", "depends_on"):
            if values := getattr(self, name):
                expected(values, (tuple, list), f"job {self.id}: {name}", "a tuple")
                object.__setattr__(self, name, tuple(whole(each, f"job {self.id}: {name}") for each in values))
            elif values != ():
                raise ModelError(f"job {self.id}: {name}: expected a tuple, got {shown(values)}")
        if self.id <= 0:
            raise ModelError(f"job {self.id}: id must be > 0")
        if self.nodes <= 0:
            raise ModelError(f"job {self.id}: nodes must be > 0, got {self.nodes}")
        if self.walltime <= 0:
            raise ModelError(f"job {self.id}: walltime must be > 0 s, got {self.walltime}")
        if any(amount < 0 for amount in self.demand):
            raise ModelError(f"job {self.id}: demand must be >= 0, got {self.demand}")
        if self.id in self.depends_on:
            raise ModelError(f"job {self.id}: depends on itself")


@dataclass(init=False, frozen=True, eq=False, slots=True)
class JobTable(Frozen, Sequence[Job]):
    """Jobs in columns: a sequence of :class:`Job` whose columns are read-only arrays.

    Parameters
    ----------
    data : int64, shape ``(jobs, 6 + resources)``: id, submit [s], nodes, walltime [s], user,
        priority, then the demand on each further resource.
    depends_on : ids of the parents of those jobs that have any.

    Raises
    ------
    ModelError : a job breaks a condition of :class:`Job`, or an id occurs twice.
    """

    data: IntArray
    depends_on: Mapping[int, tuple[int, ...]]

    def __init__(self, data: ArrayLike, depends_on: Mapping[int, Sequence[int]] | None = None) -> None:
        table = frozen_ints(data, "jobs")
        if table.size == 0 and table.ndim != 2:
            table = frozen_ints(np.empty((0, DEMAND)), "jobs")
        if table.ndim != 2 or table.shape[1] < DEMAND:
            raise ModelError(f"jobs: expected shape (jobs, {DEMAND} + resources), got {table.shape}")
        for column, name in ((ID, "id"), (NODES, "nodes"), (WALLTIME, "walltime")):
            bad = np.flatnonzero(table[:, column] <= 0)
            if bad.size:
                raise ModelError(f"job {table[bad[0], ID]}: {name} must be > 0, got {table[bad[0], column]}")
        bad = np.flatnonzero((table[:, DEMAND:] < 0).any(axis=1)) if table.shape[1] > DEMAND else np.empty(0, np.int64)
        if bad.size:
            raise ModelError(f"job {table[bad[0], ID]}: demand must be >= 0, got {table[bad[0], DEMAND:].tolist()}")
        if not (np.diff(table[:, ID]) > 0).all():
            ids, counts = np.unique(table[:, ID], return_counts=True)
            if (counts > 1).any():
                raise ModelError(f"job {ids[counts > 1][0]}: this id stands {counts.max()} times")
        expected(depends_on, (Mapping, type(None)), "jobs: depends_on", "parents by job")
        parents = {int(job): tuple(map(int, ids)) for job, ids in (depends_on or {}).items() if len(ids)}
        for job, of in parents.items():
            if job in of:
                raise ModelError(f"job {job}: depends on itself")
        object.__setattr__(self, "data", table)
        object.__setattr__(self, "depends_on", MappingProxyType(parents))

    @classmethod
    def of(cls, jobs: Iterable[Job]) -> JobTable:
        """The table of ``jobs``, in their order.

        Raises
        ------
        ModelError : they state demands on different numbers of resources.
        """
        listed = list(jobs)
        rows = [(j.id, j.submit, j.nodes, j.walltime, j.user, j.priority, *j.demand) for j in listed]
        if len({len(row) for row in rows}) > 1:
            raise ModelError("jobs: all must state a demand on the same resources")
        return cls(rows, {j.id: j.depends_on for j in listed if j.depends_on})

    def take(self, index: Any) -> JobTable:
        """The rows at ``index`` (integers or a mask), copied, in that order."""
        data = self.data[index]
        if data.base is not None:
            data = data.copy()  # a slice would lead on to the jobs that were not asked for
        data.flags.writeable = False
        parents = self.depends_on
        if parents:
            parents = MappingProxyType({job: parents[job] for job in data[:, ID].tolist() if job in parents})
        return JobTable._trusted(data, parents)

    def to_frame(self, resources: Sequence[str] = ()) -> pl.DataFrame:
        """The columns as a polars data frame, ``depends_on`` among them where a job has parents.

        Parameters
        ----------
        resources : names of the further resources, for columns ``demand_NAME``; numbers by default.
        """
        import polars as pl

        names = resources or range(self.demand.shape[1])
        columns = {
            "job_id": self.id,
            **{name: getattr(self, name) for name in ("submit", "nodes", "walltime", "user", "priority")},
            **{f"demand_{name}": column for name, column in zip(names, self.demand.T, strict=True)},
        }
        frame = pl.DataFrame({name: np.ascontiguousarray(column) for name, column in columns.items()})
        if not self.depends_on:
            return frame
        parents = [list(self.depends_on.get(job, ())) for job in self.id.tolist()]
        return frame.with_columns(pl.Series("depends_on", parents, pl.List(pl.Int64)))

    def _repr_html_(self) -> str:
        return self.to_frame()._repr_html_()

    @classmethod
    def _trusted(cls, data: IntArray, depends_on: Mapping[int, tuple[int, ...]]) -> JobTable:
        # For rows that have been checked: the replay builds thousands of tables a second, a trace has millions of rows.
        table = object.__new__(cls)
        object.__setattr__(table, "data", data)
        object.__setattr__(table, "depends_on", depends_on)
        return table

    @property
    def id(self) -> IntArray:
        """Ids, shape ``(jobs,)``."""
        return self.data[:, ID]

    @property
    def submit(self) -> IntArray:
        """Submission times [s], shape ``(jobs,)``."""
        return self.data[:, SUBMIT]

    @property
    def nodes(self) -> IntArray:
        """Requested nodes, shape ``(jobs,)``."""
        return self.data[:, NODES]

    @property
    def walltime(self) -> IntArray:
        """Requested limits [s], shape ``(jobs,)``."""
        return self.data[:, WALLTIME]

    @property
    def user(self) -> IntArray:
        """Users, -1 where unknown, shape ``(jobs,)``."""
        return self.data[:, USER]

    @property
    def priority(self) -> IntArray:
        """Site priorities, -1 where unknown, shape ``(jobs,)``."""
        return self.data[:, PRIORITY]

    @property
    def demand(self) -> IntArray:
        """Demands on the further resources, shape ``(jobs, resources)``."""
        return self.data[:, DEMAND:]

    def __len__(self) -> int:
        return int(self.data.shape[0])

    @overload
    def __getitem__(self, index: int) -> Job: ...
    @overload
    def __getitem__(self, index: slice) -> JobTable: ...
    def __getitem__(self, index: int | slice) -> Job | JobTable:
        if isinstance(index, slice):
            return self.take(index)
        id_, submit, nodes, walltime, user, priority, *demand = self.data[index].tolist()
        return Job(id_, submit, nodes, walltime, tuple(demand), user, priority, self.depends_on.get(id_, ()))

    def __iter__(self) -> Iterator[Job]:
        return (self[i] for i in range(len(self)))
