"""The recipe of joint choices: random jobs, weighted by node-hours, that compete for scattered idle nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import numpy as np

from transom._system.settings import Natural, Positive, setting
from transom.errors import SpecError
from transom.generate.instance_generator import InstanceGenerator
from transom.models import FatTree, Joint
from transom.rng import stream

_HOURS = 24  # of the longest job


class RandomJoints(InstanceGenerator, frozen=True, kw_only=True):
    """Jobs of log-uniform sizes and 1 to 24 hours on the idle nodes of a three-level tree."""

    nodes: Annotated[Positive, setting("Number of nodes.")] = 256
    leaf_nodes: Annotated[Positive, setting("Nodes of a leaf switch.")] = 16
    pod_nodes: Annotated[Positive, setting("Nodes of a pod.")] = 64
    idle: Annotated[float, setting("Probability that a node is idle, 0 < idle <= 1.")] = 0.3
    jobs: Annotated[Natural, setting("Number of waiting jobs; their weights are node-hours.")] = 20
    cap: Annotated[Positive, setting("Largest job, in nodes.")] = 32
    cost_weight: Annotated[float, setting("Weight of a unit of communication cost, in node-hours.")] = 0.001
    limited: Annotated[float, setting("Share of jobs that may span only as many leaf switches as they need.")] = 0.0
    mandatory: Annotated[
        Natural,
        setting(
            "Number of jobs, from the first on, that must start, as long as they take at most half of the idle nodes."
        ),
    ] = 0

    def check(self) -> None:
        if not 0 < self.idle <= 1 or not 0 <= self.limited <= 1:
            raise SpecError(f"joint: 0 < idle <= 1 and 0 <= limited <= 1 must hold, got {self.idle}, {self.limited}")
        next(self.block(0, 1))

    def block(self, seed: int, number: int) -> Iterator[Joint]:
        rng = stream(seed, "joint", number)
        tree = FatTree.uniform(self.nodes, self.leaf_nodes, self.pod_nodes)
        idle = np.flatnonzero(rng.random(self.nodes) < self.idle)
        sizes = np.exp(rng.uniform(0, np.log(self.cap + 1), self.jobs)).astype(np.int64)
        weights = sizes * rng.integers(1, _HOURS + 1, self.jobs)
        limited = rng.random(self.jobs) < self.limited
        limits = np.where(limited, -(-sizes // self.leaf_nodes), sizes) if self.limited else None
        fits = np.flatnonzero(np.cumsum(sizes[: self.mandatory]) <= len(idle) // 2)
        yield Joint(tree, idle, sizes, weights, self.cost_weight, fits, leaf_limits=limits)


def recipe_for(given: Mapping[str, Any]) -> type[InstanceGenerator]:
    """The recipe class for these parameters."""
    return RandomJoints
