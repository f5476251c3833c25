"""``transom train kernel`` and ``mars``: networks that score the jobs of a queue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom._system.settings import fields_of
from transom.cli.options import common as options
from transom.cli.options import training as train_options
from transom.cli.options.workflows import CombineOption, GapOption, holds_workflows, read_stream
from transom.cli.output.console import check_folder, describe, note, number, print_json, remark
from transom.learned.kernel.training import KernelTraining
from transom.learned.mars.settings import MarsTraining

if TYPE_CHECKING:
    from transom.traces import Workload


@train_options.with_settings(fields_of(KernelTraining))
def kernel_command(
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

    from transom.adapters.rules.rlscheduler import RLScheduler
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
    words = training_command(f"kernel {trace.name}", settings, name)
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


@train_options.with_settings(fields_of(MarsTraining))
def mars_command(
    traces: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACE|WORKFLOWS...",
            help="A trace in the Standard Workload Format, plain or gzip; or files of workflows.",
        ),
    ],
    out: train_options.Out,
    given: dict[str, Any],
    first: Annotated[int, typer.Option("--first", min=1, help="Train on this many first jobs.")] = 10_000,
    minutes: Annotated[
        float, typer.Option("--minutes", help="Stop after so much processor time, even before --updates.")
    ] = 25.0,
    name: Annotated[str, typer.Option("--name", help="Of the checkpoint: OUT/NAME.safetensors.")] = "mars",
    threads: Annotated[
        int, typer.Option("--threads", min=1, help="CPU threads of PyTorch. Another number rounds differently.")
    ] = 1,
    gap: GapOption = None,
    combine: CombineOption = False,
    json: options.Json = False,
    nodes: options.Nodes = None,
) -> None:
    """Train a network that picks waiting jobs, and choose when the policy mars asks it.

    DIR/NAME.safetensors holds the weights that did best on the validation, and NAME.json their card, with what did
    best there: a heuristic, the network, or both by the number of waiting jobs. DIR/curve.csv holds the learning
    curve. After Ctrl-C the same command resumes where it stopped. With a limit on the time that is reached, results
    depend on the machine. Traces are read by the job rules of RLScheduler. Training needs PyTorch, use does not.
    """
    from transom.learned.checkpoints import check_name, require

    require("transom train mars", "torch")
    check_name(name)
    check_folder(out)

    import torch

    from transom.learned.mars.training import MarsTrainer
    from transom.learned.training.settings import training_command

    settings = MarsTraining(**given)
    part, classes = _read(traces, first, nodes, gap, settings.seed, combine)
    for line in describe(part):
        note(line)
    torch.set_num_threads(threads)
    trainer = MarsTrainer(settings, part, out, minutes)
    train_options.train_validated(trainer, settings.validate_every, name, settings.updates, "updates", json)
    files = " ".join(path.name for path in traces)
    words = training_command(f"mars {files}", settings, name)
    words += "".join(
        f" {option} {value}"
        for option, value, usual in (("--first", first, 10_000), ("--gap", gap, None), ("--nodes", nodes, None))
        if value != usual
    )
    words += " --combine" if combine else ""
    card = trainer.checkpoint(name, f"{part.name}: its first {len(part):,} jobs", words, classes).card
    path = out / f"{name}.safetensors"
    use = train_options.with_model(["transom", "simulate", *map(str, traces), "--policy"], "mars", path)
    if json:
        facts: dict[str, Any] = train_options.facts(card, path, trainer.updates)
        chosen = {key: card.settings[key] for key in ("min", "median", "small", "medium", "large")}
        print_json({**facts, "start": trainer.start, "rules": card.rules, "chosen": chosen, "use": use})
        return
    train_options.print_validated(card, path, trainer, "updates", "learned_alone")
    rule = min(card.rules, key=lambda each: card.rules[each]["bounded_slowdown"])
    remark(f"best heuristic there: {rule}, {number(card.rules[rule]['bounded_slowdown'])}")
    remark(f"mars asks: {_asked(card.settings)}, {number(card.scores['bounded_slowdown'])}")
    if classes:
        remark(f"classes of workflows: {', '.join(classes)}")
    remark(f"use it: {use}")


def _read(
    traces: list[Path], first: int, nodes: int | None, gap: float | None, seed: int, combine: bool
) -> tuple[Workload, list[str]]:
    """The first jobs of a trace by id; or the first tasks of some workflows, combined or not, and their classes."""
    import numpy as np

    from transom.adapters.rules.rlscheduler import RLScheduler

    if holds_workflows(traces):
        from transom.learned.mars.classes import classes_of
        from transom.simulation.workflows.combination import combined_stream

        stream = read_stream(traces, nodes, gap, seed)
        stream = combined_stream(stream).replayed if combine else stream
        begun = stream.workflows[: int(np.searchsorted(stream.first, first))]
        return stream.workload.take(slice(0, first)), classes_of(begun)
    options.refuse({"--gap": gap, "--combine": combine or None}, f"{traces[0]}, which holds no workflows")
    workload, _ = RLScheduler(length=1, first=max(first, 4)).read(traces[0], nodes)
    return workload.take(np.argsort(workload.jobs.id)[:first]), []


def _asked(settings: dict[str, Any]) -> str:
    large = "the network" if settings["large"] == "learned" else str(settings["large"])
    return f"{settings['small']} below {settings['min']} jobs, else {large}" if settings["min"] else large
