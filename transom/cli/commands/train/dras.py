"""``transom train dras``: train an agent that schedules."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from transom.cli.options import common as options
from transom.cli.options import training as train_options
from transom.cli.options.reading import read_workload
from transom.cli.output.console import check_folder, describe, note, progress
from transom.cli.output.train_dras_report import look, report

if TYPE_CHECKING:
    from transom.learned.dras.training.settings import TrainingSettings
    from transom.learned.dras.training.training import Training
    from transom.learned.dras.training.validation import Validation


Reservation = Literal["selected", "head"]
"""Which job gets the reservation where the selected one does not fit."""


Parser = train_options.with_old({"--every": "--validate-every"})


def command(
    context: typer.Context,
    trace: options.Trace,
    out: train_options.Out,
    agent: Annotated[
        str,
        typer.Option(
            "--agent",
            help="Learning algorithm: pg (equation 3), dql (equation 4) or ppo, with settings such "
            "as ppo:passes=2,entropy=0.01.",
        ),
    ] = "ppo",
    learning_rate: Annotated[
        float | None,
        typer.Option(
            "--learning-rate",
            help="At the beginning; that of ppo falls to a tenth.  [default: 0.003 for ppo, 0.001 for pg and dql]",
        ),
    ] = None,
    discount: Annotated[
        float | None,
        typer.Option(
            "--discount",
            help="Of what comes later, per scheduling instance.  [default: 0.999 for ppo, 1 for pg, 0.99 for dql]",
        ),
    ] = None,
    reward: Annotated[
        str,
        typer.Option(
            "--reward",
            help="Reward: waiting, waiting:growth=G, slowdown, capability (equation 1) or capacity (equation 2).",
        ),
    ] = "waiting",
    decisions: Annotated[
        int,
        typer.Option("--decisions", min=0, help="Number of decisions to learn from. 0 writes the untrained network."),
    ] = 600_000,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", help="Stop after so long, even if fewer decisions were taken.  [default: never]"),
    ] = None,
    seed: options.Seed = 0,
    months: Annotated[
        str | None,
        typer.Option(
            "--months",
            metavar="A-B",
            help="Train on these months of the trace.  [default: those before --validation, or three quarters of the "
            "jobs]",
        ),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            "--validation",
            metavar="A-B",
            help="Compare snapshots on these months.  [default: the one after --months, or the last quarter of the "
            "jobs]",
        ),
    ] = None,
    overlap: Annotated[
        bool, typer.Option("--overlap", help="Allow training months in the validation. The card says so.")
    ] = False,
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            help="Policy that snapshots are compared with; give it again for more.  [default: those of docs/dras.md]",
        ),
    ] = None,
    epoch: Annotated[
        int, typer.Option("--epoch", help="Second 0 of the trace in Unix time, its UnixStartTime; for --months.")
    ] = 0,
    phases: Annotated[
        str | None,
        typer.Option(
            "--phases",
            help="Train phase by phase on job sets instead of copies of the trace: "
            "sampled,real,synthetic, with NAME=COUNT for fewer sets.  [default: copies]",
        ),
    ] = None,
    phase_jobs: Annotated[
        int | None, typer.Option("--phase-jobs", min=1, help="Jobs of a sampled or synthetic jobset.  [default: 3200]")
    ] = None,
    loads: Annotated[
        str, typer.Option("--loads", metavar="A-B", help="Without --phases: range of factors on the load of the trace.")
    ] = "0.9-1.25",
    laps: Annotated[
        int,
        typer.Option(
            "--laps",
            min=1,
            help="Repetitions of the trace in a copy. Starvation shows only on long copies.",
        ),
    ] = 2,
    reservation: Annotated[
        Reservation,
        typer.Option(
            "--reservation", help="Reserve for the selected job (paper), or for the head of the queue (code)."
        ),
    ] = "selected",
    keep: Annotated[
        bool,
        typer.Option("--keep/--reselect", help="Keep a reservation until its job starts, or select again each time."),
    ] = True,
    levels: Annotated[
        int,
        typer.Option(
            "--levels", min=1, max=2, help="Levels of the agent. 1: no reservation and no backfilling (Decima-PG)."
        ),
    ] = 2,
    window: Annotated[
        int, typer.Option("--window", min=1, max=1000, help="Largest number of candidates of a decision.")
    ] = 50,
    longest: Annotated[
        int | None,
        typer.Option(
            "--longest",
            metavar="SECONDS",
            min=1,
            max=10**9,
            help="Walltime that times are divided by [s].  [default: the longest of the training]",
        ),
    ] = None,
    hidden: Annotated[
        str | None,
        typer.Option(
            "--hidden",
            metavar="H,K",
            help="Units of the two hidden layers.  [default: 32,32; with --paper-size 4000,1000]",
        ),
    ] = None,
    paper_size: Annotated[
        bool,
        typer.Option("--paper-size", help="Use the network of Table III and the state of the paper. Slow."),
    ] = False,
    validation_jobs: Annotated[
        int | None,
        typer.Option(
            "--validation-jobs",
            min=1,
            help="Compare snapshots on so many jobs only.  [default: all; with --paper-size 300]",
        ),
    ] = None,
    batch: Annotated[int, typer.Option("--batch", min=2, help="Number of decisions of an update.")] = 8192,
    instances: Annotated[
        int,
        typer.Option(
            "--instances",
            min=0,
            help="Update after N scheduling instances instead of a batch. In the paper 10.",
        ),
    ] = 0,
    validate_every: Annotated[
        int,
        typer.Option(
            "--validate-every",
            min=1,
            help="Number of updates between two validations. Each also saves the state.",
        ),
    ] = 5,
    bound: Annotated[
        float,
        typer.Option(
            "--bound",
            min=0,
            help="Choose the snapshot with the least mean wait among those whose longest wait is "
            "at most X times that of FCFS+EASY.",
        ),
    ] = 0.0,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", help="Of the checkpoint: OUT/NAME.safetensors  [default: dras-pg, dras-dql or decima-pg]"
        ),
    ] = None,
    device: train_options.Device = "auto",
    threads: train_options.Threads = 1,
    json: options.Json = False,
    nodes: options.Nodes = None,
) -> None:
    """Train a DRAS agent on a trace.

    DIR/NAME.safetensors holds the best snapshot, judged by its rewards on the validation months, and NAME.json its
    card, with the scores of other policies there. DIR/curve.csv holds the scores of all snapshots and the policies
    that were ahead of them, and DIR/tensorboard the logs for TensorBoard. After Ctrl-C the same command resumes
    where it stopped and gives the same checkpoint, except with --minutes, which depends on the machine. More decisions
    extend a finished training.
    """
    from transom.learned.checkpoints import check_name, require
    from transom.learned.dras.training.training import PACKAGES

    require("transom train dras", *PACKAGES)
    import torch

    from transom.errors import SpecError
    from transom.learned.dras.process.process import AgentConfig
    from transom.learned.dras.training.jobsets import compared, copies, how_copied, lengths, phased, validated_on
    from transom.learned.dras.training.run import Stated, run_training
    from transom.learned.dras.training.settings import TrainingSettings, agent_spec
    from transom.learned.dras.training.split import split
    from transom.learned.dras.training.training import Training
    from transom.learned.dras.training.validation import AGAINST
    from transom.learned.training.devices import chosen_device
    from transom.simulation import make_policy
    from transom.traces.cut import cut

    if minutes is not None and not minutes > 0:
        raise SpecError(f"--minutes must be > 0, got {minutes:g}")
    if name is not None:
        check_name(name)
    check_folder(out)
    policies = tuple(against or AGAINST)
    for spec in policies:
        make_policy(spec)
    workload = read_workload(trace, nodes)
    for line in describe(workload):
        note(line)
    parts = split(workload, months, validation, overlap, epoch)
    scheme = AgentConfig(
        levels=levels,
        window=window,
        head=int(reservation == "head"),
        keep=int(keep),
        longest=longest or int(parts.training.jobs.walltime.max()),
    )
    more = {
        "agent": agent_spec(agent, learning_rate, discount),
        "scheme": scheme,
        "hidden": train_options.pair(hidden or ("4000,1000" if paper_size else "32,32"), "--hidden"),
    }
    settings = TrainingSettings(**{**train_options.settings_of(context, TrainingSettings), **more})
    squeezed = _range(loads, "--loads")
    sets = phased(parts.training, phases, seed, phase_jobs) if phases else copies(parts.training, squeezed, seed, laps)
    judged = compared(parts.validation, squeezed, laps)
    if validation_jobs or paper_size:
        judged = [cut(each, 0, min(len(each), validation_jobs or 300)) for each in judged[: 1 if paper_size else None]]
    torch.set_num_threads(threads)
    training = Training(sets, judged, settings, chosen_device(device))
    called = name or _name_of(settings)
    copied = how_copied(laps, loads)
    stated = Stated(
        called,
        f"{parts.training.name}: {f'phases {phases}' if phases else copied}, {lengths(sets)}",
        validated_on(parts, copied, judged),
        _command(context),
    )
    note(f"trained on {stated.trained_on}")
    note(f"validated on {stated.validated_on}")
    with progress(hidden=json) as bars:
        task = bars.add_task(called, total=max(decisions, 1))

        def print_step(at: Training) -> None:
            bars.update(task, completed=min(at.decisions, decisions), description=called)

        def replaying(spec: str) -> None:
            bars.update(task, description=f"{called}: {spec} on the validation")

        def looked(at: Training, found: Validation) -> None:
            if not json:
                note(look(at.judge, found))

        try:
            made = run_training(training, out, stated, minutes, print_step, looked, policies, replaying)
        except KeyboardInterrupt:
            note(f"interrupted after {training.decisions:,} decisions; the same command goes on from there")
            raise
    simulate = ["transom", "simulate", str(trace), *(["--nodes", str(nodes)] if nodes else []), "--policy"]
    report(training, made.card, out / f"{called}.safetensors", simulate, _name_of(settings), parts.shared, json)


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
            for each in value if isinstance(value, list) else [value]:
                words += [parameter.opts[0], str(each)]
    return shlex.join([*words, "--out", "DIR"])


def _range(text: str, option: str) -> tuple[float, float]:
    from transom._system.wording import real_number
    from transom.errors import SpecError

    try:
        least, most = (real_number(part) for part in text.split("-"))
    except ValueError:
        raise SpecError(f"{option}: expected two numbers such as 0.9-1.25, got {text!r}") from None
    if not 0 < least <= most < 100:
        raise SpecError(f"{option}: expected 0 < A <= B < 100, got {text!r}")
    return least, most


def _name_of(settings: TrainingSettings) -> str:
    if settings.scheme.levels == 1:
        return "decima-pg"
    return "dras-dql" if settings.agent.partition(":")[0] == "dql" else "dras-pg"
