"""The option ``--resources`` of commands that read traces, and what becomes of it."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from transom.generate.demands.resources import Provision
    from transom.traces import Workload

Resources = Annotated[
    str | None,
    typer.Option(
        "--resources",
        metavar="NAME=LAW,...",
        help="Further resources: a capacity, such as gpu=4000, or a distribution of demands in "
        "brackets, such as bb=[normal:mean=40,load=0.8]. Distributions: normal, "
        "lognormal, pareto, correlated, per-node, column. The default load is that of the "
        "nodes.",
    ),
]


class Equipped(NamedTuple):
    """A workload with the resources that were stated: what was made of each, and what makes it again."""

    workload: Workload
    made: tuple[Provision, ...]
    card: dict[str, Any]

    @property
    def lines(self) -> list[str]:
        """What a person reads, a line for each resource."""
        return [f"  {_line(each, len(self.workload))}" for each in self.made]

    @property
    def documents(self) -> list[dict[str, Any]]:
        """What a program reads, an object for each resource; a load over no time is null."""
        return [{**asdict(each), "load": None if math.isnan(each.load) else each.load} for each in self.made]

    @property
    def title(self) -> str:
        """What a heading adds: names, capacities and the seed."""
        if not self.made:
            return ""
        text = ", ".join(f"{each.name} {each.capacity:,}" for each in self.made)
        return f", further resources {text} (seed {self.card['seed']})"


def equipped(workload: Workload, trace: Path, resources: str | None, seed: int) -> Equipped:
    """A workload, as it was read from a trace, with the resources that ``--resources`` states.

    Raises
    ------
    SpecError : the text is malformed, or such resources cannot be had.
    TraceError : a column is needed and the trace cannot be read again.
    """
    if resources is None:
        return Equipped(workload, (), {})
    from transom.generate.instances.replays import equip

    larger, made = equip(workload, str(trace), resources, seed)
    return Equipped(larger, made, {"spec": resources, "seed": seed})


def _line(each: Provision, jobs: int) -> str:
    load = "" if math.isnan(each.load) else f", load {each.load:.3f}"
    asking = "every job" if each.asking == jobs else f"{each.asking} of {jobs} jobs"
    return f"{each.name}: {each.capacity} in all by {each.law}{load}; {asking} asking for {each.mean:.4g} on average"
