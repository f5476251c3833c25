"""``transom train kernel``: train the network that scores waiting jobs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from transom._system.settings import fields_of
from transom.cli.options import common as options
from transom.cli.options import training as train_options
from transom.cli.output.console import check_folder, describe, note, print_json, remark
from transom.learned.kernel.training import KernelTraining


@train_options.with_settings(fields_of(KernelTraining))
def command(
    trace: options.Trace,
    out: train_options.Out,
    given: dict[str, Any],
    first: Annotated[int, typer.Option("--first", min=1, help="Train on this many first jobs of the trace.")] = 10_000,
    minutes: Annotated[
        float, typer.Option("--minutes", help="Stop after so much processor time, even before --generations.")
    ] = 25.0,
    name: Annotated[str, typer.Option("--name", help="Of the checkpoint: OUT/NAME.safetensors.")] = "kernel",
    json: options.Json = False,
    nodes: options.Nodes = None,
) -> None:
    """Train a network that picks one of the first 128 waiting jobs, under the rules of RLScheduler.

    DIR/NAME.safetensors holds the weights that did best on the sequences of the validation, which begin at least a
    length / 8 away from those of the published protocol, and NAME.json their card. DIR/curve.csv holds the learning
    curve. After Ctrl-C the same command resumes where it stopped. With a limit on the time that is reached, results
    depend on the machine. Training needs PyTorch, use does not.
    """
    import numpy as np

    from transom.adapters.rlscheduler import RLScheduler
    from transom.learned.checkpoints import check_name, require
    from transom.learned.kernel.training import KernelTrainer
    from transom.learned.training.settings import training_command

    require("transom train kernel", "torch")
    check_name(name)
    check_folder(out)
    settings = KernelTraining(**given)
    workload, rules = RLScheduler(length=1, first=max(first, 4)).read(trace, nodes)
    for line in describe(workload):
        note(line)
    part = workload.take(np.argsort(workload.jobs.id)[:first])
    usual = RLScheduler()
    apart = usual.starts(len(workload)) if min(len(workload), usual.first) > 2 * usual.length + 1 else []
    jobs = rules.within(part).arrivals(part)
    trainer = KernelTrainer(settings, jobs, part.cluster.num_nodes, apart, out, minutes)
    train_options.train_validated(trainer, settings.validate_every, name, settings.generations, "steps", json)
    words = training_command("kernel", settings, name).replace(
        "transom train kernel", f"transom train kernel {trace.name}"
    )
    if first != 10_000:
        words += f" --first {first}"
    card = trainer.checkpoint(name, f"{part.name}: its first {len(part):,} jobs", words).card
    path = out / f"{name}.safetensors"
    test = ["transom", "protocol", "rlscheduler", str(trace), "--backfill", settings.backfill, "--policy"]
    use = train_options.with_model(test, "kernel", path)
    if json:
        facts: dict[str, Any] = train_options.facts(card, path, trainer.updates)
        print_json({**facts, "start": trainer.start, "use": use})
        return
    train_options.print_validated(card, path, trainer, "steps", "bounded_slowdown")
    remark(f"use it: {use}")
