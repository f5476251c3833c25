r"""Further resources of a workload: the demands of its jobs, and the capacity of the machine.

The load of a resource is

.. math:: \frac{\sum_j d_j t_j}{C\,T}

with :math:`d_j` the demand and :math:`t_j` the runtime of a job, :math:`C` the capacity and :math:`T` the time from the
first submission to the last. Mean, capacity and load hang together: two of them determine the third.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Annotated

import numpy as np
from msgspec import Meta

from transom import registry
from transom._system.settings import Above, check_settings
from transom.errors import SpecError
from transom.generate.demands.laws import LAWS, Columns, Law, Normal, specified
from transom.models import Cluster, JobTable
from transom.models.arrays import FloatArray, IntArray
from transom.rng import stream
from transom.traces import Workload

MEAN = 100.0
"""The mean of laws that state none, where the capacity follows from the load."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,49}")
_COMMON = ("capacity", "load", "share")
_LARGEST = 2**40  # of a demand or a capacity, so that sums over long traces stay exact
_NO_COLUMNS: Columns = {}


@dataclass(frozen=True, slots=True)
class Resource:
    """A further resource: the distribution of its demands, and its capacity.

    Parameters
    ----------
    name : letters, digits, ``_`` and ``-``; as :class:`~transom.models.Cluster` takes it.
    law : how much jobs ask for; :class:`~transom.generate.demands.laws.Normal` with its defaults unless stated.
    capacity : capacity of the machine, > 0; by default it follows from ``load``.
    load : the offered load, > 0; by default that of the nodes. With a capacity, it determines the mean.
    share : share of jobs without a demand, at least 0 and below 1.

    Raises
    ------
    SpecError : a number is out of range, or mean, capacity and load are all stated.
    """

    name: str
    law: Law = field(default_factory=Normal)
    capacity: int | None = None
    load: Above | None = None
    share: Annotated[float, Meta(ge=0, lt=1)] = 0.0

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name == "nodes":
            raise SpecError(f"resource {self.name!r}: expected a name of letters, digits, _ and -, other than 'nodes'")
        if self.capacity is not None and not 0 < self.capacity <= _LARGEST:
            raise SpecError(f"resource {self.name!r}: capacity must be from 1 to 2**40, got {self.capacity}")
        check_settings(f"resource {self.name!r}", self)
        if None not in (self.capacity, self.load, self.law.mean):
            what = "mean" if math.isfinite(self.law.mean or 0) else "the trace"
            raise SpecError(f"resource {self.name!r}: {what}, capacity and load are stated; two determine the third")


@dataclass(frozen=True, slots=True)
class Provision:
    """The capacity and demands generated for a :class:`Resource`.

    Parameters
    ----------
    name, law : of the resource; the law with its parameters.
    capacity : of the machine.
    load : of the resource, as defined above; not a number where all jobs are submitted at once.
    asking : number of jobs with a demand.
    cut : jobs whose demand was cut at the capacity.
    mean : mean demand of these jobs.
    """

    name: str
    law: str
    capacity: int
    load: float
    asking: int
    cut: int
    mean: float


def parse_resources(text: str) -> tuple[Resource, ...]:
    """Resources out of ``NAME=LAW`` or ``NAME=CAPACITY``, with commas between.

    ``bb=[normal:mean=40,deviation=20,load=0.8],gpu=4000``: what holds a comma goes into brackets; next to the
    parameters of the law stand ``capacity``, ``load`` and ``share``.

    Raises
    ------
    SpecError : the text is malformed, a name stands twice, or a law or parameter is unknown or out of range.
    """
    if not text:
        raise SpecError("resources: expected NAME=LAW or NAME=CAPACITY, several with commas between; got nothing")
    try:
        _, stated = registry.parse(f"resources:{text}")
    except SpecError as error:
        # What parses is a specification that stands for the resources; the user has written none.
        reason = str(error).removeprefix(f"specification {f'resources:{text}'!r}: ").replace("KEY=VALUE", "NAME=LAW")
        raise SpecError(f"resources {text!r}: {reason}") from None
    parameters = {*_COMMON, *(each.name for law in LAWS.values() for each in fields(law))}
    for name in stated:
        if name in parameters:
            raise SpecError(f"resources {text!r}: {name!r} is a parameter; put a law with several into brackets")
    return tuple(_resource(name, spec) for name, spec in stated.items())


