"""``transom check``: judge results and schedules against what they claim to solve."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options.events import given as stated_options
from transom.cli.options.events import spelt
from transom.cli.options.outages import recorded_outages
from transom.cli.options.reading import Reading, read_workload
from transom.cli.options.resources import Resources, equipped
from transom.cli.options.structs import with_structs
from transom.cli.options.tasks import SUITED, read_chunks
from transom.cli.options.workflows import read_stream
from transom.cli.output.console import note, note_repairs, print_json

if TYPE_CHECKING:
    from transom.models import Cluster, HopCost
    from transom.result import Result
    from transom.traces import Workload

_OF_PARTITIONS = {"partition_nodes", "merge_partitions"}  # one of which stands for the other, too


class Judged(NamedTuple):
    """One result or recording: where it stands, what it is for, what was checked, what is wrong."""

    where: str
    instance: str
    what: str
    wrong: list[str]


@with_structs
def command(
    context: typer.Context,
    instances: Annotated[
        list[Path],
        typer.Argument(
            metavar="INSTANCE|TRACE|WORKFLOWS...",
            help="Instances as for solve, a trace, or the files of workflows that were replayed.",
        ),
    ],
    result: Annotated[Path, typer.Argument(metavar="RESULT|FOLDER", help="Results of solve, or a folder of simulate.")],
    objective: options.Objective = None,
    objectives: options.Objectives = None,
    cost_model: options.CostModel = None,
    wrap: options.Wrap = None,
    resources: Resources = None,
    start: options.Start = 0,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    nodes: options.Nodes = None,
    amounts: options.Amounts = None,
    together: options.Together = False,
    *,
    reading: Reading,
) -> None:
    """Check results against their instances, or a recorded replay against its trace.

    Everything is recomputed from the data. For results: feasibility, value, bound and proof; a solver that failed
    is named. For fronts: every
    point is feasible, takes every job that still fits and is not dominated; where at most 14 jobs fit, a complete
    front has no missing point. For replays: every job starts once, not before its submission and on free nodes, and
    hop costs are right. With outages: no job runs on a node that is down, outages are those stated, and attempts
    follow one another.

    A trace is read as the recording says, including its further resources, unless an option says otherwise. The
    exit status is 1 if something is wrong.
    """
    from transom.errors import DocumentError, SpecError

    for path in (*instances, result):
        if not path.exists():
            raise DocumentError(f"{path}: no such file or folder")
    instance = instances[0]
    workflows = result.is_dir() and any(_holds(result, f"{name}.parquet") for name in ("tasks", "workflows"))
    if together and result.is_dir():
        raise SpecError(f"{result}: is a folder of simulate; --together is for results of solve")
    if len(instances) > 1 and not workflows and not together:
        raise SpecError(f"{result}: holds no replay of workflows; it is checked against one file")
    if workflows:
        stated = stated_options(context)
        options.refuse(spelt(stated, *(stated.keys() - {"instances", "result", "json"})), f"{result}, of workflows")
        judged = [_judge_workflows(instances, each) for each in _recordings(result)]
    elif result.is_dir() and _holds(result, "instances.parquet"):
        stated = stated_options(context)
        options.refuse(spelt(stated, *(stated.keys() - SUITED)), f"{result}, which holds tasks")
        judged = [_judge_tasks(instance, each) for each in _recordings(result)]
    elif result.is_dir():
        rules: dict[str, Any] = {
            "nodes": nodes, "start": start, "jobs": jobs, "resources": resources, "seed": seed,
            **reading._asdict(),
        }  # fmt: skip
        judged = _judge_recordings(instance, result, {name: rules[name] for name in rules if _given(context, name)})
    else:
        seeded = seed if _given(context, "seed") else None
        choices = {
            "objective": objective, "objectives": objectives, "cost_model": cost_model, "wrap": wrap, "nodes": nodes,
            "amounts": amounts,
        }  # fmt: skip
        given = {name: value for name, value in choices.items() if value is not None}
        options.refuse({"--resources": resources, "--seed": seeded}, f"{result}, which is no folder of simulate")
        judged = _judge_results(instances, result, given, together)

    wrong = sum(bool(each.wrong) for each in judged)
    if json:
        print_json({"sound": not wrong, "checked": [each._asdict() for each in judged]})
    else:
        for each in judged:
            for fault in each.wrong:
                print(f"{each.where}: {fault}")
        kinds = Counter(each.what for each in judged if not each.wrong)
        text = ", ".join(f"{count} x {kind}" for kind, count in kinds.most_common())
        print(f"{result}: {wrong} of {len(judged)} wrong" if wrong else f"{result}: all sound: {text}")
    if wrong:
        raise typer.Exit(1)


def _given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _judge_results(files: list[Path], results: Path, given: dict[str, Any], together: bool) -> list[Judged]:
    """Judge results against instances that are read under the options given, as far as these apply to their kind."""
    from transom.errors import DocumentError, SpecError
    from transom.io import name_of, read_documents
    from transom.io.instances import ReadOptions, from_documents, options_of, read_joined, takers_of
    from transom.io.verify import faults
    from transom.result import Result

    claimed: list[tuple[str, Result]] = []
    for where, document in read_documents(results):
        if not isinstance(document, Result):
            raise DocumentError(f"{where}: holds {name_of(document)}; expected a result")
        claimed.append((where, document))
    kinds = dict.fromkeys(result.problem for _, result in claimed)
    for option in given:
        if not any(option in options_of(kind) for kind in kinds):
            raise SpecError(
                f"{results}: holds no results of {takers_of(option)}; --{option.replace('_', '-')} is for those"
            )
    instance = files[0]
    # A window is read as each of the problems that results are for.
    problems = {
        each.problem.digest(): (each.label, each.problem)
        for kind in kinds
        for each in from_documents(
            read_joined(files) if together else read_documents(instance),
            ReadOptions(kind, **{name: value for name, value in given.items() if name in options_of(kind)}),
        )
    }
    note_repairs(problems.values())
    judged, solved = [], set()
    for where, result in claimed:
        if result.instance not in problems:
            hint = _how_read(instance, result.problem, given)
            raise DocumentError(f"{where}: is for instance {result.instance}, which {instance} does not hold{hint}")
        label, problem = problems[result.instance]
        judged.append(Judged(where, label, _what(result), faults(problem, result)))
        solved.add(result.instance)
    if missing := len(problems) - len(solved):
        note(f"{instance}: {missing} of {counted(len(problems), 'instance')} without a result")
    return judged


def _what(result: Result) -> str:
    from transom.problems import has_fronts

    text = f"{result.status} {result.problem}"
    if not has_fronts(result.problem) or result.solution is None:
        return text
    return f"{text}, front {'complete' if result.status == 'optimal' else 'not complete'}"


def _how_read(instance: Path, problem: str, given: dict[str, Any]) -> str:
    """Under which options the first instance was read, which are mostly those of all."""
    from transom.io import read_documents
    from transom.io.instances import read_under

    return read_under(next(iter(read_documents(instance)))[1], problem, given)


def _judge_recordings(trace: Path, folder: Path, given: dict[str, Any]) -> list[Judged]:
    workloads: dict[str, Workload] = {}
    return [_judge_recording(trace, each, given, workloads) for each in _recordings(folder)]


def _recordings(folder: Path) -> list[Path]:
    """The folder, or those of its folders that hold a recording."""
    from transom.errors import DocumentError

    if (folder / "jobs.parquet").exists():
        return [folder]
    folders = sorted(path.parent for path in folder.glob("*/jobs.parquet"))
    if not folders:
        raise DocumentError(f"{folder}: no jobs.parquet, neither in it nor in a folder of it")
    return folders


def _holds(folder: Path, name: str) -> bool:
    return (_recordings(folder)[0] / name).exists()


def _judge_tasks(trace: Path, folder: Path) -> Judged:
    """Judge a recording of tasks, chunk by chunk, against the trace as the recording says it was cut."""
    from transom.errors import DocumentError
    from transom.simulation.placement.recording import read_task_schedules, read_tasks_card
    from transom.simulation.placement.verification import check_tasks

    details = read_tasks_card(folder)["details"]
    try:
        chunks = read_chunks(trace, **details["tasks"])
        same = details["digests"] == [each.digest() for each in chunks]
    except (KeyError, TypeError) as error:
        raise DocumentError(f"{folder / 'jobs.parquet'}: its metadata do not say how the trace was cut") from error
    if not same:
        raise DocumentError(f"{folder / 'jobs.parquet'}: is a replay of another workload than {trace}")
    wrong, instances = [], 0
    for k, (chunk, schedule) in enumerate(zip(chunks, read_task_schedules(folder, chunks), strict=True)):
        wrong += [f"chunk {k}: {each}" for each in check_tasks(chunk, schedule)]
        instances += int(chunk.instances.sum())
    return Judged(str(folder), str(trace), f"schedule of {counted(instances, 'instance')}", wrong)


def _judge_workflows(files: list[Path], folder: Path) -> Judged:
    """Judge a recorded replay of workflows, its tables by task and by workflow among it, against their files."""
    from transom.errors import DocumentError
    from transom.simulation.output.recording import read_details, read_node_runs, read_promises, read_schedule
    from transom.simulation.output.verification import check_nodes, check_promises, check_schedule
    from transom.simulation.workflows.combination import recorded_combination
    from transom.simulation.workflows.recording import check_tables, read_jobs_of_tasks

    path, schedule, details = folder / "jobs.parquet", read_schedule(folder), read_details(folder)["details"]
    try:
        stream = read_stream(files, **details["workflows"])
    except (KeyError, TypeError) as error:
        raise DocumentError(f"{path}: its metadata do not say how the workflows were read") from error
    named = ", ".join(map(str, files))
    if details.get("combined", details.get("digest")) != stream.workload.digest():
        raise DocumentError(f"{path}: is a replay of other workflows than {named}")
    combination = None
    if "combined" in details:
        combination, wrong = recorded_combination(stream, schedule, read_jobs_of_tasks(folder))
        if not wrong and combination and details.get("digest") != combination.replayed.workload.digest():
            raise DocumentError(f"{path}: is a replay of other jobs than tasks.parquet states")
    else:
        wrong = check_schedule(stream.workload, schedule)
    wrong += check_nodes(schedule, read_node_runs(folder)) + check_promises(schedule, read_promises(folder))
    if combination is not None or "combined" not in details:
        wrong += check_tables(stream, schedule, folder, combination)
    text = f"schedule of {counted(len(stream.workload), 'task')} of {counted(len(stream.workflows), 'workflow')}"
    return Judged(str(folder), named, text, wrong)


def _judge_recording(trace: Path, folder: Path, given: dict[str, Any], workloads: dict[str, Workload]) -> Judged:
    from transom.errors import DocumentError, SpecError
    from transom.simulation.event_rules import SequenceRules, parse_rules
    from transom.simulation.output.outage_verification import check_outages
    from transom.simulation.output.recording import (
        holds_promises,
        read_details,
        read_node_runs,
        read_promises,
        read_schedule,
    )
    from transom.simulation.output.verification import check_nodes, check_promises, check_schedule, check_spread

    schedule = read_schedule(folder)
    details = read_details(folder)["details"]
    recorded = _recorded_rules(details, folder)
    if _OF_PARTITIONS & given.keys():
        recorded = {name: value for name, value in recorded.items() if name not in _OF_PARTITIONS}
    rules = {**recorded, **given}
    key = repr(sorted(rules.items(), key=str))
    if isinstance(parse_rules(rules.get("events", "textbook")), SequenceRules):
        stated = {f"--{name.replace('_', '-')}": given.get(name) for name in Reading._fields}
        options.refuse(stated, f"{folder}: it was read by the job rules of {rules['events']}")
    resources, seed = rules.pop("resources", None), rules.pop("seed", 0)
    if resources is None and rules.get("estimates", "exact") == "exact" and "seed" in given:
        raise SpecError(f"{folder}: was replayed without --resources and --estimates; --seed is for those")
    if key not in workloads:
        reading = Reading(**{name: rules.pop(name) for name in Reading._fields if name in rules})
        read = read_workload(trace, seed=seed, reading=reading, **rules)
        workloads[key] = equipped(read, trace, resources, seed).workload
    workload = _on_tree(workloads[key], schedule.cluster)
    if details.get("digest", workload.digest()) != workload.digest():
        path = folder / "jobs.parquet"
        raise DocumentError(f"{path}: is a replay of another workload than {trace} as it is read here")
    wrong = check_schedule(workload, schedule)
    if schedule.cluster != workload.cluster:
        wrong.append(f"the machine has {_in_words(schedule.cluster)}, not {_in_words(workload.cluster)}")
    runs = read_node_runs(folder)
    unheld = check_nodes(schedule, runs)
    outages = recorded_outages(details, str(folder / "jobs.parquet"))
    if outages is not None and not unheld:
        wrong += check_outages(workload, schedule, runs, outages, int(details["seed"]))
    wrong += unheld or check_spread(schedule, runs, _recorded_cost(details, folder))
    if holds_promises(folder):
        wrong += check_promises(schedule, read_promises(folder))
    else:
        note(f"{folder}: recorded with one promise a pass, not all of them; promises are not checked")
    return Judged(str(folder), str(trace), f"schedule of {counted(len(schedule), 'job')}", wrong)


def _in_words(cluster: Cluster) -> str:
    further = zip(cluster.resources, cluster.capacities, strict=True)
    return ", ".join([counted(cluster.num_nodes, "node"), *(f"{amount} of {name}" for name, amount in further)])


def _on_tree(workload: Workload, recorded: Cluster) -> Workload:
    """The workload on the tree, or the trees, that a recording states, if there is one and it has as many nodes.

    Traces know no trees; that it is the tree of the replay, the digest of the workload shows.
    """
    from dataclasses import replace

    from transom.simulation.nodes.forest import kept_in_trees, tree_names

    tree = recorded.topology
    if tree is None or tree.num_nodes != workload.cluster.num_nodes:
        return workload
    if names := tree_names(recorded):
        return kept_in_trees(workload, tree, names)
    return replace(workload, cluster=replace(workload.cluster, topology=tree))


def _recorded_cost(details: dict[str, Any], folder: Path) -> HopCost:
    from transom.errors import DocumentError, ModelError
    from transom.models import PAPER, HopCost

    allocator = details.get("allocator")
    if allocator is None:
        return PAPER
    try:
        return HopCost(**allocator["cost"])
    except (KeyError, TypeError, ModelError) as error:
        raise DocumentError(
            f"{folder / 'jobs.parquet'}: the cost model in its metadata is not known: {error}"
        ) from None


def _recorded_rules(details: dict[str, Any], folder: Path) -> dict[str, Any]:
    from transom.errors import DocumentError

    kinds: dict[str, Any] = {
        "nodes": int, "start": int, "jobs": int, "resources": str, "seed": int, "events": str,
        **dict.fromkeys(Reading._fields, str), "partition": list, "merge_partitions": bool,
    }  # fmt: skip
    try:
        recorded = dict(details.get("rules", {}))
        if recorded:  # one that says nothing was made when all partitions were one machine unless sizes were stated
            recorded.setdefault("merge_partitions", recorded.get("partition_nodes") is None)
        if "resources" in details:
            recorded |= {"resources": details["resources"]["spec"], "seed": details["resources"]["seed"]}
        return {name: kinds[name](value) for name, value in recorded.items() if value is not None}
    except (KeyError, TypeError, ValueError) as error:
        raise DocumentError(
            f"{folder / 'jobs.parquet'}: the reading rules in its metadata are not known: {error}"
        ) from None
