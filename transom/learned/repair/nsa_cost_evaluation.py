"""What a training of ``nsa-cost`` leaves: a checkpoint that says how it scored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from transom.learned.checkpoints import Checkpoint, save_in
from transom.learned.repair.candidates import SCHEMA
from transom.learned.repair.nsa_cost import NsaCost
from transom.learned.repair.nsa_cost_training import CostTrainer, dynamic_windows, first_weights
from transom.learned.repair.rollouts import collect_rollouts
from transom.learned.repair.training_settings import CostTraining
from transom.learned.scorer import ScorerWeights
from transom.learned.training.settings import training_command
from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray
from transom.rng import stream
from transom.solving import solve
from transom.stop import Stop

_STREAMS = 2  # of each cluster that a training is scored on
_EVERY = 2  # only every second window of them
_STEPS = (50, 500)  # of the searches


def evaluate_and_save(trainer: CostTrainer, name: str) -> tuple[Checkpoint, Path]:
    """Score the network on windows that were not trained on, and write it with its card into the training's folder."""
    settings, scorer = trainer.settings, trainer.scorer()
    checkpoint = save_in(
        trainer.folder,
        name,
        {f"actor.{field}": array for field, array in scorer._asdict().items()},
        "repair",
        SCHEMA,
        network="shared scorer",
        settings=asdict(settings),
        trained_on=f"windows of {settings.streams} streams each on the clusters of the paper and of its public code",
        validated_on=f"every second window of {_STREAMS} other streams on each of the clusters",
        command=training_command("nsa-cost", settings, name),
        seed=settings.seed,
        decisions=trainer.curve[-1].decisions,
        seconds=round(trainer.curve[-1].seconds, 1),
        scores={rule: round(gap, 2) for rule, gap in compare(settings, scorer).items()},
    )
    return checkpoint, trainer.folder / f"{name}.safetensors"


def compare(settings: CostTraining, trained: ScorerWeights, seed: int = 0) -> dict[str, float]:
    """How far above the static optimum short and whole searches end, mean over windows that nobody trained on [%].

    Beside the network: its weights before the first update, and annealing with repair at the cheapest and at random
    starts; all under the dynamic rule from the same start.
    """
    networks = {"nsa-cost": (trained, NsaCost().heat), "nsa-cost before training": (first_weights(settings), 1.0)}
    found = {}
    for cluster, problems in dynamic_windows(seed, "repair held out", _STREAMS).items():
        some = problems[::_EVERY]
        least = _values([(each.with_rule("static"), "scas-dp") for each in some], seed)
        for steps in _STEPS:
            ends = {}
            for rule, (scorer, heat) in networks.items():
                rng, search = stream(seed, "nsa-cost scores"), NsaCost(steps=steps, heat=heat)
                logs = [collect_rollouts(problem, scorer, search, settings.candidates, 1, rng)[0] for problem in some]
                ends[rule] = np.array([log.values[-1, 2] for log in logs])
            for rule, spec in (
                ("sa, cheapest start", f"sa:steps={steps},repair=cheapest"),
                ("sa", f"sa:steps={steps}"),
            ):
                ends[rule] = _values([(problem, spec) for problem in some], seed)
            for rule, end in ends.items():
                found[f"{rule}, {cluster}, {steps} steps"] = float(100 * (end / least - 1).mean())
    return found


def _values(runs: Iterable[tuple[Allocation, str]], seed: int) -> FloatArray:
    return np.array([solve(problem, solver, Stop(), seed).value for problem, solver in runs], np.float64)
