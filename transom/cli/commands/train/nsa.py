"""``transom train nsa``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom._system.settings import fields_of
from transom.cli.options import common as options
from transom.cli.options import training as train_options
from transom.cli.output.console import check_folder, note, progress
from transom.learned.repair.training_settings import Training

if TYPE_CHECKING:
    from transom.learned.repair.training import Update


Parser = train_options.with_old({"--steps": "--decisions", "--every": "--save-every"})


@train_options.with_settings(fields_of(Training))
def command(
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
    from transom.learned.training.trainer import train

    settings = Training(**given)
    called = check_name(name or f"nsa-{settings.network}")
    check_folder(out)
    trainer = RepairTrainer(settings, out, device)
    if trainer.decisions:
        note(f"{out}: goes on after {trainer.decisions:,} decisions")
    with progress(hidden=json) as bars:
        task = bars.add_task(settings.network, total=settings.decisions, completed=trainer.decisions)

        def print_row(row: Update) -> None:
            text = f"{settings.network}: cost {row.cost:,.0f}, entropy {100 * row.share:.0f} %"
            bars.update(task, completed=min(row.decisions, settings.decisions), description=text)

        train(trainer, save_every, print_row)
    checkpoint, path = evaluate_and_save(trainer, called)
    scored = "mean cost of the repaired jobs of windows that were not trained on, by how first nodes are chosen:"
    train_options.print_repair("nsa", checkpoint.card, path, len(trainer.curve), scored, 0, json)
