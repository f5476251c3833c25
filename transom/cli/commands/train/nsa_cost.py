"""``transom train nsa-cost``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from transom.cli.options import common as options
from transom.cli.options import training as train_options
from transom.cli.output.console import check_folder, note, progress

if TYPE_CHECKING:
    from transom.learned.repair.nsa_cost_training import CostUpdate


Parser = train_options.with_old({"--steps": "--search-steps", "--every": "--save-every"})


def command(
    context: typer.Context,
    out: train_options.Out,
    updates: Annotated[int, typer.Option("--updates", min=1, help="Number of updates of the weights.")] = 80,
    windows: Annotated[int, typer.Option("--windows", min=2, help="Windows searched for an update.")] = 16,
    runs: Annotated[int, typer.Option("--runs", min=2, help="Searches of each window.")] = 6,
    search_steps: Annotated[int, typer.Option("--search-steps", min=1, help="Steps of each search.")] = 250,
    candidates: Annotated[
        int, typer.Option("--candidates", min=2, help="Number of cheapest starts to choose from.")
    ] = 32,
    streams: Annotated[
        int, typer.Option("--streams", min=1, help="Number of streams of 100 periods on each cluster.")
    ] = 20,
    hidden: Annotated[str, typer.Option("--hidden", metavar="H,K", help="Units of the two hidden layers.")] = "24,16",
    batch: Annotated[int, typer.Option("--batch", min=1, help="Number of decisions of an update.")] = 24_576,
    minibatch: train_options.Minibatch = 4096,
    passes: train_options.Passes = 2,
    learning_rate: train_options.LearningRate = 2e-3,
    discount: train_options.Discount = 0.98,
    name: Annotated[str, typer.Option("--name", help="Of the checkpoint: OUT/NAME.safetensors.")] = "nsa-cost",
    save_every: train_options.SaveEvery = 10,
    device: train_options.Device = "auto",
    threads: train_options.Threads = 1,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Train the cost-aware repair step, on whole searches of windows of both clusters.

    The folder then holds a checkpoint with its card, the learning curve (curve.csv), logs for TensorBoard
    (tensorboard/), and the state of the training, from which the same command resumes.
    """
    from transom.learned.checkpoints import check_name
    from transom.learned.repair.nsa_cost_evaluation import evaluate_and_save
    from transom.learned.repair.nsa_cost_training import CostTrainer
    from transom.learned.repair.training_settings import CostTraining
    from transom.learned.training.trainer import train

    check_name(name)
    check_folder(out)
    given = train_options.settings_of(context, CostTraining)
    settings = CostTraining(**{**given, "hidden": train_options.pair(hidden, "--hidden")})
    trainer = CostTrainer(settings, out, device)
    if trainer.curve:
        note(f"{out}: goes on after {len(trainer.curve)} updates")
    with progress(hidden=json) as bars:
        task = bars.add_task("nsa-cost", total=updates, completed=len(trainer.curve))

        def print_row(row: CostUpdate) -> None:
            text = f"nsa-cost: first fit improved by {100 * row.gain:.1f} %, entropy {100 * row.share:.0f} %"
            bars.update(task, completed=row.updates, description=text)

        train(trainer, save_every, print_row)
    checkpoint, path = evaluate_and_save(trainer, name)
    scored = "above the SCAS optimum on windows that were not trained on, by what searched [%]:"
    train_options.print_repair("nsa-cost", checkpoint.card, path, len(trainer.curve), scored, 2, json)
