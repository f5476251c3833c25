"""``transom train deepjs``: train the agent of DeepJS, which places tasks on machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom._system.settings import fields_of
from transom.cli.options import common as options
from transom.cli.options import training as train_options
from transom.cli.output.console import check_folder, note, number, print_json, print_table, progress, remark
from transom.learned.deepjs.settings import Training

if TYPE_CHECKING:
    from transom.learned.deepjs.training import Step

PAPER = "count=5,cpu=64,memory=1"


@train_options.with_settings(fields_of(Training))
def command(
    trace: options.Trace,
    out: train_options.Out,
    given: dict[str, Any],
    machines: Annotated[
        list[str] | None,
        typer.Option(
            "--machines",
            metavar="count=N,cpu=C,memory=M",
            help=f"Machines that the tasks are placed on; again for others.  [default: {PAPER}]",
        ),
    ] = None,
    start: Annotated[int, typer.Option("--start", min=0, help="First job that is trained on, from 0.")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Number of jobs that are trained on, at most.")] = 2000,
    name: Annotated[str, typer.Option("--name", help="Of the checkpoint: OUT/NAME.safetensors.")] = "deepjs",
    save_every: train_options.SaveEvery = 20,
    json: options.Json = False,
) -> None:
    """Train the agent of DeepJS by policy gradient, chunk after chunk of the jobs of a trace of tasks.

    A network scores each pair of a waiting task and a machine. The folder then holds the network that did best on the
    chunks of the training with its card, the learning curve (curve.csv), and the state of the training, from which the
    same command resumes. Training needs PyTorch, use does not.
    """
    from transom.cli.options.tasks import read_chunks
    from transom.learned.checkpoints import check_name
    from transom.learned.deepjs.evaluation import evaluate_and_save
    from transom.learned.deepjs.training import DeepJsTrainer
    from transom.learned.training.trainer import train

    check_name(name)
    settings = Training(**given)
    (workload,) = read_chunks(trace, machines or [PAPER], None, start, jobs)
    check_folder(out)
    trainer = DeepJsTrainer(settings, workload, out)
    if trainer.curve:
        note(f"{out}: goes on after {len(trainer.curve):,} steps")
    with progress(hidden=json) as bars:
        task = bars.add_task("deepjs", total=len(trainer.chunks) * settings.steps, completed=len(trainer.curve))

        def print_row(row: Step) -> None:
            bars.update(task, completed=row.step)
            if row.drawn is not None and row.highest is not None and not json:
                figures = f"{number(row.drawn, 2)} % if pairs are drawn, {number(row.highest, 2)} % by highest score"
                note(f"after chunk {row.chunk} above the bound: {figures}")

        train(trainer, save_every, print_row)
    there = [word for each in machines or [PAPER] for word in ("--machines", each)]
    checkpoint, path = evaluate_and_save(
        trainer, name, ["TASKS", *there, *(["--start", str(start)] if start else []), "--jobs", str(jobs)]
    )
    card = checkpoint.card
    replay = ["transom", "simulate", "TASKS", *there, "--chunks", str(settings.chunks), "--policy"]
    use = train_options.with_model(replay, "deepjs", path)
    if json:
        print_json({**train_options.facts(card, path, len(trainer.curve)), "rules": card.rules, "use": use})
        return
    remark(f"{path}: {card.parameters:,} weights after {card.decisions:,} decisions in {card.seconds:,.0f} s")
    remark("makespans of the chunks that were trained on above the lower bound, mean [%]:")
    rows = [(f"agent, {key.partition(',')[0]}", value) for key, value in card.scores.items()]
    rows += [(rule, value) for rule, figures in card.rules.items() for value in figures.values()]
    print_table("", ("policy", "above"), [(label, number(value, 2)) for label, value in rows])
    remark(f"use it: {use}")
