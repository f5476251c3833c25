"""``transom library``: the best known results of a folder of instances."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.options import completion
from transom.cli.options.digits import DURATION
from transom.cli.output.console import note, print_json, print_table, progress, remark

if TYPE_CHECKING:
    from transom.bench.best_known.entering import Step
    from transom.bench.best_known.library import Entry, Library

Folder = Annotated[
    Path, typer.Option("--library", metavar="DIR", help="Folder of the instances, and of best_known.parquet.")
]
_HERE = Path("instances")
_COLUMNS = (
    "file", "line", "problem", "objective", "objectives", "cost_model", "wrap", "digest", "items", "capacity", "scale",
    "value", "bound", "proved", "proved_by", "solver", "parameters", "seed", "seconds", "known_since",
)  # fmt: skip


def list_command(
    folder: Folder = _HERE,
    csv: Annotated[bool, typer.Option("--csv", help="Print every entry as CSV.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print every entry as a line of JSON.")] = False,
) -> None:
    """List what is known: instances of each file, proved optima, and the methods of proof.

    --csv and --json print every entry, without its solution.
    """
    from transom.bench.best_known.library import read_library
    from transom.errors import SpecError

    if csv and json:
        raise SpecError("either --csv or --json")
    library = read_library(folder)
    if csv:
        import sys
        from csv import DictWriter

        writer = DictWriter(sys.stdout, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in _row(entry).items()} for entry in library.entries)
    elif json:
        for entry in library.entries:
            print_json(_row(entry))
    else:
        _print_summary(library)


def add_command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Instances as for solve, in the folder of the library.")
    ],
    folder: Folder = _HERE,
    problem: Annotated[
        str | None,
        typer.Option(
            "--problem",
            autocompletion=completion.problems,
            help="Type of problem, as for solve. By default, what the files hold.",
        ),
    ] = None,
    objective: options.Objective = None,
    objectives: options.Objectives = None,
    cost_model: options.CostModel = None,
    wrap: options.Wrap = None,
    json: options.Json = False,
) -> None:
    """Add entries for the instances of files, without results.

    Instances that are in the library under the same terms stay as they are.
    """
    from transom.bench.best_known.entering import new_entries
    from transom.bench.best_known.library import Library, has_library, locked, read_library, write_library
    from transom.io.instances import ReadOptions

    with locked(folder):
        library = read_library(folder) if has_library(folder) else Library(folder, ())
        reading = ReadOptions(problem, objective, cost_model, wrap, objectives)
        entries = list(new_entries(library, files, reading))
        write_library(library.with_entries(entries))
    if json:
        print_json({"library": str(folder), "new": len(entries), "entries": len(library.entries) + len(entries)})
    else:
        remark(f"{folder}: {len(entries)} new entries, {len(library.entries) + len(entries)} in all")


def remove_command(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Files as the index names them; they need not exist any more.")
    ],
    folder: Folder = _HERE,
    json: options.Json = False,
) -> None:
    """Remove the entries of files. The files themselves stay as they are."""
    from transom.bench.best_known.library import Library, locked, read_library, write_library
    from transom.errors import DocumentError

    read_library(folder)  # which says if there is none, before there is a lock
    with locked(folder):
        library = read_library(folder)
        known = {entry.file for entry in library.entries}
        names = {given: given if given in known else _name_in(folder, given) for given in files}
        for given, name in names.items():
            if name not in known:
                raise DocumentError(f"{given}: {folder} has no entry of such a file")
        left = [entry for entry in library.entries if entry.file not in names.values()]
        write_library(Library(folder, left))
    removed = len(library.entries) - len(left)
    if json:
        print_json({"library": str(folder), "removed": removed, "entries": len(left)})
    else:
        remark(f"{folder}: {removed} entries removed, {len(left)} left")


def update_command(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS", help="Folders of bench run, or .jsonl files of transom solve --out."),
    ],
    folder: Folder = _HERE,
    seconds: Annotated[
        float | None, typer.Option("--seconds", metavar=DURATION, help="Repeat runs with at least this time budget.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Update the library with results that are better than what is known, or that prove it.

    A store of the bench holds no solutions. If a row is better than the library, the run is repeated with the same
    solver, seed and budget, and its solution is checked. If the repetition differs, a note says so, and the result
    is used only as far as it is better than what is known. Results of `solve --out` are checked directly.

    If a value is better than a proved optimum, both sources are named, nothing is changed, and the exit status is
    1. The exit status is also 1 if a result fails the check; that result is left out.
    """
    from transom.bench.best_known.entering import Claim, Contradiction, claims_of, updates, with_steps
    from transom.bench.best_known.library import locked, read_library, write_library

    options.check_positive("--seconds", seconds)
    read_library(folder)  # which says if there is none, before there is a lock
    changes: list[str] = []
    wrong: list[str] = []
    steps: list[Step] = []
    contradictions: list[str] = []
    with locked(folder), progress() as bar:
        library = read_library(folder)
        claims: list[Claim] = []
        for path in results:
            found, foreign = claims_of(path, library)
            claims += found
            if foreign:
                of = f"{foreign} of {foreign + len(found)}"
                note(f"{path}: {of} results are for instances that {folder} does not have")
        task = bar.add_task("instances", total=len({claim.digest for claim in claims}))
        try:
            for step in updates(library, claims, seconds or 0.0):
                bar.advance(task)
                for line in (*step.notes, *step.wrong):
                    note(line)
                if step.after is not step.before:
                    steps.append(step)
                    changes.append(_change(step))
                    if not json:
                        print(changes[-1])
                wrong += step.wrong
        except Contradiction as error:
            contradictions.append(str(error))
        finally:
            if steps and not contradictions:
                write_library(with_steps(library, steps))
    updated = 0 if contradictions else len(steps)
    if json:
        counts = {"library": str(folder), "updated": updated, "entries": len(library.entries)}
        print_json({**counts, "changes": changes, "wrong": wrong, "contradictions": contradictions})
    elif contradictions:
        print(*contradictions, f"{folder}: nothing was changed", sep="\n")
    else:
        remark(f"{folder}: {updated} of {len(library.entries)} entries updated")
    if wrong or contradictions:
        raise typer.Exit(1)


