"""The recipe of workflows: random ones of a family, alone or in a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from transom._system.settings import Natural, Positive, setting
from transom.errors import SpecError
from transom.generate.instance_generator import InstanceGenerator
from transom.generate.instances.workflows import WORKFLOW_FAMILIES, Runtimes, random_workflow
from transom.models.workflow import Workflow
from transom.reductions.joining import joined
from transom.registry import unknown
from transom.rng import stream


class RandomWorkflows(InstanceGenerator, frozen=True, kw_only=True):
    """Random workflows (:func:`~transom.generate.instances.workflows.random_workflow`)."""

    family: Annotated[str, setting("layered, chain, fork-join, out-tree, in-tree, or all in turn.")] = "layered"
    tasks: Annotated[Positive, setting("Number of tasks. With fewest, the maximum.")] = 30
    fewest: Annotated[Positive | None, setting("Minimum number of tasks.")] = None
    width: Annotated[Positive, setting("layered, fork-join: maximum number of parallel tasks.")] = 8
    law: Annotated[str, setting("Distribution of runtimes: lognormal, weibull, gamma or uniform.")] = "lognormal"
    median: Annotated[float, setting("Median runtime.", "DURATION")] = 60.0
    spread: Annotated[float, setting("Spread of the runtimes of different programs.")] = 1.2
    largest: Annotated[Positive, setting("Largest task, in nodes.")] = 1
    memory: Annotated[bool, setting("Tasks also request memory.")] = False
    nodes: Annotated[Natural | None, setting("Nodes of the machine. By default, no machine is stated.")] = None
    bytes: Annotated[Natural | None, setting("With memory: bytes of the machine. By default enough for all tasks.")] = (
        None
    )
    gap: Annotated[
        float | None,
        setting("Mean time between submissions, a Poisson process. By default, all are submitted at 0.", "DURATION"),
    ] = None
    together: Annotated[
        Positive, setting("Combine so many workflows into one problem, each released at its submission.")
    ] = 1

    def check(self) -> None:
        if self.family not in (*WORKFLOW_FAMILIES, "all"):
            raise unknown("workflow family", self.family, (*WORKFLOW_FAMILIES, "all"))
        if self.fewest is not None and self.fewest > self.tasks:
            raise SpecError(f"workflow: fewest must be <= tasks = {self.tasks}, got {self.fewest}")
        if self.gap is not None and not 0 <= self.gap < 1e9:
            raise SpecError(f"workflow: 0 <= gap < 10**9 must hold, got {self.gap}")
        if self.bytes is not None and (not self.memory or self.nodes is None):
            raise SpecError("workflow: bytes are those of a machine, with memory and nodes")
        if self.nodes is not None and self.largest > self.nodes:
            raise SpecError(f"workflow: largest = {self.largest} nodes of a task, the machine has {self.nodes}")
        next(self.block(0, 1))

    def block(self, seed: int, number: int) -> Iterator[Workflow]:
        flows = [self._workflow(seed, (number - 1) * self.together + each) for each in range(1, self.together + 1)]
        made = joined(flows, f"{self.family}-{number}") if self.together > 1 else flows[0]
        if self.nodes is None:
            yield made
        else:
            yield made.on(self.nodes, {} if self.bytes is None else {"memory": self.bytes})

    def _workflow(self, seed: int, number: int) -> Workflow:
        rng = stream(seed, "workflow", self.family, number)
        family = WORKFLOW_FAMILIES[(number - 1) % len(WORKFLOW_FAMILIES)] if self.family == "all" else self.family
        tasks = self.tasks if self.fewest is None else int(rng.integers(self.fewest, self.tasks, endpoint=True))
        runtimes = Runtimes(self.law, self.median, self.spread)
        made = random_workflow(rng, family, tasks, self.width, runtimes, self.largest, self.memory)
        return replace(made, name=f"{family}-{number}", submit=self._submit(seed, number))

    def _submit(self, seed: int, number: int) -> int:
        """When a workflow of the stream is submitted: all gaps come from one random stream, from the first on."""
        if self.gap is None:
            return 0
        return int(stream(seed, "workflow", "gaps").exponential(self.gap, number - 1).sum())


def recipe_for(given: Mapping[str, Any]) -> type[InstanceGenerator]:
    """The recipe class for these parameters."""
    return RandomWorkflows
