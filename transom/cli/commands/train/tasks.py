"""``transom train deepjs`` and ``learned-priority``: policies that place tasks on machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom._system.settings import fields_of
from transom.cli.options import common as options
from transom.cli.options import training as train_options
from transom.cli.options.tasks import MachinesOption
from transom.cli.output.console import check_folder, note, number, print_json, print_table, remark
from transom.learned.deepjs.settings import Training as DeepJsTraining
from transom.learned.priority.settings import Training as PriorityTraining

if TYPE_CHECKING:
    from transom.learned.checkpoints import Card
    from transom.learned.deepjs.training import Step
    from transom.learned.priority.training import Generation


PAPER = "count=5,cpu=64,memory=1"


@train_options.with_settings(fields_of(DeepJsTraining))
def deepjs_command(
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

    check_name(name)
    settings = DeepJsTraining(**given)
    (workload,) = read_chunks(trace, machines or [PAPER], None, start, jobs)
    check_folder(out)
    trainer = DeepJsTrainer(settings, workload, out)

    def shown(row: Step) -> train_options.Shown:
        if row.drawn is not None and row.highest is not None and not json:
            figures = f"{number(row.drawn, 2)} % if pairs are drawn, {number(row.highest, 2)} % by highest score"
            note(f"after chunk {row.chunk} above the bound: {figures}")
        return row.step, None

    total = len(trainer.chunks) * settings.steps
    train_options.train_shown(trainer, save_every, "deepjs", total, len(trainer.curve), "steps", json, shown)
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
    rows = [(f"agent, {key.partition(',')[0]}", value) for key, value in card.scores.items()]
    _print_above(rows, card, use)


@train_options.with_settings(fields_of(PriorityTraining))
def learned_priority_command(
    trace: options.Trace,
    out: train_options.Out,
    given: dict[str, Any],
    machines: MachinesOption = None,
    start: Annotated[int, typer.Option("--start", min=0, help="First job that is trained on, from 0.")] = 0,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Number of jobs that are trained on.  [default: all]")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="Of the checkpoint: OUT/NAME.safetensors.")] = "learned-priority",
    save_every: train_options.SaveEvery = 5,
    json: options.Json = False,
) -> None:
    """Train a scorer of tasks and machines on windows of consecutive jobs, by evolution (CMA-ES).

    It learns which task goes first and on which machine, so that makespans come close to a lower bound. The folder
    then holds a checkpoint with its card, the learning curve (curve.csv), and the state of the training, from which the
    same command resumes. Training needs the package cma, use does not.
    """
    from transom.cli.options.tasks import read_chunks
    from transom.errors import SpecError
    from transom.learned.checkpoints import check_name
    from transom.learned.priority.evaluation import evaluate_and_save
    from transom.learned.priority.training import PriorityTrainer

    if not machines:
        raise SpecError("train learned-priority needs --machines, such as count=5,cpu=64,memory=1")
    check_name(name)
    settings = PriorityTraining(**given)
    (workload,) = read_chunks(trace, machines, None, start, jobs)
    check_folder(out)
    trainer = PriorityTrainer(settings, workload, out)

    def shown(row: Generation) -> train_options.Shown:
        return (
            row.generation,
            f"above the bound: {100 * row.mean:.2f} %, longest-first {100 * row.longest_first:.2f} %",
        )

    train_options.train_shown(
        trainer, save_every, "learned-priority", settings.generations, len(trainer.curve), "generations", json, shown
    )
    there = [word for each in machines for word in ("--machines", each)]
    taken = [*(["--start", str(start)] if start else []), *(["--jobs", str(jobs)] if jobs is not None else [])]
    checkpoint, path = evaluate_and_save(trainer, name, ["TASKS", *there, *taken])
    card = checkpoint.card
    use = train_options.with_model(["transom", "simulate", "TASKS", *there, "--policy"], "learned-priority", path)
    if json:
        print_json({**train_options.facts(card, path, len(trainer.curve)), "rules": card.rules, "use": use})
        return
    remark(f"{path}: {card.parameters} weights after {card.decisions:,} replays in {card.seconds:,.0f} s")
    rows = [("scorer", card.scores["above the bound [%]"])]
    rows += [(key.removesuffix(" [%]"), value) for key, value in card.scores.items() if key.startswith("with")]
    _print_above(rows, card, use)


def _print_above(rows: list[tuple[str, float]], card: Card, use: str) -> None:
    """What was trained and the rules of its card beside one another, and how to use it."""
    remark("makespans of the chunks that were trained on above the lower bound, mean [%]:")
    rows += [(rule, value) for rule, figures in card.rules.items() for value in figures.values()]
    print_table("", ("policy", "above"), [(label, number(value, 2)) for label, value in rows])
    remark(f"use it: {use}")
