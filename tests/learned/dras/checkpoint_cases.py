"""Checkpoints of agents that were never trained but have opinions."""

from __future__ import annotations

from typing import Any

import numpy as np

from transom.learned.checkpoints import Checkpoint, make_card
from transom.learned.dras.process import features
from transom.learned.dras.process.paper_scorer import SCHEMA as PAPER_SCHEMA
from transom.learned.dras.process.paper_scorer import PaperShape
from transom.learned.dras.process.process import AgentConfig
from transom.learned.scorer import ScorerWeights


def drawn(seed: int) -> ScorerWeights:
    """Weights of a scorer."""
    rng = np.random.default_rng(seed)
    f, g = len(features.FEATURES), len(features.CONTEXT)
    shapes: list[tuple[int, ...]] = [(f, 8), (g, 8), (8,), (8, 6), (6,), (6,)]
    return ScorerWeights(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))


def compact(weights: ScorerWeights, scheme: AgentConfig, nodes: int, **stated: Any) -> Checkpoint:
    """A checkpoint of the shared encoder."""
    arrays = {f"actor.{name}": array for name, array in weights._asdict().items()}
    network = f"scorer-{weights.bias.size}x{weights.hidden_bias.size}"
    given = {"network": network, "schema": features.SCHEMA, "cluster": {"nodes": nodes}, **stated}
    return _made(arrays, scheme, **given)


def paper(shape: PaperShape, scheme: AgentConfig, seed: int = 0, **stated: Any) -> Checkpoint:
    """A checkpoint of a network of Table III."""
    rng = np.random.default_rng(seed)
    arrays = {name: rng.normal(size=lengths).astype(np.float32) for name, lengths in shape.shapes().items()}
    settings = {"agent": "dql:dueling=no" if shape.agent == "dql" else "pg", "reward": "waiting", **scheme._asdict()}
    usual = {"network": shape.name, "schema": PAPER_SCHEMA, "cluster": {"nodes": shape.nodes}, "settings": settings}
    given = {**usual, **stated}
    return _made(arrays, scheme, **given)


def _made(arrays: dict[str, Any], scheme: AgentConfig, **stated: Any) -> Checkpoint:
    card: dict[str, Any] = {
        "name": "drawn",
        "component": "dras",
        "settings": {"agent": "pg", "reward": "waiting", **scheme._asdict()},
        "trained_on": "nothing",
        "command": "none",
        "seed": 0,
        "decisions": 0,
        "seconds": 0.0,
    }
    return Checkpoint(arrays, make_card(arrays, **{**card, **stated}))
