"""Evaluation of a trained network, and its checkpoint."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from transom.learned.checkpoints import Checkpoint, save_in
from transom.learned.repair.networks import weights_of
from transom.learned.repair.scoring import COUNT, EPOCHS, compare, held_out, torch_scores
from transom.learned.repair.training import RepairTrainer
from transom.learned.training.settings import training_command

_ALWAYS = ("network", "decisions", "seed")


def evaluate_and_save(trainer: RepairTrainer, name: str, folder: Path | None = None) -> tuple[Checkpoint, Path]:
    """Score the actor on windows that were not trained on, and write it with its card.

    Parameters
    ----------
    trainer : whose actor.
    name : of the checkpoint.
    folder : where ``NAME.safetensors`` and its card go, by default that of the training.

    Returns
    -------
    The checkpoint, and its path.
    """
    settings, env, actor = trainer.settings, trainer.env, trainer.actor
    scores = compare(held_out(settings.cluster, settings.rows), torch_scores(actor))
    leaf_nodes, pod_nodes = env.pool.tree.regular or (0, 0)
    into = folder or trainer.folder
    checkpoint = save_in(
        into,
        name,
        weights_of(actor),
        "repair",
        env.task.schema,
        network=settings.network,
        cluster={"nodes": env.pool.tree.num_nodes, "leaf_nodes": leaf_nodes, "pod_nodes": pod_nodes},
        settings={"largest": env.pool.largest, **asdict(settings), "task": asdict(env.task)},
        trained_on=f"{len(env.pool)} windows of {settings.streams} streams on the {settings.cluster} cluster",
        validated_on=f"{COUNT:,} destroyed windows of {EPOCHS} other streams on the {settings.cluster} cluster",
        command=training_command("nsa", settings, name, _ALWAYS),
        seed=settings.seed,
        decisions=trainer.decisions,
        seconds=round(trainer.seconds, 1),
        scores={rule: round(cost, 1) for rule, cost in scores.items()},
    )
    return checkpoint, into / f"{name}.safetensors"
