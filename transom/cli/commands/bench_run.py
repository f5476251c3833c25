"""``transom bench run``: do the runs of a plan that the results do not hold yet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options import plans as plan_options
from transom.cli.options.engine import On, Protection, Workers, chosen_engine
from transom.cli.options.structs import with_structs
from transom.cli.output.console import note, print_json, print_table, progress
from transom.cli.output.learned_policies import card_lines, print_cards

if TYPE_CHECKING:
    from transom.bench.plan.plan import Plan
    from transom.bench.plan.tasks import RunGroup
    from transom.bench.run.running import Summary, Tally
    from transom.stop import Stop

_SHOWN = 10  # causes of failures that are shown


Only = Literal["failed", "outdated"]
"""Which runs to do anew."""


@with_structs
def command(
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="RESULTS", help="Folder of the results. Runs that it holds already are not repeated."
        ),
    ],
    plan: plan_options.Source = None,
    *,
    flags: plan_options.Flags,
    on: On = "local",
    workers: Workers = None,
    protection: Protection,
    force: Annotated[bool, typer.Option("--force", help="Repeat all runs.")] = False,
    only: Annotated[
        Only | None,
        typer.Option("--only", help="Repeat only failed runs, or only outdated runs (of other code or versions)."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Run a plan: instances x solvers x seeds x budgets x threads, and traces x policies x seeds.

    Every run is stored in RESULTS as soon as it ends. If the bench is interrupted or killed, the same command
    resumes where it stopped: no finished run is lost or repeated. A run that raises, crashes, hangs, exceeds its
    memory or gives a wrong answer is stored with its cause, and the others go on.

    Without a plan, --instances and --solver say what to compare. With a plan, options replace its settings.
    """
    from transom.bench.run.running import run_plan
    from transom.cli.commands.bench_plan import duration, forecast
    from transom.errors import SpecError

    if force and only is not None:
        raise SpecError("--force and --only do not go together")
    chosen = plan_options.chosen_plan(plan, flags)
    engine = chosen_engine(on, workers, max(chosen.threads), protection)
    with progress(hidden=json and sys.stdout.isatty()) as bars:
        bar = bars.add_task("reading", total=None)

        done = 0

        def advance(summary: Summary) -> None:
            nonlocal done
            done = summary.done
            if not summary.done:
                note(forecast(summary.dry_run, summary.todo, engine.workers))
                _warn(summary)
            bars.update(bar, total=summary.todo, completed=summary.done, description=_counts(summary) or "runs")

        try:
            summary = run_plan(chosen, out, engine, force, only, advance)
        except KeyboardInterrupt:
            note(f"{counted(done, 'run')} finished; the same command goes on with the others")
            raise
    print_cards(card_lines(map(_deciding, summary.dry_run.groups)), json)
    if json:
        print_json({"plan": chosen.digest(), "results": str(out), **_document(summary)})
        return
    _print(chosen, summary)
    _print_failures(summary)
    said = _counts(summary) or "nothing was left to do"
    note(f"{counted(summary.done, 'run')} in {duration(summary.seconds)}: {said}")
    for (before, now), count in summary.renamed.items():
        note(f"{counted(count, 'run')} of {now} done before as {before}, under that name; --force repeats them all")
    if summary.done < summary.todo:
        note(f"{counted(summary.todo - summary.done, 'run')} without a row; the same command goes on with what is left")
    if failed := sum(tally.failed for tally in summary.tallies.values()):
        note(f"{counted(failed, 'run')} failed; --only failed repeats what failed")
    note(f"next: transom report {out}")


def _deciding(group: RunGroup) -> tuple[str, Any]:
    """The label of a solver or policy, and what it is."""
    from transom.problems import problem_type
    from transom.simulation import make_policy
    from transom.solvers.named import NamedSolver

    if group.problem == "sequence":
        return group.name, make_policy(group.spec)
    return group.name, NamedSolver(group.spec).for_type(problem_type(group.problem).model)


def _warn(summary: Summary) -> None:
    if old := summary.dry_run.runs("outdated"):
        note(f"{old:,} were done by other code or versions and count as done; --only outdated does them anew")
    idle = summary.dry_run.idle()
    for name, reason in idle.items():
        note(f"{name} takes no instance of this plan: {reason}")
    unsupported: dict[str, dict[str, None]] = {}
    for each in summary.dry_run.contents.unsupported:
        if each.name not in idle:
            unsupported.setdefault(each.name, {})[each.set] = None
    if unsupported:
        where = "; ".join(f"{name} in {', '.join(sets)}" for name, sets in unsupported.items())
        note(f"not applicable (bench plan says why): {where}")


def _counts(summary: Summary) -> str:
    return ", ".join(f"{count:,} {outcome}" for outcome, count in summary.outcomes.most_common())


def _print(plan: Plan, summary: Summary) -> None:
    from transom.bench.plan.budgets import budget_words

    several = len({threads for _, _, threads in summary.tallies}) > 1
    columns = ["solver", "budget", *["threads"] * several, "runs", "ok", "refused", "failed", "solved", "proved"]
    rows = []
    for (name, stop, threads), tally in sorted(summary.tallies.items(), key=_order):
        counts = (tally.runs, tally.outcomes["ok"], tally.outcomes["refused"], tally.failed, tally.solved, tally.proved)
        rows.append(
            [name, budget_words(stop, plan.clock), *[str(threads)] * several, *(f"{count:,}" for count in counts)]
        )
    print_table(plan.name, columns, rows, left=2)


def _order(entry: tuple[tuple[str, Stop, int], Tally]) -> tuple[Any, ...]:
    from transom.bench.plan.budgets import budget_words

    (name, stop, threads), _ = entry
    return name, stop.seconds or 0.0, stop.iterations or 0, budget_words(stop), threads


def _print_failures(summary: Summary) -> None:
    for (name, outcome, cause), count in summary.failures.most_common(_SHOWN):
        print(f"{outcome}: {name}, {count:,} x: {cause}")
    if (more := len(summary.failures) - _SHOWN) > 0:
        print(f"and {more:,} other causes, which the report lists")


def _document(summary: Summary) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "runs": summary.dry_run.runs(),
        "to_do": summary.todo,
        "done": summary.done,
        "seconds": summary.seconds,
        "outcomes": dict(summary.outcomes),
        "solvers": [
            {
                "name": name,
                "budget": asdict(stop),
                "threads": threads,
                "runs": tally.runs,
                "outcomes": dict(tally.outcomes),
                "solved": tally.solved,
                "proved": tally.proved,
            }
            for (name, stop, threads), tally in summary.tallies.items()
        ],
        "failures": [
            {"name": name, "outcome": outcome, "cause": cause, "runs": count}
            for (name, outcome, cause), count in summary.failures.items()
        ],
        "unsuited": [asdict(each) for each in summary.dry_run.contents.unsupported],
    }
