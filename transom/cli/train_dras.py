"""``transom train dras``: train an agent that schedules."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transom.cli import options, train_options
from transom.cli.output import describe, note, number, print_json, print_table, progress

if TYPE_CHECKING:
    from transom.learned.checkpoints import Card
    from transom.learned.dras.training import Training
    from transom.learned.dras.training_settings import TrainingSettings
    from transom.traces import Workload


class Reservation(StrEnum):
    """Which job gets the reservation where the selected one does not fit."""

    selected = "selected"
    head = "head"


def command(
    context: typer.Context,
    trace: options.Trace,
    out: Annotated[Path, typer.Option("--out", help="Folder for the checkpoint, curve, logs and state.")],
    agent: Annotated[
        str, typer.Option("--agent", help="pg (eq. 3), dql (eq. 4) or ppo, with settings: ppo:gamma=0.99,entropy=0.")
    ] = "ppo",
    reward: Annotated[
        str,
        typer.Option("--reward", help="waiting, waiting:growth=G, slowdown, capability (eq. 1) or capacity (eq. 2)."),
    ] = "waiting",
    decisions: Annotated[
        int, typer.Option("--decisions", min=0, help="Decisions to learn from; 0 writes the untrained network.")
    ] = 600_000,
    minutes: Annotated[
        float | None, typer.Option("--minutes", help="Stop after so long, even if fewer decisions were taken.")
    ] = None,
    seed: options.Seed = 0,
    months: Annotated[
        str | None, typer.Option("--months", metavar="A-B", help="Train on these months of the trace; all by default.")
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option("--validation", metavar="A-B", help="Compare snapshots on these months; by default on --months."),
    ] = None,
    epoch: Annotated[
        int, typer.Option("--epoch", help="Second 0 of the trace in Unix time, its UnixStartTime; for --months.")
    ] = 0,
    phases: Annotated[
        str | None,
        typer.Option(
            "--phases",
            help="Train on jobsets instead of the trace, phase by phase: sampled,real,synthetic; NAME=COUNT for fewer.",
        ),
    ] = None,
    phase_jobs: Annotated[
        int | None, typer.Option("--phase-jobs", min=1, help="Jobs of a sampled or synthetic jobset.")
    ] = None,
    loads: Annotated[
        str, typer.Option("--loads", metavar="A-B", help="Without --phases: squeeze the time between submissions.")
    ] = "0.9-1.25",
    times: Annotated[
        int,
        typer.Option(
            "--laps",
            min=1,
            help="How often the trace follows on itself in a copy: starvation shows on long ones alone.",
        ),
    ] = 2,
    reservation: Annotated[
        Reservation,
        typer.Option("--reservation", help="For the selected job (paper), or the head of the queue (code)."),
    ] = Reservation.selected,
    keep: Annotated[
        bool,
        typer.Option("--keep/--reselect", help="Keep a reservation until its job starts, or select anew each time."),
    ] = True,
    levels: Annotated[
        int, typer.Option("--levels", min=1, max=2, help="1: neither reservation nor backfilling (Decima-PG).")
    ] = 2,
    window: Annotated[int, typer.Option("--window", min=1, max=1000, help="Candidates of a decision, at most.")] = 50,
    longest: Annotated[
        int | None,
        typer.Option(
            "--longest", min=1, max=10**9, help="Walltime that times are divided by [s]; the longest of the training."
        ),
    ] = None,
    hidden: Annotated[
        str | None, typer.Option("--hidden", metavar="H,K", help="Units of the two hidden layers; 32,32.")
    ] = None,
    paper_size: Annotated[
        bool,
        typer.Option("--paper-size", help="The network of Table III on the paper's state (4000,1000 units); slow."),
    ] = False,
    validation_jobs: Annotated[
        int | None,
        typer.Option("--validation-jobs", min=1, help="Compare snapshots on so many jobs only; --paper-size: 300."),
    ] = None,
    batch: Annotated[int, typer.Option("--batch", min=2, help="Decisions of an update.")] = 8192,
    instances: Annotated[
        int, typer.Option("--instances", min=0, help="Update after so many scheduling instances instead; paper: 10.")
    ] = 0,
    every: Annotated[int, typer.Option("--every", min=1, help="Updates between two looks at the validation.")] = 5,
    bound: Annotated[
        float,
        typer.Option(
            "--bound",
            min=0,
            help="Take the snapshot of least mean wait whose longest wait is at most so many times FCFS+EASY's.",
        ),
    ] = 0.0,
    name: Annotated[str | None, typer.Option("--name", help="Of the checkpoint; dras-pg, dras-dql, decima-pg.")] = None,
    device: train_options.Device = "auto",
    threads: train_options.Threads = 1,
    json: options.Json = False,
    nodes: options.Nodes = None,
) -> None:
    """Train a DRAS agent on a trace.

    DIR/NAME.safetensors and NAME.json hold the best snapshot, judged by its rewards on the validation months;
    DIR/curve.csv what all snapshots scored there; DIR/logs what TensorBoard shows. After Ctrl-C the same command goes
    on where it stopped, and ends with the same checkpoint; with --minutes, that depends on the machine. A training
    that is over goes on with more --decisions.
    """
    from transom.learned.checkpoints import check_name, require
    from transom.learned.dras.training import PACKAGES

    require("transom train dras", *PACKAGES)
    import torch

    from transom.errors import SpecError
    from transom.learned.devices import chosen_device
    from transom.learned.dras.process import Scheme
    from transom.learned.dras.training import Training
    from transom.learned.dras.training_jobsets import compared, copies, lengths, phased
    from transom.learned.dras.training_run import run_training
    from transom.learned.dras.training_settings import TrainingSettings
    from transom.traces.cut import cut

    if minutes is not None and not minutes > 0:
        raise SpecError(f"--minutes must be > 0, got {minutes:g}")
    if name is not None:
        check_name(name)
    if out.exists() and not out.is_dir():
        raise SpecError(f"{out}: is a file, not a folder")
    workload = options.read_workload(trace, nodes)
    for line in describe(workload):
        note(line)
    training_part = _months(workload, "--months", months, epoch)
    compared_part = _months(workload, "--validation", validation, epoch) if validation else training_part
    settings = TrainingSettings(
        agent=agent,
        reward=reward,
        scheme=Scheme(
            levels=levels,
            window=window,
            head=int(reservation is Reservation.head),
            keep=int(keep),
            longest=longest or int(training_part.jobs.walltime.max()),
        ),
        decisions=decisions,
        batch=batch,
        instances=instances,
        every=every,
        bound=bound,
        seed=seed,
        hidden=_pair(hidden or ("4000,1000" if paper_size else "32,32"), "--hidden"),
        paper_size=paper_size,
    )
    sets = (
        phased(training_part, phases, seed, phase_jobs)
        if phases
        else copies(training_part, _range(loads, "--loads"), seed, times)
    )
    judged = compared(compared_part, _range(loads, "--loads"), times)
    if validation_jobs or paper_size:
        judged = [cut(each, 0, min(len(each), validation_jobs or 300)) for each in judged[: 1 if paper_size else None]]
    torch.set_num_threads(threads)
    training = Training(sets, judged, settings, chosen_device(device))
    called = name or _name_of(settings)
    how = f"phases {phases}" if phases else f"jittered copies in {times} laps, squeezed by {loads}"
    on = f"{training_part.name}: {how}, {lengths(sets)}"
    with progress(hidden=json) as bars:
        task = bars.add_task(called, total=max(decisions, 1))

        def told(at: Training) -> None:
            found = at.best_validation
            best = f", best mean wait {found.figures['mean_wait']:,.0f} s" if found else ""
            bars.update(task, completed=min(at.decisions, decisions), description=called + best)

        try:
            made = run_training(training, out, called, on, _command(context), minutes, told)
        except KeyboardInterrupt:
            note(f"interrupted after {training.decisions:,} decisions; the same command goes on from there")
            raise
    simulate = ["transom", "simulate", str(trace), *(["--nodes", str(nodes)] if nodes else []), "--policy"]
    use = train_options.with_model(simulate, _name_of(settings), out / f"{called}.safetensors")
    _print(training, made.card, out, use, json)


def _command(context: typer.Context) -> str:
    """What was asked for, with the name of the trace alone and whatever folder."""
    words = ["transom", "train", "dras"]
    for parameter in context.command.params:
        name, value = str(parameter.name), context.params.get(str(parameter.name))
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE" or name in ("out", "json"):
            continue
        if name == "trace":
            words.append(Path(str(value)).name)
        elif isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
        else:
            words += [parameter.opts[0], str(getattr(value, "value", value))]
    return " ".join([*words, "--out", "DIR"])


def _print(training: Training, card: Card, out: Path, use: str, json: bool) -> None:
    path = out / f"{card.name}.safetensors"
    facts = {"checkpoint": str(path), "decisions": card.steps, "updates": training.updates, "seconds": card.seconds}
    if json:
        print_json({**facts, "weights": card.weights, "scores": card.scores, "use": use})
        return
    print(f"{path}: {card.parameters:,} weights after {card.steps:,} decisions in {card.seconds:,.0f} s")
    columns = [key.removeprefix("validation_").replace("_", " ") for key in card.scores]
    print_table("best snapshot", ["", *columns], [["validation", *(number(value) for value in card.scores.values())]])
    print(f"use it: {use}")


def _months(workload: Workload, option: str, text: str | None, epoch: int) -> Workload:
    from transom.errors import SpecError
    from transom.generate.jobsets import by_months

    if text is None:
        return workload
    first, dash, last = text.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        raise SpecError(f"{option}: expected months such as 1-2, got {text!r}")
    return by_months(workload, int(first), int(last or first), epoch)


def _range(text: str, option: str) -> tuple[float, float]:
    from transom.errors import SpecError

    try:
        least, most = (float(part) for part in text.split("-"))
    except ValueError:
        raise SpecError(f"{option}: expected two numbers such as 0.9-1.25, got {text!r}") from None
    if not 0 < least <= most < 100:
        raise SpecError(f"{option}: expected 0 < A <= B < 100, got {text!r}")
    return least, most


def _pair(text: str, option: str) -> tuple[int, int]:
    from transom.errors import SpecError

    parts = text.split(",")
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise SpecError(f"{option}: expected two numbers such as 32,32, got {text!r}")
    return int(parts[0]), int(parts[1])


def _name_of(settings: TrainingSettings) -> str:
    if settings.scheme.levels == 1:
        return "decima-pg"
    return "dras-dql" if settings.agent.partition(":")[0] == "dql" else "dras-pg"