def verify_command(
    folder: Folder = _HERE,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--solve",
            metavar=DURATION,
            help="Repeat every proof within DURATION, with another exact solver where there is one.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Check every entry of a library against its instance.

    This covers the digest and size of each instance, feasibility and value of each solution, the consistency of
    bounds and proofs with values, entries without an instance, and instances without an entry. The exit status is 1
    if something is wrong.
    """
    from transom.bench.best_known.library import read_library
    from transom.bench.best_known.verification import between_entries, verify, without_entry

    options.check_positive("--solve", seconds)
    library = read_library(folder)
    faults: list[dict[str, Any]] = []
    tried = again = otherwise = 0
    with progress() as bar:
        for verdict in bar.track(verify(library, seconds), total=len(library.entries), description="entries"):
            entry = verdict.entry
            if verdict.wrong:
                faults.append({"entry": entry.place, "problem": entry.problem, "wrong": list(verdict.wrong)})
            for fault in [] if json else verdict.wrong:
                print(f"{entry.place}: {entry.problem}: {fault}")
            tried += verdict.tried
            again += verdict.proved_by is not None
            otherwise += verdict.proved_by not in (None, entry.best and entry.best.solver)
    others = [*between_entries(library), *without_entry(library)]
    proved = sum(entry.proved for entry in library.entries)
    if json:
        counts = {"library": str(folder), "sound": not (faults or others), "entries": len(library.entries)}
        repeated = {"tried": tried, "repeated": again, "by_another_method": otherwise}
        proofs = None if seconds is None else repeated
        print_json({**counts, "proved": proved, "proofs": proofs, "wrong": faults, "further": others})
    else:
        for line in others:
            print(line)
        if seconds is not None:
            print(f"{folder}: {again} of {tried} proofs repeated within {seconds:g} s, {otherwise} by another method")
        if faults or others:
            more = f"; further faults: {len(others)}" if others else ""
            print(f"{folder}: {len(faults)} of {len(library.entries)} entries wrong{more}")
        else:
            print(f"{folder}: all sound: {len(library.entries)} entries, {proved} proved")
    if faults or others:
        raise typer.Exit(1)


def _change(step: Step) -> str:
    """What an instance's entry says now that it did not say before."""
    before, after = step.before, step.after
    facts = []
    if after.value != before.value:
        facts.append(f"value {_short(before.value)} -> {_short(after.value)}")
    if after.bound != before.bound:
        facts.append(f"bound {_short(before.bound)} -> {_short(after.bound)}")
    if after.proved_by != before.proved_by:
        facts.append(f"{'proved' if after.proved else 'bound'} by {'+'.join(after.proved_by)}")
    return f"{after.place}: {after.problem}: {', '.join(facts) or 'a complete result'}"


def _short(value: float | None) -> str:
    return "unknown" if value is None else format(value, ".12g")


def _name_in(folder: Path, given: str) -> str:
    path = Path(given).resolve()
    return path.relative_to(folder.resolve()).as_posix() if path.is_relative_to(folder.resolve()) else given


def _row(entry: Entry) -> dict[str, Any]:
    """An entry without its solution, by column."""
    best = entry.best
    facts: dict[str, Any] = {name: getattr(entry, name, None) for name in _COLUMNS}
    if best is not None:
        facts |= {name: getattr(best, name) for name in ("solver", "parameters", "seed", "seconds")}
    return facts | {"capacity": entry.capacity[0] if len(entry.capacity) == 1 else entry.capacity}


def _cell(value: Any) -> Any:
    if isinstance(value, tuple):
        return "/".join(map(str, value)) if value and isinstance(value[0], int) else "+".join(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(f"{name}={of}" for name, of in value.items()) if isinstance(value, dict) else value


def _print_summary(library: Library) -> None:
    from collections import Counter, defaultdict

    groups: defaultdict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for entry in library.entries:
        groups[entry.file, entry.problem, entry.objective or entry.objectives or ""].append(entry)
    rows = []
    for names, entries in groups.items():
        by = Counter(method for entry in entries if entry.proved for method in entry.proved_by)
        methods = ", ".join(method if n == len(entries) else f"{method} {n}" for method, n in by.most_common())
        known = sum(entry.value is not None for entry in entries)
        counts = (len(entries), known, sum(entry.proved for entry in entries))
        rows.append([*names, methods, *map(str, counts)])
    columns = ("file", "problem", "objective", "proved by", "instances", "known", "proved")
    print_table(f"{library.folder}: {len(library.entries)} entries", columns, rows, left=4)
