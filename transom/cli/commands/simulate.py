"""``transom simulate``: what would these policies have done to a trace?"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from transom.cli.options import common as options
from transom.cli.options import completion, tasks, workflows
from transom.cli.options.digits import DURATION
from transom.cli.options.events import Rules, read_under, refuse_others
from transom.cli.options.nodes import AllocateBy, NodeOptions, Rule, chosen_runs, machine, on_tree
from transom.cli.options.outages import OnFailureOption, OutagesOption, with_outages
from transom.cli.options.reading import Reading
from transom.cli.options.resources import Resources, equipped
from transom.cli.options.structs import with_structs
from transom.cli.output.learned_policies import ReferenceOption
from transom.cli.output.schedule_tables import By
from transom.cli.output.sequences import compare_sequences
from transom.cli.output.side_by_side import Comparison
from transom.cli.output.tasks import simulate_machines
from transom.cli.output.traces import Figures, Traced, simulate_trace
from transom.cli.output.workflows import simulate_workflows


class Format(StrEnum):  # typer takes no list of literals
    """Formats of a figure."""

    png = "png"
    pdf = "pdf"
    svg = "svg"


@with_structs
def command(
    context: typer.Context,
    traces: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACE|WORKFLOWS...",
            help="A trace in the Standard Workload Format, plain or gzip; or files of workflows.",
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            autocompletion=completion.policies,
            help="Policy: [LABEL=]SPEC, such as fcfs-easy, or ./mine.py:Class. Repeat to compare. "
            "By default, fcfs-easy and saf-easy.",
        ),
    ] = None,
    period: Annotated[
        int | None,
        typer.Option(
            "--period",
            metavar=DURATION,
            min=1,
            help="Decide once every DURATION; short for --policy nwp:period=DURATION.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="Network of the nodes: fat-tree:k=20 or fat-tree:leaf=10,pod=40, or topology:FILE (topology.conf, "
            "topology.yaml, or a list of the switches above each node). nodes=N sets the size of the machine.",
        ),
    ] = None,
    allocate: Annotated[
        list[str] | None,
        typer.Option(
            "--allocate",
            autocompletion=completion.solvers,
            help="Solver that chooses the nodes of each job, such as dcas-exact. Repeat to "
            "compare. By default, the lowest idle ids.",
        ),
    ] = None,
    rule: Annotated[
        Rule | None,
        typer.Option(
            "--rule", help="Contiguity rule for the nodes of a job. By default, the rule that the solver is made for."
        ),
    ] = None,
    allocate_by: Annotated[
        AllocateBy,
        typer.Option("--allocate-by", help="Place the jobs that start at one instant together, or one by one."),
    ] = "window",
    allocate_seconds: Annotated[
        float,
        typer.Option("--allocate-seconds", metavar=DURATION, help="Time limit of the solver of allocations."),
    ] = 1.0,
    cost_model: Annotated[
        str | None,
        typer.Option(
            "--cost-model",
            autocompletion=completion.cost_models,
            help="Hop costs: paper (default), authors or custom:KEY=VALUE,...",
        ),
    ] = None,
    resources: Resources = None,
    machines: tasks.MachinesOption = None,
    chunks: tasks.ChunksOption = None,
    gap: workflows.GapOption = None,
    combine: workflows.CombineOption = False,
    outages: OutagesOption = None,
    on_failure: OnFailureOption = "requeue",
    rules: Rules = "textbook",
    out: Annotated[Path | None, typer.Option("--out", help="Folder for jobs, decisions and figures.")] = None,
    start: options.Start = 0,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    jitter: Annotated[
        int,
        typer.Option(
            "--jitter",
            metavar=DURATION,
            min=0,
            max=10**9,
            help="Move each submission by up to DURATION in each repetition.",
        ),
    ] = 0,
    repeats: Annotated[
        int, typer.Option("--repeats", min=0, help="Number of further replays, with jitter and other seeds.")
    ] = 0,
    tau: Annotated[float, typer.Option("--tau", metavar=DURATION, help="Threshold of the bounded slowdown.")] = 10.0,
    warm_up: Annotated[
        float,
        typer.Option("--warm-up", metavar=DURATION, min=0, help="Exclude jobs of the first DURATION from the figures."),
    ] = 0.0,
    cool_down: Annotated[
        float,
        typer.Option(
            "--cool-down", metavar=DURATION, min=0, help="Exclude jobs of the last DURATION from the figures."
        ),
    ] = 0.0,
    by: Annotated[list[By] | None, typer.Option("--by", help="Break the figures down. Repeat for several.")] = None,
    reference: ReferenceOption = True,
    today: Annotated[
        str | None,
        typer.Option(
            "--today",
            metavar="SPEC",
            autocompletion=completion.policies,
            help="Policy that stands for the scheduler that the log is of: its replay beside the log says how much the "
            "model errs. By default slurm-backfill for traces from Slurm, else the first --policy.",
        ),
    ] = None,
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw figures into DIR/figures.")] = True,
    formats: Annotated[
        list[Format] | None, typer.Option("--format", help="File format of the figures. Repeat for several.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replay everything, even what is finished in the folder.")
    ] = False,
    json: options.Json = False,
    nodes: options.Nodes = None,
    *,
    reading: Reading,
) -> None:
    """Replay a trace under one or more policies, side by side.

    With --out, every job and every decision is written to DIR/LABEL/jobs.parquet and decisions.parquet. Replays
    that are finished there are reused. Schedules are sensitive to small changes: --jitter 60 --repeats 10 shows how
    much of a difference is noise.

    --cluster places jobs on the nodes of a fat tree and reports hop costs. Placement does not change start times.
    --resources adds demands for further resources, and --outages adds node failures, drains and maintenance. Both are
    drawn with --seed and are the same under every policy. With outages, figures refer to the nodes in service.
    Maintenance that the trace states is replayed unless --outages says otherwise.

    --rules replays under the event rules of another program, to compare with its published results. rlscheduler
    draws random sequences, or replays the one given by --start and --jobs. With --machines, the trace holds jobs of
    identical tasks, which are placed on machines. Policies are then first-fit, longest-first, tetris and similar
    ones, and --json prints a line for each chunk and policy.

    Files of workflows (WfFormat, DAX, transom/workflow/1) are a stream of jobs that wait for one another, with figures
    by task and by workflow. --gap draws when each is submitted, and --combine combines compatible tasks.
    """
    pictures = [each.value for each in formats or ()] or ["png"]
    asked = Comparison(policy or [], seed, out, force, reference, figures, pictures, json)
    if machines:
        refuse_others(context, tasks.SUITED, "--machines")
        simulate_machines(asked, traces, machines, chunks, rules, start, jobs)
        return
    if workflows.holds_workflows(traces):
        refuse_others(context, workflows.SUITED, "workflows")
        simulate_workflows(asked, traces, nodes, period, gap, combine, tau)
        return
    from transom.errors import SpecError
    from transom.simulation.output.metrics import Trim

    trace = traces[0]
    options.refuse({"--gap": gap, "--combine": combine or None}, f"{trace}, which holds no workflows")
    if chunks is not None:
        raise SpecError("--chunks needs --machines, such as count=5,cpu=64,memory=1")
    if jitter and not repeats:
        raise SpecError("--jitter needs --repeats")
    options.check_positive("--tau", tau)
    settings = NodeOptions(cluster, tuple(allocate or ()), rule, allocate_by, allocate_seconds, cost_model)
    runs = chosen_runs(policy, period, seed, settings)
    read = read_under(rules, context, reading, trace, machine(nodes, cluster), runs)
    if read.protocol:
        compare_sequences(asked, read, runs, trace, tau)
        return
    runs = [replace(run, rules=read.rules.replayed) for run in runs]
    extended = equipped(on_tree(read.workload, cluster, runs), trace, resources, seed)
    runs, broken = with_outages(runs, outages, on_failure, extended.workload, context, today)
    trim = Trim(head_seconds=warm_up, tail_seconds=cool_down)
    if not trim.counts(extended.workload.jobs.submit).any():
        raise SpecError(f"--warm-up {warm_up:g} and --cool-down {cool_down:g} leave no job of the trace")
    traced = Traced(trace, read.card, extended, cluster, broken)
    simulate_trace(asked, traced, runs, Figures(tau, trim, jitter, repeats, by or (), today))
