"""Checkpoints of learned repairs with random weights, windows, and what a search says in plain Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from transom.learned.checkpoints import Checkpoint, Weights, make_card, save
from transom.learned.repair.candidates import CONTEXT, FEATURES, SCHEMA
from transom.models import AUTHORS, Allocation, FatTree
from transom.models.allocation import Rule

CLUSTER = {"nodes": 200, "leaf_nodes": 10, "pod_nodes": 40}


def window(rule: Rule = "dynamic", wrap: bool = True, cost: Any = AUTHORS) -> Allocation:
    """A window of five jobs on 90 idle nodes in fragments."""
    rng = np.random.default_rng(4)
    idle = np.flatnonzero(np.repeat(rng.random(40) < 0.6, 5))[:90]
    return Allocation(FatTree.uniform(200, 10, 40), idle, [17, 9, 21, 5, 12], rule, wrap, cost)


def fcn_weights(seed: int = 0, rows: int = 5) -> Weights:
    """Weights of FCN-1 that prefer some first nodes to others."""
    rng = np.random.default_rng(seed)
    shapes = {"0": (64, rows * 100), "2": (64, 64), "4": (100, 64)}
    weights = {f"actor.{i}.weight": rng.normal(size=shape) * 0.3 for i, shape in shapes.items()}
    weights |= {f"actor.{i}.bias": rng.normal(size=shape[0]) for i, shape in shapes.items()}
    return {name: array.astype(np.float32) for name, array in weights.items()}


def actor_with(name: str, rows: int, weights: Weights) -> Any:
    """The network of torch that has these weights."""
    import torch

    from transom.learned.repair.networks import network

    actor = network(name, rows)
    actor.load_state_dict({key.removeprefix("actor."): torch.tensor(np.array(each)) for key, each in weights.items()})
    return actor


def scorer_weights(seed: int = 0) -> Weights:
    """Weights of a scorer of cheapest starts."""
    rng = np.random.default_rng(seed)
    shapes = {
        "features": (len(FEATURES), 8), "context": (len(CONTEXT), 8), "bias": (8,),
        "hidden": (8, 8), "hidden_bias": (8,), "out": (8,),
    }  # fmt: skip
    return {f"actor.{name}": rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def write(path: Path, weights: Weights, **stated: Any) -> str:
    """Write a checkpoint; the specification of the solver's model."""
    facts: dict[str, Any] = {
        "name": path.stem, "component": "repair", "network": "fcn-1", "schema": "repair-5x100/1", "cluster": CLUSTER,
        "settings": {"largest": 40}, "trained_on": "nothing", "command": "none", "seed": 0, "decisions": 0,
        "seconds": 0.0,
    }  # fmt: skip
    save(path, Checkpoint(weights, make_card(weights, **{**facts, **stated})))
    return str(path)


def write_nsa(folder: Path, seed: int = 0, **stated: Any) -> str:
    """A checkpoint for ``nsa``."""
    return write(folder / f"made-{seed}.safetensors", fcn_weights(seed), **stated)


def write_nsa_cost(folder: Path, seed: int = 0, **stated: Any) -> str:
    """A checkpoint for ``nsa-cost``."""
    usual = {"schema": SCHEMA, "network": "shared scorer", "cluster": {}, "settings": {"candidates": 16}}
    return write(folder / f"made-cost-{seed}.safetensors", scorer_weights(seed), **{**usual, **stated})