def with_resources(
    workload: Workload,
    resources: str | Iterable[Resource],
    seed: int = 0,
    columns: Columns = _NO_COLUMNS,
) -> Workload:
    """A workload with further resources; :func:`provide` also returns the provision of each."""
    return provide(workload, resources, seed, columns)[0]


def provide(
    workload: Workload,
    resources: str | Iterable[Resource],
    seed: int = 0,
    columns: Columns = _NO_COLUMNS,
) -> tuple[Workload, tuple[Provision, ...]]:
    """A workload whose jobs ask for further resources, and the provision of each.

    Demands are whole: amounts are rounded, and cut at the capacity, so that every job can run. Each resource has a
    random stream of its own by its name: another resource beside it changes nothing.

    Parameters
    ----------
    workload : jobs and machine; resources that it has already stay.
    resources : what to add, as text (:func:`parse_resources`) or objects.
    seed : of all demands.
    columns : fields of the trace for the jobs of the workload, by number or name, for the law ``column``.

    Raises
    ------
    SpecError : a resource stands twice, a column is not given, or the load cannot be had.
    """
    listed = parse_resources(resources) if isinstance(resources, str) else tuple(resources)
    cluster, demands, made = workload.cluster, [workload.jobs.data], []
    names = [*cluster.resources, *(resource.name for resource in listed)]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SpecError(f"resource {twice[0]!r} stands twice")
    for resource in listed:
        demand, provision = _provision(workload, resource, seed, columns)
        demands.append(demand[:, None])
        made.append(provision)
    capacities = (*cluster.capacities, *(provision.capacity for provision in made))
    larger = Cluster(cluster.num_nodes, tuple(names), capacities, cluster.topology)
    repairs = {f"{each.name}: demand cut at the capacity of {each.capacity}": each.cut for each in made if each.cut}
    jobs = JobTable(np.hstack(demands), workload.jobs.depends_on)
    return replace(workload, cluster=larger, jobs=jobs, repairs={**workload.repairs, **repairs}), tuple(made)


def offered_load(workload: Workload) -> FloatArray:
    """The load of the nodes and of each further resource, as defined above, shape ``(1 + resources,)``; NaN over no
    time."""
    asked = np.column_stack((workload.jobs.nodes, workload.jobs.demand))
    capacities = np.array([workload.cluster.num_nodes, *workload.cluster.capacities])
    span = _span(workload)
    loads: FloatArray = workload.runtime.astype(float) @ asked / np.maximum(capacities, 1) / (span or math.nan)
    return loads


def _span(workload: Workload) -> int:
    return int(np.ptp(workload.jobs.submit)) if len(workload) else 0


def _resource(name: str, spec: str) -> Resource:
    law, _, _ = spec.partition(":")
    try:
        float(spec)
    except ValueError:
        pass
    else:
        if not re.fullmatch(r"[+-]?\d+", spec):
            raise SpecError(f"resource {name!r}: capacity must be a whole number, got {spec}")
        return Resource(name, capacity=int(spec))
    # column:NAME is short for column:field=NAME.
    law, settings = registry.parse(re.sub(r"^column:(?=[^=,]+(?:,|$))", "column:field=", spec))
    if law not in LAWS:
        raise registry.unknown(f"demand law of resource {name!r}:", law, LAWS)
    known = [*(each.name for each in fields(LAWS[law])), *_COMMON]
    if odd := [key for key in settings if key not in known]:
        raise SpecError(f"resource {name!r}: {law!r} has no parameter {odd[0]!r}. Known: {', '.join(known)}")
    common = {key: settings.pop(key) for key in _COMMON if key in settings}
    built: Law = registry.build(LAWS[law], law, settings)

    def resource(capacity: int | None = None, load: float | None = None, share: float = 0.0) -> Resource:
        return Resource(name, built, capacity, load, share)

    made: Resource = registry.build(resource, law, common)
    return made


