"""``transom simulate``: what would these policies have done to a trace?"""

from __future__ import annotations

from dataclasses import asdict, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.options import completion
from transom.cli.options.events import Rules, read_under
from transom.cli.options.nodes import AllocateBy, NodeOptions, Rule, chosen_runs, machine, on_tree
from transom.cli.options.outages import OnFailureOption, OutagesOption, chosen_outages
from transom.cli.options.reading import Reading
from transom.cli.options.resources import Resources, equipped
from transom.cli.options.structs import with_structs
from transom.cli.options.tasks import ChunksOption, MachinesOption
from transom.cli.options.workflows import CombineOption, GapOption, holds_workflows
from transom.cli.output.console import check_recording, check_writable, describe, note, print_json, progress, remarked
from transom.cli.output.learned_policies import ReferenceOption, card_lines, print_cards, references
from transom.cli.output.schedule_tables import (
    By,
    breakdowns_of,
    limits_held,
    limits_line,
    print_answer,
    print_breakdown,
    print_summaries,
)
from transom.cli.output.sequences import compare_sequences
from transom.cli.output.tasks import simulate_machines
from transom.cli.output.workflows import simulate_workflows

if TYPE_CHECKING:
    from transom.simulation import Schedule
    from transom.simulation.output.metrics import Trim
    from transom.simulation.runs import Run


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
            help="Policy: [LABEL=]SPEC, such as fcfs-easy. Repeat to compare.",
        ),
    ] = None,
    period: Annotated[
        int | None,
        typer.Option("--period", min=1, help="Decide once every SECONDS; short for --policy nwp:period=SECONDS."),
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
        float, typer.Option("--allocate-seconds", help="Time limit of the solver for each allocation.")
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
    machines: MachinesOption = None,
    chunks: ChunksOption = None,
    gap: GapOption = None,
    combine: CombineOption = False,
    outages: OutagesOption = None,
    on_failure: OnFailureOption = "requeue",
    rules: Rules = "textbook",
    out: Annotated[Path | None, typer.Option("--out", help="Folder for jobs, decisions and figures.")] = None,
    start: options.Start = 0,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    jitter: Annotated[
        int,
        typer.Option("--jitter", min=0, max=10**9, help="Move each submission by up to SECONDS in each repetition."),
    ] = 0,
    repeats: Annotated[
        int, typer.Option("--repeats", min=0, help="Number of further replays, with jitter and other seeds.")
    ] = 0,
    tau: Annotated[float, typer.Option("--tau", help="Threshold of the bounded slowdown.")] = 10.0,
    warm_up: Annotated[
        float, typer.Option("--warm-up", min=0, help="Exclude jobs of the first SECONDS from the figures.")
    ] = 0.0,
    cool_down: Annotated[
        float, typer.Option("--cool-down", min=0, help="Exclude jobs of the last SECONDS from the figures.")
    ] = 0.0,
    by: Annotated[list[By] | None, typer.Option("--by", help="Break the figures down. Repeat for several.")] = None,
    reference: ReferenceOption = True,
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

    --rules replays under the event rules of another program, to compare with its published results. rlscheduler
    draws random sequences, or replays the one given by --start and --jobs. With --machines, the trace holds jobs of
    identical tasks, which are placed on machines. Policies are then first-fit, longest-first, tetris and similar
    ones, and --json prints a line for each chunk and policy.

    Files of workflows (WfFormat, DAX, transom/workflow/1) are a stream of jobs that wait for one another, with figures
    by task and by workflow. --gap draws when each is submitted, and --combine combines compatible tasks.
    """
    from transom.errors import SpecError
    from transom.simulation.output.answer import Repetition, identical
    from transom.simulation.output.job_groups import groupings, mean_waits
    from transom.simulation.output.metrics import Trim, summary
    from transom.simulation.output.sentences import answer
    from transom.simulation.policies.by_name import deciding
    from transom.simulation.runs import repetitions, replay
    from transom.traces.job_texts import read_job_texts
    from transom.traces.outages import outage_card

    if machines:
        simulate_machines(context)
        return
    if holds_workflows(traces):
        simulate_workflows(context)
        return
    trace = traces[0]
    options.refuse({"--gap": gap, "--combine": combine or None}, f"{trace}, which holds no workflows")
    if chunks is not None:
        raise SpecError("--chunks needs --machines, such as count=5,cpu=64,memory=1")
    if jitter and not repeats:
        raise SpecError("--jitter needs --repeats")
    if not 0 < tau < float("inf"):
        raise SpecError(f"--tau must be > 0 and finite, got {tau}")
    settings = NodeOptions(cluster, tuple(allocate or ()), rule, allocate_by, allocate_seconds, cost_model)
    runs = chosen_runs(policy, period, seed, settings)
    read = read_under(rules, context, reading, trace, machine(nodes, cluster), runs)
    if read.protocol:
        compare_sequences(read, runs, trace, out, tau, force, json, reference)
        return
    runs = [replace(run, rules=read.rules.replayed) for run in runs]
    extended = equipped(on_tree(read.workload, cluster, runs), trace, resources, seed)
    workload = extended.workload
    cards = card_lines(((run.label, deciding(run.policy)) for run in runs), workload.cluster.num_nodes)
    broken = chosen_outages(outages, on_failure, workload.cluster.num_nodes, context)
    runs = [replace(run, outages=broken) for run in runs]
    asked, beside = len(runs), references(runs) if cards and reference and not json else []
    details: dict[str, Any] = {"trace": str(trace), "rules": read.card, **workload.facts}
    details["policies"] = [run.label for run in runs]
    if cluster is not None:
        details["cluster"] = cluster
    if resources is not None:
        details["resources"] = {**extended.card, "made": extended.documents}
    trim = Trim(head_seconds=warm_up, tail_seconds=cool_down)
    if not trim.counts(workload.jobs.submit).any():
        raise SpecError(f"--warm-up {warm_up:g} and --cool-down {cool_down:g} leave no job of the trace")
    if out:
        # Before the work, not after it.
        for run in runs:
            check_recording(out / run.label)
        if figures:
            check_writable(out / "figures" / "timeline.png", ".png")
    for line in describe(workload) + extended.lines:
        note(line)

    texts = read_job_texts(trace, workload.jobs.id) if out else {}
    schedules: list[Schedule] = []
    replays: list[Repetition] = []
    copies: list[list[Repetition]] = []
    groups = groupings(workload.jobs, workload.runtime, workload.cluster, workload.origin)
    with progress() as bars:
        runs += beside
        tasks = [bars.add_task(run.label, total=len(workload) + repeats, start=False) for run in runs]
        for run, task in zip(runs, tasks, strict=True):
            bars.start_task(task)
            folder = None if run in beside else out
            schedule, kept = replay(workload, run, folder, details, force, partial(_advance, bars, task), texts)
            bars.update(task, completed=len(workload), description=f"{run.label} (kept)" if kept else run.label)
            schedules.append(schedule)
            replays.append(Repetition(summary(schedule, tau, trim), mean_waits(schedule, groups, trim)))
            copies.append([])
            for each in repetitions(workload, run, jitter, repeats, folder, tau, trim, force):
                copies[-1].append(each)
                bars.advance(task)
    summaries = [each.figures for each in replays]
    repeated = [[each.figures for each in listed] for listed in copies]
    labels, compared = [run.label for run in runs], copies if repeats else []
    said = answer(labels[:asked], replays[:asked], compared[:asked], jitter)
    print_cards(cards, json)
    drawn = _draw(schedules[:asked], out / "figures", formats or [Format.png], trim) if out and figures else []

    if json:
        breakdowns = [breakdowns_of(schedule, trim) for schedule in schedules]
        rows = zip(runs, schedules, summaries, repeated, breakdowns, strict=True)
        print_json(
            {
                "trace": str(trace),
                "workload": workload.digest(),
                "jobs": len(workload),
                "nodes": workload.cluster.num_nodes,
                "rules": schedules[0].rules,
                **({} if cluster is None else {"cluster": cluster}),
                **({} if resources is None else {"resources": extended.documents}),
                **({} if broken is None else {"outages": outage_card(broken)}),
                **workload.facts,
                "repairs": dict(workload.repairs),
                "answer": said.facts,
                "policies": [_document(*row, out) for row in rows],
                "figures": [str(path) for path in drawn],
            }
        )
        return
    for k in range(asked, len(runs)):
        pair = answer([labels[0], labels[k]], [replays[0], replays[k]], [compared[0], compared[k]] if repeats else ())
        said.sentences.append(pair.sentences[0])
    print_answer(said.sentences)
    title = f"{workload.name} under {schedules[0].rules} events{extended.title}"
    title += "" if broken is None else f", with outages, jobs on them {_BECOME[broken.on_failure]}"
    if not jitter and identical(replays, copies):  # a deviation would say how much is noise
        repeated = [[] for _ in runs]
    print_summaries(remarked(title, workload), runs, summaries, repeated)
    for kind in by or []:
        title = remarked(f"by {kind}, {schedules[0].rules} events", workload)
        print_breakdown(title, kind, runs[:asked], schedules[:asked], trim)
    for run, schedule in zip(runs[:asked], schedules, strict=False):
        if limited := limits_line(schedule):
            note(limited)
        if made := _allocations(schedule):
            note(f"{run.label}: {made['proved']:,} of {made['solved']:,} allocations are proved to be of least cost")
    if out:
        more = "" if broken is None else ", outages.parquet, attempts.parquet"
        note(f"jobs and decisions: {out}/LABEL/jobs.parquet, decisions.parquet{more}")
    for path in drawn:
        note(f"figure: {path}")


_BECOME = {"requeue": "requeued", "lose": "lost"}


def _advance(bars: Any, task: Any, started: int) -> None:
    bars.update(task, completed=started)


def _draw(schedules: list[Schedule], folder: Path, formats: list[Format], trim: Trim) -> list[Path]:
    from transom.plot import save_figures

    return save_figures(schedules, folder, [each.value for each in formats], trim)


def _allocations(schedule: Schedule) -> dict[str, int]:
    """How many instants had their nodes chosen by a solver, and how many of them provably well; empty if none."""
    if "allocated" not in schedule.decisions:
        return {}
    solved = schedule.decisions["allocated"] > 0
    return {"solved": int(solved.sum()), "proved": int(schedule.decisions["allocation_proved"][solved].sum())}


def _document(
    run: Run,
    schedule: Schedule,
    figures: dict[str, float],
    repeated: list[dict[str, float]],
    breakdowns: dict[str, Any],
    out: Path | None,
) -> dict[str, Any]:
    from transom.simulation.output.metrics import aggregate
    from transom.simulation.policies.clocks import clock_of

    return {
        "policy": run.label,
        "spec": run.spec,
        **({} if (clock := clock_of(run.policy)) is None else {"clock": clock}),
        "seed": run.seed,
        **({} if run.allocator is None else {"allocator": asdict(run.allocator)}),
        "rules": schedule.rules,
        "folder": str(out / run.label) if out else None,
        "metrics": figures,
        **({"limits": held} if (held := limits_held(schedule)) else {}),
        **({"allocations": allocations} if (allocations := _allocations(schedule)) else {}),
        "repeats": len(repeated),
        "jittered": {name: each._asdict() for name, each in aggregate(repeated).items()} if repeated else {},
        "by": breakdowns,
    }
