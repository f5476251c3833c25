"""Agents whose weights are as they were drawn: what the decision process is worth without any learning."""

from __future__ import annotations

import argparse
from pathlib import Path

from transom.cli.output import note
from transom.learned.checkpoints import Checkpoint, load, make_card, save
from transom.rng import stream


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("like", help="a checkpoint whose network and settings they share: a name or path")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True, help="folder of the agents of a comparison")


def run(arguments: argparse.Namespace) -> None:
    """Write ``OUT/untrained/SEED`` and ``OUT/untrained-reselect/SEED``."""
    from transom.learned.dras.scorer_network import ScorerNetwork

    like = load(arguments.like, "dras")
    given, context = like.weights["actor.features"], like.weights["actor.context"]
    hidden = like.weights["actor.hidden"].shape
    for seed in range(1, arguments.seeds + 1):
        network = ScorerNetwork(given.shape[0], context.shape[0], hidden, stream(seed, "weights"))
        weights = {f"actor.{name}": array for name, array in network.scorer()._asdict().items()}
        for variant, keep in (("untrained", 1), ("untrained-reselect", 0)):
            card = make_card(
                weights,
                name=variant,
                component="dras",
                network=like.card.network,
                schema=like.card.schema,
                cluster=like.card.cluster,
                settings={**like.card.settings, "keep": keep},
                trained_on="nothing",
                command=f"python -m benchmarks.dras untrained {like.card.name}",
                seed=seed,
                steps=0,
                seconds=0.0,
            )
            path = arguments.out / variant / str(seed) / f"{variant}.safetensors"
            path.parent.mkdir(parents=True, exist_ok=True)
            save(path, Checkpoint(weights, card))
            note(f"wrote {path}")
