"""The common part of recipes whose documents are taken from replays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from transom._system.settings import Positive, setting
from transom.errors import SpecError
from transom.generate.demands.laws import Column
from transom.generate.demands.resources import Provision, Resource, parse_resources, provide
from transom.generate.instance_generator import InstanceGenerator
from transom.generate.workload.workload_recipe import WorkloadRecipe
from transom.rng import stream
from transom.simulation import Schedule, make_policy, simulate
from transom.simulation.core.site_order import load_rule
from transom.traces import Workload
from transom.traces.further_fields import read_fields
from transom.traces.trace_file import is_trace_file, read_trace_card


class Equipped(NamedTuple):
    """A workload with further resources, and the provision of each."""

    workload: Workload
    made: tuple[Provision, ...]


def equip(workload: Workload, trace: str | None, resources: str | None, seed: int) -> Equipped:
    """A workload with the resources stated by a text (:func:`~transom.generate.parse_resources`).

    Of a column of an imported trace, such as ``gpus``, the machine has as much as the trace states.

    Parameters
    ----------
    workload : jobs and machine.
    trace : the file that it was read from, for laws that take a column of it.
    resources : the text; None leaves the workload as it is.
    seed : of the demands.

    Raises
    ------
    SpecError : the text is malformed, or such resources cannot be had.
    TraceError : a column is needed and the trace cannot be read again.
    """
    if resources is None:
        return Equipped(workload, ())
    listed = parse_resources(resources)
    fields: list[int | str] = [resource.law.field for resource in listed if isinstance(resource.law, Column)]
    if fields and trace is None:
        raise SpecError("resources: a generated workload has no columns of a trace")
    if not fields or trace is None:
        return Equipped(*provide(workload, listed, seed))
    columns = read_fields(trace, fields, workload.jobs.id)
    machine = read_trace_card(trace).machine if is_trace_file(trace) else {}
    return Equipped(*provide(workload, [_as_stated(each, machine) for each in listed], seed, columns))


def _as_stated(resource: Resource, machine: Mapping[str, int]) -> Resource:
    """A resource with the capacity that the machine of an imported trace has of its column, unless stated otherwise."""
    if not isinstance(resource.law, Column) or resource.capacity is not None or resource.load is not None:
        return resource
    capacity = int(machine.get(str(resource.law.field).removeprefix("req_"), 0) / resource.law.unit)
    return replace(resource, capacity=capacity) if capacity > 0 else resource


class ReplayRecipe(InstanceGenerator, frozen=True, kw_only=True):
    """Documents from the replay of a workload under a policy; an epoch is one such replay.

    Parameters
    ----------
    workload : a table with the parameters of the recipe ``workload``.
    resources : further resources of its machine, as ``--resources`` takes them.
    order : priority rule that orders the queue, the policy's own by default.
    """

    workload: WorkloadRecipe = WorkloadRecipe()
    resources: str | None = None
    policy: Annotated[str, setting("Policy of the replay.")] = "fcfs-easy"
    order: str | None = None
    every: Annotated[Positive, setting("Minimum time between two windows.", "DURATION")] = 3600

    @property
    def sequential(self) -> bool:
        return True

    @property
    def num_blocks(self) -> int | None:
        return self.workload.num_blocks

    def check(self) -> None:
        self.workload.check()
        self.resource_names()
        load_rule(self.ordered())

    def resource_names(self) -> tuple[str, ...]:
        """Names of the further resources."""
        return () if self.resources is None else tuple(each.name for each in parse_resources(self.resources))

    def ordered(self) -> str:
        """The priority rule that orders the queue."""
        return self.order or str(getattr(make_policy(self.policy), "order", "fcfs"))

    def equipped(self, seed: int, number: int) -> Equipped:
        """The workload of an epoch, with its resources."""
        return equip(
            self.workload.workload(seed, number), self.workload.like, self.resources, _demand_seed(seed, number)
        )

    def replay(self, workload: Workload, seed: int, progress: Callable[[int], None] | None = None) -> Schedule:
        """The schedule of such a workload; ``progress`` is called with how many jobs have started."""
        return simulate(workload, make_policy(self.policy), seed=seed, label=self.policy, progress=progress)

    def cut(self, schedule: Schedule) -> Iterator[Any]:
        """What is cut out of a schedule."""
        raise NotImplementedError

    def block(self, seed: int, number: int) -> Iterator[Any]:
        return self.cut(self.replay(self.equipped(seed, number).workload, seed))


def _demand_seed(seed: int, number: int) -> int:
    return seed if number == 1 else int(stream(seed, "demands", number).integers(2**62))
