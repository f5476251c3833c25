"""``transom train nsa`` and ``nsa-cost``: the repair steps of neural simulated annealing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom._system.settings import fields_of
from transom.cli.options import common as options
from transom.cli.options import training as train_options
from transom.cli.output.console import check_folder
from transom.learned.repair.training_settings import CostTraining, Training

if TYPE_CHECKING:
    from transom.learned.repair.nsa_cost_training import CostUpdate


nsa_parser = train_options.with_old({"--steps": "--decisions", "--every": "--save-every"})


@train_options.with_settings(fields_of(Training))
def nsa_command(
    out: train_options.Out,
    given: dict[str, Any],
    name: Annotated[
        str | None, typer.Option("--name", help="Of the checkpoint: OUT/NAME.safetensors  [default: nsa-NETWORK]")
    ] = None,
    save_every: train_options.SaveEvery = 20,
    device: train_options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Train the repair step of neural simulated annealing: a network that chooses first nodes.

    The folder then holds a checkpoint with its card, the learning curve (curve.csv), logs for TensorBoard
    (tensorboard/), and the state of the training, from which the same command resumes.
    """
    from transom.learned.checkpoints import check_name
    from transom.learned.repair.evaluation import evaluate_and_save
    from transom.learned.repair.training import RepairTrainer

    settings = Training(**given)
    called = check_name(name or f"nsa-{settings.network}")
    check_folder(out)
    trainer = RepairTrainer(settings, out, device)
    train_options.train_shown(
        trainer, save_every, settings.network, settings.decisions, trainer.decisions, "decisions", json,
        lambda row: (row.decisions, f"{settings.network}: cost {row.cost:,.0f}, entropy {100 * row.share:.0f} %"),
    )  # fmt: skip
    checkpoint, path = evaluate_and_save(trainer, called)
    scored = "mean cost of the repaired jobs of windows that were not trained on, by how first nodes are chosen:"
    train_options.print_repair("nsa", checkpoint.card, path, len(trainer.curve), scored, 0, json)


nsa_cost_parser = train_options.with_old({"--steps": "--search-steps", "--every": "--save-every"})


@train_options.with_settings(fields_of(CostTraining))
def nsa_cost_command(
    out: train_options.Out,
    given: dict[str, Any],
    name: Annotated[str, typer.Option("--name", help="Of the checkpoint: OUT/NAME.safetensors.")] = "nsa-cost",
    save_every: train_options.SaveEvery = 10,
    device: train_options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Train the cost-aware repair step, on whole searches of windows of both clusters.

    The folder then holds a checkpoint with its card, the learning curve (curve.csv), logs for TensorBoard
    (tensorboard/), and the state of the training, from which the same command resumes.
    """
    from transom.learned.checkpoints import check_name
    from transom.learned.repair.nsa_cost_evaluation import evaluate_and_save
    from transom.learned.repair.nsa_cost_training import CostTrainer

    check_name(name)
    check_folder(out)
    settings = CostTraining(**given)
    trainer = CostTrainer(settings, out, device)

    def shown(row: CostUpdate) -> train_options.Shown:
        return row.updates, f"nsa-cost: first fit improved by {100 * row.gain:.1f} %, entropy {100 * row.share:.0f} %"

    train_options.train_shown(
        trainer, save_every, "nsa-cost", settings.updates, len(trainer.curve), "updates", json, shown
    )
    checkpoint, path = evaluate_and_save(trainer, name)
    scored = "above the SCAS optimum on windows that were not trained on, by what searched [%]:"
    train_options.print_repair("nsa-cost", checkpoint.card, path, len(trainer.curve), scored, 2, json)
