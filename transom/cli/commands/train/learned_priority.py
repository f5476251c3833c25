"""``transom train learned-priority``: train a scorer that orders tasks and chooses their machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom._system.settings import fields_of
from transom.cli.options import common as options
from transom.cli.options import training as train_options
from transom.cli.options.tasks import MachinesOption
from transom.cli.output.console import check_folder, note, number, print_json, print_table, progress, remark
from transom.learned.priority.settings import Training

if TYPE_CHECKING:
    from transom.learned.priority.training import Generation


@train_options.with_settings(fields_of(Training))
def command(
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
    from transom.learned.training.trainer import train

    if not machines:
        raise SpecError("train learned-priority needs --machines, such as count=5,cpu=64,memory=1")
    check_name(name)
    settings = Training(**given)
    (workload,) = read_chunks(trace, machines, None, start, jobs)
    check_folder(out)
    trainer = PriorityTrainer(settings, workload, out)
    if trainer.curve:
        note(f"{out}: goes on after {len(trainer.curve)} generations")
    with progress(hidden=json) as bars:
        task = bars.add_task("learned-priority", total=settings.generations, completed=len(trainer.curve))

        def print_row(row: Generation) -> None:
            text = f"above the bound: {100 * row.mean:.2f} %, longest-first {100 * row.longest_first:.2f} %"
            bars.update(task, completed=row.generation, description=text)

        train(trainer, save_every, print_row)
    there = [word for each in machines for word in ("--machines", each)]
    taken = [*(["--start", str(start)] if start else []), *(["--jobs", str(jobs)] if jobs is not None else [])]
    checkpoint, path = evaluate_and_save(trainer, name, ["TASKS", *there, *taken])
    card = checkpoint.card
    use = train_options.with_model(["transom", "simulate", "TASKS", *there, "--policy"], "learned-priority", path)
    if json:
        print_json({**train_options.facts(card, path, len(trainer.curve)), "rules": card.rules, "use": use})
        return
    remark(f"{path}: {card.parameters} weights after {card.decisions:,} replays in {card.seconds:,.0f} s")
    remark("makespans of the chunks that were trained on above the lower bound, mean [%]:")
    rows = [("scorer", card.scores["above the bound [%]"])]
    rows += [(key.removesuffix(" [%]"), value) for key, value in card.scores.items() if key.startswith("with")]
    rows += [(rule, figures["above the bound [%]"]) for rule, figures in card.rules.items()]
    print_table("", ("policy", "above"), [(label, number(value, 2)) for label, value in rows])
    remark(f"use it: {use}")
