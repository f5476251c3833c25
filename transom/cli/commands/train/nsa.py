"""``transom train nsa``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from transom.cli.options import common as options
from transom.cli.options import training as train_options
from transom.cli.output.console import check_folder, note, progress

if TYPE_CHECKING:
    from transom.learned.repair.training import Update


Network = Literal["fcn-1", "fcn-2", "fcn-3", "cnn-1", "cnn-2", "cnn-3"]
"""Networks of the paper's Table II."""


Cluster = Literal["authors", "paper"]
"""Clusters that windows come from."""


Reward = Literal["each", "end", "reciprocal"]
"""What decisions are paid with."""


Parser = train_options.with_old({"--steps": "--decisions", "--every": "--save-every"})


def command(
    context: typer.Context,
    out: train_options.Out,
    network: Annotated[Network, typer.Option("--network", help="Network of Table II.")] = "cnn-3",
    rows: Annotated[
        int, typer.Option("--rows", help="Rows of an observation: 5 as in the public code, 4 as in the paper.")
    ] = 5,
    cluster: Annotated[
        Cluster,
        typer.Option(
            "--cluster",
            help="authors: pods of 40 nodes and the costs of the public code. paper: pods of 100 "
            "nodes and equation (1).",
        ),
    ] = "authors",
    decisions: train_options.Decisions = 400_000,
    streams: Annotated[
        int, typer.Option("--streams", min=1, help="Number of streams of 100 periods that the windows come from.")
    ] = 100,
    envs: Annotated[int, typer.Option("--envs", min=1, help="Number of environments that are stepped together.")] = 256,
    length: Annotated[int, typer.Option("--length", min=1, help="Decisions of each environment for an update.")] = 32,
    minibatch: train_options.Minibatch = 1024,
    passes: train_options.Passes = 4,
    learning_rate: train_options.LearningRate = 1e-3,
    discount: train_options.Discount = 0.99,
    clip: Annotated[float, typer.Option("--clip", help="Clipping range of the probability ratio (equation 8).")] = 0.2,
    entropy: Annotated[float, typer.Option("--entropy", help="Weight of the entropy bonus in the loss.")] = 0.01,
    reward: Annotated[
        Reward,
        typer.Option(
            "--reward",
            help="each: minus the cost of each job. end: minus the total cost at the end, as in "
            "the paper. reciprocal: 1 / cost.",
        ),
    ] = "each",
    name: Annotated[
        str | None, typer.Option("--name", help="Of the checkpoint: OUT/NAME.safetensors  [default: nsa-NETWORK]")
    ] = None,
    save_every: train_options.SaveEvery = 20,
    device: train_options.Device = "auto",
    threads: train_options.Threads = 1,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Train the repair step of neural simulated annealing: a network that chooses first nodes.

    The folder then holds a checkpoint with its card, the learning curve (curve.csv), logs for TensorBoard
    (tensorboard/), and the state of the training, from which the same command resumes.
    """
    from transom.learned.checkpoints import check_name
    from transom.learned.repair.evaluation import evaluate_and_save
    from transom.learned.repair.training import RepairTrainer
    from transom.learned.repair.training_settings import Training
    from transom.learned.training.trainer import train

    called = check_name(name or f"nsa-{network}")
    check_folder(out)
    trainer = RepairTrainer(Training(**train_options.settings_of(context, Training)), out, device)
    if trainer.decisions:
        note(f"{out}: goes on after {trainer.decisions:,} decisions")
    with progress(hidden=json) as bars:
        task = bars.add_task(network, total=decisions, completed=trainer.decisions)

        def print_row(row: Update) -> None:
            text = f"{network}: cost {row.cost:,.0f}, entropy {100 * row.share:.0f} %"
            bars.update(task, completed=min(row.decisions, decisions), description=text)

        train(trainer, save_every, print_row)
    checkpoint, path = evaluate_and_save(trainer, called)
    scored = "mean cost of the repaired jobs of windows that were not trained on, by how first nodes are chosen:"
    train_options.print_repair("nsa", checkpoint.card, path, len(trainer.curve), scored, 0, json)
