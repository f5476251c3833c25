"""Scores of a trained scorer of priorities, and its checkpoint."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from transom.learned.checkpoints import Checkpoint, save_in
from transom.learned.priority.policy import ROLLOUTS, PriorityRule
from transom.learned.priority.scorer import SCHEMA, TASK
from transom.learned.priority.training import PriorityTrainer
from transom.learned.training.settings import training_command
from transom.simulation.placement.bounds import makespan_bound
from transom.simulation.placement.replay import simulate_tasks


def evaluate_and_save(trainer: PriorityTrainer, name: str, words: Sequence[str]) -> tuple[Checkpoint, Path]:
    """Score the weights on the chunks that they were trained on, and write them with their card.

    Parameters
    ----------
    trainer : whose weights.
    name : of the checkpoint.
    words : what of the command is no setting: the trace, its machines and jobs.

    Returns
    -------
    The checkpoint, and its path.
    """
    settings, work = trainer.settings, trainer.workload
    chunks = list(work.chunks(settings.chunks))
    bounds = np.array([makespan_bound(each) for each in chunks], np.float64)

    def above(policy: str | PriorityRule) -> float:
        found = [simulate_tasks(each, policy, seed=k).makespan for k, each in enumerate(chunks)]
        return round(100 * float(np.mean(np.array(found) / bounds) - 1), 3)

    weights = {
        "task": trainer.weights[: len(TASK)].astype(np.float32),
        "machine": trainer.weights[len(TASK) :].astype(np.float32),
    }
    checkpoint = save_in(
        trainer.folder,
        name,
        weights,
        "priority",
        SCHEMA,
        network="linear scorer",
        settings=asdict(settings),
        trained_on=f"windows of {settings.chunks} of {len(work.job_ids):,} jobs on {len(work.machines)} machines",
        validated_on=f"the {len(chunks):,} chunks of these jobs",
        command=training_command(shlex.join(["learned-priority", *words]), settings, name),
        seed=settings.seed,
        decisions=trainer.curve[-1].replays,
        seconds=round(trainer.seconds, 1),
        scores={
            "above the bound [%]": above(PriorityRule(trainer.weights)),
            f"with {ROLLOUTS} rollouts [%]": above(PriorityRule(trainer.weights, ROLLOUTS)),
        },
        rules={rule: {"above the bound [%]": above(rule)} for rule in ("longest-first", "first-fit")},
    )
    return checkpoint, trainer.folder / f"{name}.safetensors"
