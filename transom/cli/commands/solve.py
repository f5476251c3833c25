"""``transom solve``: solve the instances of files, one after another."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.options import completion
from transom.cli.options.digits import DURATION
from transom.cli.output.console import (
    check_writable,
    note,
    note_repairs,
    number,
    print_json,
    print_table,
    progress,
    remark,
)
from transom.cli.output.learned_policies import card_lines, print_cards

if TYPE_CHECKING:
    from transom.io.instances import Instance
    from transom.models.decision_rules import DecisionRule
    from transom.result import Result

_LARGE = 100.0  # values from which two decimals say enough
_SMALL = 1e-3  # values below which six decimals say too little
_SECONDS = 1.0  # per instance, where no count of iterations ends the search either


def command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Instances: .json, .jsonl (a set), .kp, .dat, .txt, .xml, .dax, .sm or .rcp, also with .gz.",
        ),
    ],
    problem: Annotated[
        str | None,
        typer.Option(
            "--problem",
            autocompletion=completion.problems,
            help="Type of problem, such as knapsack or dcas; `transom solvers` lists them. By "
            "default, what the files hold.",
        ),
    ] = None,
    solver: Annotated[
        list[str] | None,
        typer.Option(
            "--solver",
            autocompletion=completion.solvers,
            help="Solver: NAME or NAME:KEY=VALUE,...; `transom solvers` lists them. By default auto.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar=DURATION,
            help="Time limit for each instance. By default 1, and none with --iterations or --stall.",
        ),
    ] = None,
    iterations: Annotated[int | None, typer.Option("--iterations", help="Stop after N iterations.")] = None,
    target: Annotated[
        float | None, typer.Option("--target", help="Stop when the value is at least as good as X.")
    ] = None,
    gap: Annotated[float | None, typer.Option("--gap", help="Stop when the relative gap is at most X.")] = None,
    stall: Annotated[
        int | None, typer.Option("--stall", help="Stop after N iterations without a better value.")
    ] = None,
    objective: options.Objective = None,
    objectives: options.Objectives = None,
    decide: Annotated[
        list[str] | None,
        typer.Option(
            "--decide",
            autocompletion=completion.decision_rules,
            help="Rule that chooses a point of the Pareto front of a selection, such as knee or "
            "trade-off:give=0.2. Repeat to compare. By default trade-off.",
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", help="Draw a front, an allocation or a schedule to this .png, .pdf or .svg file."),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Write the instance as an integer programme to this .mps or .lp file."),
    ] = None,
    cost_model: options.CostModel = None,
    wrap: options.Wrap = None,
    nodes: options.MachineNodes = None,
    amounts: options.Amounts = None,
    together: options.Together = False,
    seed: options.Seed = 0,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Number of threads that the solver may use.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Results file, .jsonl or .jsonl.gz. Results that it holds already are reused."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Solve all instances, even those with a result in --out.")
    ] = False,
    solutions: Annotated[
        bool,
        typer.Option(
            "--solutions",
            help="With --json, add the solution: the chosen items, the points of the front, the "
            "nodes of each job, the arcs, or the schedule.",
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each instance as soon as it is solved.")
    ] = (False),
) -> None:
    """Solve the instances of one or more files, and check every answer.

    A file holds knapsacks, selections, allocations, constrained paths, placements, windows (written by `transom
    snapshot`), lines of a topology-aware stream, or workflows, also in WfFormat (.json) or DAX (.xml, .dax), which
    take --nodes, or projects of PSPLIB or Patterson (.sm, .rcp), which state their machine. --together makes one
    problem of all workflows: a window, in which each is released when it is submitted.

    A window becomes a knapsack: its items are the queued jobs, their weights are nodes, and --objective sets their
    values. With --problem selection, it becomes a selection over nodes and further resources. With --problem scas,
    dcas or free, it becomes the allocation of the jobs at the head of the queue that fit. A line of a stream
    becomes an allocation of its jobs, by default scas. Jobs of one node can use any node that is left and are not
    part of an allocation.

    The solution of a selection is its Pareto front, complete or not. Its value is the share of the hypervolume that
    the front dominates. Utilisation is relative to the whole machine. In JSON, chosen gives the point of each
    --decide rule.

    Values that were scaled to integers are printed in their own unit in tables, and as integers in JSON. With
    --solutions, items count from 0. nodes and order list the jobs of more than one node; jobs holds their ids if
    the file has ids. An arc is [start, size]. The jobs of a point are ids if the file has ids, else positions from
    0.

    The exit status is 1 if the solver failed on an instance: it crashed, or its answer is not feasible.
    """
    from transom.cli.output.fronts import DEFAULT_RULE, named_rules, try_rules
    from transom.cli.output.pictures import check_picture, draw
    from transom.errors import SpecError, UnsupportedError
    from transom.io import read_documents
    from transom.io.instances import ReadOptions, from_documents, read_joined
    from transom.io.result_file import ResultFile
    from transom.solvers.named import NamedSolver
    from transom.solving import parameters, refusal, solve
    from transom.stop import Stop

    if seconds is None and iterations is None and stall is None:
        seconds = _SECONDS
    stop = Stop(seconds, iterations, target, gap, stall)
    for name, value in (("--target", target), ("--gap", gap)):
        if value is not None and not math.isfinite(value):
            raise SpecError(f"{name} must be finite, got {value}")
    if solutions and not json:
        raise SpecError("--solutions needs --json")
    if force and out is None:
        raise SpecError("--force needs --out")
    if solver is not None and len(solver) > 1:  # the parser alone would take the last one and say nothing
        raise SpecError(f"--solver {solver[1]}: one is taken; `transom bench run --instances FILE` compares several")
    named = NamedSolver(solver[0] if solver else "auto")
    if out is not None:
        check_writable(out, ".jsonl")
    rules = named_rules(decide or [DEFAULT_RULE])
    # All of them before the first is solved: a broken line or a refusal should not cost an hour.
    documents = read_joined(files) if together else (pair for path in files for pair in read_documents(path))
    reading = ReadOptions(problem, objective, cost_model, wrap, objectives, nodes, amounts)
    instances = list(from_documents(documents, reading))
    fronts = [each for each in instances if _has_front(each)]
    if not fronts:
        options.refuse({"--decide": decide}, "these files: they hold no selection")
    for each in fronts:
        try_rules(each, rules)
    if picture is not None:
        check_picture(picture, instances)
    for label, instance, _ in instances:
        if reason := refusal(named.for_type(type(instance)), instance):
            raise UnsupportedError(f"{label}: solver {named.name!r} cannot take this {instance.kind}: {reason}")
    _export(instances, export)
    note_repairs((each.label, each.problem) for each in instances)
    kept = None if out is None else ResultFile(out)

    rows: list[tuple[Instance, Result]] = []
    found = 0
    try:
        with progress(hidden=json and sys.stdout.isatty()) as bars:
            task = bars.add_task(named.name, total=len(instances))
            for each in instances:
                instance = each.problem
                chosen = named.for_type(type(instance))
                terms = (instance.digest(), chosen.name, stop, seed, threads)
                result = None if kept is None or force else kept.find(terms, parameters(chosen))
                found += result is not None
                if result is None:
                    result = solve(instance, chosen, stop, seed, threads=threads)
                    if kept is not None:
                        kept.add(result, parameters(chosen))
                rows.append((each, result))
                if json:
                    print_json(_line(each, result, solutions, rules))
                bars.advance(task)
    finally:
        if kept is not None:
            kept.save()

    print_cards(card_lines((named.name, named.for_type(type(each.problem))) for each in instances), json)
    if not json:
        _print_results(rows, rules)
    if picture is not None:
        if rows[0][1].solution is None:
            note(f"{picture}: not drawn, there is no solution")
        else:
            draw(picture, *rows[0], rules)
            note(f"picture: {picture}")
    for each, result in rows:
        if result.error is not None:
            note(f"{each.label}: the solver failed: {result.error}")
    if out is not None:
        note(f"results: {out}" + (f" ({found} of {len(rows)} were there already)" if found else ""))
    if any(result.error is not None for _, result in rows):
        raise typer.Exit(1)


def _export(instances: Sequence[Instance], path: Path | None) -> None:
    if path is None:
        return
    from transom._system.wording import counted
    from transom.errors import SpecError
    from transom.reductions.integer_program import SUFFIXES, integer_program, write_program

    if path.suffix not in SUFFIXES:
        raise SpecError(f"--export: the name must end in {' or '.join(SUFFIXES)}, got {str(path)!r}")
    if len(instances) != 1:
        raise SpecError(f"--export writes one instance; there are {len(instances):,}")
    check_writable(path, path.suffix)
    program = integer_program(instances[0].problem, instances[0].jobs)
    write_program(program, path)
    note(f"{path}: {counted(len(program.names), 'variable')}, {counted(len(program.rows), 'condition')}")


def _line(instance: Instance, result: Result, solutions: bool, rules: Mapping[str, DecisionRule]) -> dict[str, Any]:
    from transom.cli.output.fronts import front_document
    from transom.io.solution_words import solution_document

    line: dict[str, Any] = {"instance": instance.label}
    for name in ("problem", "solver", "status", "reason", "value", "bound", "gap", "seconds", "seed"):
        line[name] = getattr(result, name)
    if repairs := getattr(instance.problem, "repairs", None):
        line["repairs"] = dict(repairs)
    if _has_front(instance):
        line.update(front_document(instance, result, rules))
    if solutions:
        line.update(solution_document(instance, result.solution))
    if result.error is not None:
        line["error"] = result.error
    return line


def _print_results(rows: list[tuple[Instance, Result]], rules: Mapping[str, DecisionRule]) -> None:
    from transom.cli.output.fronts import print_fronts

    table = []
    fronts = [(instance, result) for instance, result in rows if _has_front(instance)]
    names = _short([instance.label for instance, _ in rows])
    for (instance, result), label in zip(rows, names, strict=True):
        method = result.parameters.get("chose")
        solver = f"{result.solver} ({method})" if method else result.solver
        gap = "-" if result.gap is None else f"{number(100 * result.gap, 3)}"
        scale = getattr(instance.problem, "scale", 1)
        claims = [_in_display_units(value, scale) for value in (result.value, result.bound)]
        row = [label, solver, result.status, result.reason, *claims, gap, number(result.seconds, 4)]
        table.append([*row[:3], _front(result), *row[3:]] if fronts else row)
    columns = ["instance", "solver", "status", "reason", "value", "bound", "gap [%]", "time [s]"]
    if fronts:
        columns.insert(3, "front")
    print_table("", columns, table, left=5 if fronts else 4)
    results = [result for _, result in rows]
    statuses = Counter(result.status for result in results)
    text = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    kinds = Counter(result.problem for result in results)
    what = " + ".join(f"{count} x {kind}" for kind, count in kinds.items())
    remark(f"{what}: {text}; {number(sum(r.seconds for r in results), 2)} s in all")
    if fronts:
        print_fronts(fronts, rules)


def _has_front(instance: Instance) -> bool:
    from transom.problems import has_fronts

    return has_fronts(instance.problem.kind)


def _front(result: Result) -> str:
    if (front := result.parameters.get("front")) is None or result.solution is None:
        return "-"
    points = len(result.solution)
    return f"{points:,} point{'s' if points > 1 else ''}, {front}"


def _short(labels: list[str]) -> list[str]:
    """Labels without folders, where that leaves no doubt."""
    short = [Path(label).name for label in labels]
    return short if len(set(short)) == len(set(labels)) else labels


def _in_display_units(value: float | None, scale: int) -> str:
    if value is None:
        return "-"
    if scale > 1:
        return number(value / scale, len(str(scale)) - 1)
    if isinstance(value, float) and 0 < abs(value) < _SMALL:
        return f"{value:.3g}"
    return number(value, 2 if abs(value) >= _LARGE else 6) if isinstance(value, float) else f"{value:,}"
