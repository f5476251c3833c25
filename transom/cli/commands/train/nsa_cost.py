"""``transom train nsa-cost``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom._system.settings import fields_of
from transom.cli.options import common as options
from transom.cli.options import training as train_options
from transom.cli.output.console import check_folder, note, progress
from transom.learned.repair.training_settings import CostTraining

if TYPE_CHECKING:
    from transom.learned.repair.nsa_cost_training import CostUpdate


Parser = train_options.with_old({"--steps": "--search-steps", "--every": "--save-every"})


@train_options.with_settings(fields_of(CostTraining))
def command(
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
    from transom.learned.training.trainer import train

    check_name(name)
    check_folder(out)
    settings = CostTraining(**given)
    trainer = CostTrainer(settings, out, device)
    if trainer.curve:
        note(f"{out}: goes on after {len(trainer.curve)} updates")
    with progress(hidden=json) as bars:
        task = bars.add_task("nsa-cost", total=settings.updates, completed=len(trainer.curve))

        def print_row(row: CostUpdate) -> None:
            text = f"nsa-cost: first fit improved by {100 * row.gain:.1f} %, entropy {100 * row.share:.0f} %"
            bars.update(task, completed=row.updates, description=text)

        train(trainer, save_every, print_row)
    checkpoint, path = evaluate_and_save(trainer, name)
    scored = "above the SCAS optimum on windows that were not trained on, by what searched [%]:"
    train_options.print_repair("nsa-cost", checkpoint.card, path, len(trainer.curve), scored, 2, json)
