"""Workloads and checkpoints that the tests of MARS share."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from transom.generate import generate_lublin
from transom.learned.checkpoints import Checkpoint, make_card, save
from transom.learned.kernel.scoring import KernelWeights
from transom.learned.kernel.weights import NETWORK, SHAPES, kernel_weights
from transom.learned.mars.cards import SCHEMA
from transom.models import Cluster, JobTable
from transom.traces import Workload

CHOSEN = {"min": 0, "median": 0, "small": "sjf-easy", "medium": "unicep-easy", "large": "learned"}


def weights_of(seed: int) -> KernelWeights:
    return kernel_weights(np.random.default_rng(seed).normal(size=sum(map(prod, SHAPES))))


def trace() -> Workload:
    return generate_lublin(200, 64, np.random.default_rng(1), load=1.2)


def dependent() -> Workload:
    """Jobs of which many wait for earlier ones, some of them for those that are submitted with them."""
    rng = np.random.default_rng(3)
    rows = [(i + 1, 20 * (i // 4), int(rng.integers(1, 9)), int(rng.integers(1, 300)), -1, -1) for i in range(80)]
    parents = {i + 1: sorted({int(rng.integers(1, i + 1)) for _ in range(2)}) for i in range(4, 80, 3)}
    runtime = np.array([max(1, row[3] - int(rng.integers(0, 50))) for row in rows])
    return Workload("dependent", Cluster(8), JobTable(rows, parents), runtime)


def checkpoint(folder: Path, seed: int = 0, slots: int = 128, **chosen: Any) -> Path:
    """The path of a checkpoint with drawn weights."""
    weights = weights_of(seed)._asdict()
    card = make_card(
        weights,
        "mars",
        SCHEMA,
        name="drawn",
        network=NETWORK,
        cluster={"nodes": 64},
        settings={"learner": "ppo", "slots": slots, **CHOSEN, **chosen},
        trained_on="nothing",
        command="none",
        seed=seed,
        decisions=0,
        seconds=0.0,
    )
    path = folder / f"drawn-{seed}-{len(list(folder.iterdir()))}.safetensors"
    save(path, Checkpoint(weights, card))
    return path