def _provision(workload: Workload, resource: Resource, seed: int, columns: Columns) -> tuple[IntArray, Provision]:
    law = resource.law
    if law.mean is None and resource.capacity is None:
        law = law.sized(MEAN)
    amounts = law.amounts(workload, columns, stream(seed, "resource", resource.name, "amounts"))
    spared = stream(seed, "resource", resource.name, "share").random(len(workload)) < resource.share
    amounts = np.where(spared, 0.0, amounts)
    span, time = _span(workload), workload.runtime.astype(float)
    nodes = float(time @ workload.jobs.nodes) / workload.cluster.num_nodes
    aim = nodes if resource.load is None else resource.load * span  # demand x runtime for each unit of capacity
    if law.mean is None:
        capacity = int(resource.capacity or 0)
        factor = _factor(resource, amounts, time, aim, capacity, span)
        demand, law = _whole(resource, np.minimum(amounts * factor, capacity + 1.0)), law.sized(factor)
    else:
        demand = _whole(resource, amounts)
        capacity = resource.capacity or _capacity(resource, demand, time, aim, span)
    held = np.minimum(demand, capacity)
    asking = int((held > 0).sum())
    load = float(time @ held) / capacity / span if span else math.nan
    average = float(held.sum()) / asking if asking else 0.0
    name = specified(law)
    if resource.share:
        name += f"{',' if ':' in name else ':'}share={resource.share:g}"
    return held, Provision(resource.name, name, capacity, load, asking, int((demand > capacity).sum()), average)


def _whole(resource: Resource, amounts: FloatArray) -> IntArray:
    if len(amounts) and not amounts.max() < _LARGEST:
        raise SpecError(f"resource {resource.name!r}: a demand must be below 2**40, got {amounts.max():g}")
    return np.rint(amounts).astype(np.int64)


def _capacity(resource: Resource, demand: IntArray, time: FloatArray, aim: float, span: int) -> int:
    """The least capacity at which the load is no higher than wanted, or the one below where that is nearer."""
    _reachable(resource, demand > 0, time, aim, span)

    def excess(capacity: int) -> float:
        return float(time @ np.minimum(demand, capacity)) / capacity - aim

    least = _first(lambda capacity: excess(capacity) <= 0, _LARGEST)
    if excess(least) > 0:
        raise SpecError(f"resource {resource.name!r}: its load needs a capacity above 2**40")
    return least - 1 if least > 1 and excess(least - 1) < -excess(least) else least


def _factor(resource: Resource, amounts: FloatArray, time: FloatArray, aim: float, capacity: int, span: int) -> float:
    """By how much to multiply amounts to have the load wanted at a capacity that is stated."""
    _reachable(resource, amounts > 0, time, aim, span)

    def excess(factor: float) -> float:
        # Whatever is above the capacity is cut there.
        demand = np.rint(np.minimum(amounts * factor, capacity))
        return float(time @ demand) / capacity - aim

    low, high = 0.0, 1.0
    while excess(high) < 0 and high < 2.0**60:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) >= 0 else (middle, high)
    return high if low == 0 or excess(high) <= -excess(low) else low


def _reachable(resource: Resource, asks: np.ndarray, time: FloatArray, aim: float, span: int) -> None:
    if not asks.any():
        raise SpecError(f"resource {resource.name!r}: no job asks for any of it; state mean and capacity")
    if not span:
        raise SpecError(
            f"resource {resource.name!r}: all jobs are submitted at once, which is no load; state mean and capacity"
        )
    if float(time[asks].sum()) < aim:
        most = float(time[asks].sum()) / span
        raise SpecError(
            f"resource {resource.name!r}: a load of {aim / span:.4g} is out of reach: "
            f"if every job that asks for any took all of it, it would be {most:.4g}"
        )


def _first(holds: Callable[[int], bool], limit: int) -> int:
    """The least number from 1 to ``limit`` for which something holds that holds for all larger ones, else the limit."""
    high = 1
    while high < limit and not holds(high):
        high *= 2
    low, high = high // 2 + 1 if high > 1 else 1, min(high, limit)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
