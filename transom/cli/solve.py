"""``transom solve``: solve the instances of files, one after another."""

from __future__ import annotations

import math
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli import options
from transom.cli.output import check_writable, note, number, print_json, print_table, progress

if TYPE_CHECKING:
    from transom.models import Knapsack
    from transom.result import Result

_SECONDS = 1.0  # per instance, where no count of iterations ends the search either


def command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Instances: .json, .jsonl (a set), either with .gz, or .kp.")
    ],
    problem: Annotated[str, typer.Option("--problem", help="What to solve: knapsack.")] = "knapsack",
    solver: Annotated[
        str, typer.Option("--solver", help="NAME or NAME:KEY=VALUE,...; `transom solvers` lists them.")
    ] = "auto",
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", help="Time for each instance; 1 by default, none with --iterations or --stall."),
    ] = None,
    iterations: Annotated[int | None, typer.Option("--iterations", help="Stop after so many iterations.")] = None,
    target: Annotated[float | None, typer.Option("--target", help="Stop at a value at least as good.")] = None,
    gap: Annotated[float | None, typer.Option("--gap", help="Stop at a relative gap of at most this.")] = None,
    stall: Annotated[
        int | None, typer.Option("--stall", help="Stop after so many iterations without a better value.")
    ] = None,
    objective: options.Objective = None,
    seed: options.Seed = 0,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads that the solver may use.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Keep results in this .jsonl or .jsonl.gz; what it holds is not solved again."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Solve again what --out holds already.")] = False,
    solutions: Annotated[
        bool, typer.Option("--solutions", help="With --json: add the positions of the chosen items, from 0.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each instance when it is solved.")] = (
        False
    ),
) -> None:
    """Solve the instances of one or more files, and check every answer.

    A file holds knapsacks or windows (of `transom snapshot`); a window becomes a knapsack whose
    items are its queued jobs, weighed by their nodes and valued by --objective. Values that were
    scaled to integers are printed in their own unit in the table, as integers in JSON.
    """
    from transom import registry
    from transom.cli.instances import read_instances
    from transom.cli.result_file import ResultFile
    from transom.errors import SpecError, UnsupportedError
    from transom.solving import parameters, refusal, solve, warm_up
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
    chosen = registry.make(registry.SOLVERS, solver)
    if out is not None:
        check_writable(out, ".jsonl")
    # All of them before the first is solved: a broken line or a refusal should not cost an hour.
    instances = list(read_instances(files, problem, objective))
    for label, instance in instances:
        if reason := refusal(chosen, instance):
            raise UnsupportedError(f"{label}: solver {chosen.name!r} cannot take this {instance.kind}: {reason}")
    kept = None if out is None else ResultFile(out)
    warm_up(chosen)

    rows: list[tuple[str, Knapsack, Result]] = []
    found = 0
    try:
        with progress(hidden=json and sys.stdout.isatty()) as bars:
            task = bars.add_task(chosen.name, total=len(instances))
            for label, instance in instances:
                terms = (instance.digest(), chosen.name, stop, seed, threads)
                result = None if kept is None or force else kept.find(terms, parameters(chosen))
                found += result is not None
                if result is None:
                    result = solve(instance, chosen, stop, seed, threads=threads)
                    if kept is not None:
                        kept.add(result, parameters(chosen))
                rows.append((label, instance, result))
                if json:
                    print_json(_line(label, result, solutions))
                bars.advance(task)
    finally:
        if kept is not None:
            kept.save()

    if not json:
        _print_results(problem, rows)
    for label, _, result in rows:
        if result.error is not None:
            note(f"{label}: the solver failed: {result.error}")
    if out is not None:
        note(f"results: {out}" + (f" ({found} of {len(rows)} were there already)" if found else ""))


def _line(label: str, result: Result, solutions: bool) -> dict[str, Any]:
    line: dict[str, Any] = {"instance": label}
    for name in ("problem", "solver", "status", "reason", "value", "bound", "gap", "seconds", "seed"):
        line[name] = getattr(result, name)
    if solutions:
        line["solution"] = None if result.solution is None else result.solution.nonzero()[0].tolist()
    if result.error is not None:
        line["error"] = result.error
    return line


def _print_results(problem: str, rows: list[tuple[str, Knapsack, Result]]) -> None:
    table = []
    names = _short([label for label, _, _ in rows])
    for (_, instance, result), label in zip(rows, names, strict=True):
        method = result.parameters.get("chose")
        solver = f"{result.solver} ({method})" if method else result.solver
        gap = "-" if result.gap is None else f"{number(100 * result.gap, 3)}"
        worth = [_worth(value, instance.scale) for value in (result.value, result.bound)]
        table.append([label, solver, result.status, result.reason, *worth, gap, number(result.seconds, 4)])
    columns = ["instance", "solver", "status", "reason", "value", "bound", "gap [%]", "time [s]"]
    print_table("", columns, table, left=4)
    results = [result for _, _, result in rows]
    statuses = Counter(result.status for result in results)
    told = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    print(f"{len(results)} x {problem}: {told}; {number(sum(r.seconds for r in results), 2)} s in all")


def _short(labels: list[str]) -> list[str]:
    """Labels without folders, where that leaves no doubt."""
    short = [Path(label).name for label in labels]
    return short if len(set(short)) == len(set(labels)) else labels


def _worth(value: float | None, scale: int) -> str:
    if value is None:
        return "-"
    return number(value / scale, len(str(scale)) - 1) if scale > 1 else f"{value:,}"
