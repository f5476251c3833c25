"""Scores of a trained agent of DeepJS, and its checkpoint."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from transom.learned.checkpoints import Checkpoint, save_in
from transom.learned.deepjs.network import SCHEMA, named
from transom.learned.deepjs.policy import NetworkPolicy
from transom.learned.deepjs.training import DeepJsTrainer
from transom.learned.training.settings import training_command

MEASURE = "above the bound [%]"
RULES = ("longest-first", "random", "first-fit")


def evaluate_and_save(trainer: DeepJsTrainer, name: str, words: Sequence[str]) -> tuple[Checkpoint, Path]:
    """Score the best network on the chunks that it was trained on, and write it with its card.

    Parameters
    ----------
    trainer : whose network.
    name : of the checkpoint.
    words : what of the command is no setting: the trace, its machines and jobs.

    Returns
    -------
    The checkpoint, and its path.
    """
    settings, work = trainer.settings, trainer.workload
    scores = {
        f"{how}, {MEASURE}": round(trainer.above_bound(NetworkPolicy(trainer.best, greedy)), 3)
        for how, greedy in (("drawn", False), ("highest score", True))
    }
    checkpoint = save_in(
        trainer.folder,
        name,
        named(trainer.best),
        "deepjs",
        SCHEMA,
        network=settings.network,
        settings={**asdict(settings), "greedy": trainer.greedy},
        trained_on=f"{len(trainer.chunks):,} chunks of {len(work.job_ids):,} jobs on {len(work.machines)} machines",
        validated_on="the same chunks",
        command=training_command(shlex.join(["deepjs", *words]), settings, name),
        seed=settings.seed,
        decisions=trainer.decisions,
        seconds=round(trainer.seconds, 1),
        scores=scores,
        rules={rule: {MEASURE: round(trainer.above_bound(rule), 3)} for rule in RULES},
    )
    return checkpoint, trainer.folder / f"{name}.safetensors"
