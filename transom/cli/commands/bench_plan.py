"""``transom bench plan``: how many runs a plan comes to, and how long they take at most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.options import plans as plan_options
from transom.cli.options.engine import Workers
from transom.cli.options.structs import with_structs
from transom.cli.output.console import note, print_json, print_table

if TYPE_CHECKING:
    from transom.bench.plan.plan import Plan
    from transom.bench.plan.tasks import DryRun, RunGroup


@with_structs
def command(
    plan: plan_options.Source = None,
    *,
    flags: plan_options.Flags,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="RESULTS", help="Also count the runs that these results hold already."),
    ] = None,
    make: Annotated[
        bool, typer.Option("--make", help="Generate the instances of recipes too, and ask each solver about each.")
    ] = False,
    workers: Workers = None,
    json: options.Json = False,
) -> None:
    """Count the runs of a plan and their longest total time, without running them.

    All files are read and all recipes checked, so that errors in the plan are reported here. With --out or --make the
    instances of recipes are generated as well, as bench run does.
    """
    from transom.bench.plan.contents import read_contents
    from transom.bench.plan.tasks import dry_run
    from transom.cli.options.engine import default_workers

    chosen = plan_options.chosen_plan(plan, flags)
    if out is None:
        planned = dry_run(chosen, contents=read_contents(chosen, make))
    else:
        from transom.bench.run.running import states
        from transom.bench.store.index import ResultIndex

        planned = dry_run(chosen, states(ResultIndex(out)))
    workers = workers or default_workers(max(chosen.threads))
    if json:
        print_json(_document(chosen, planned, workers))
        return
    _print(chosen, planned, workers, out is not None)


def forecast(planned: DryRun, todo: int, workers: int) -> str:
    """How many runs there are, and how long those that are to be done take at most, as far as time ends them."""
    text = f"{planned.runs():,} runs"
    there = {"done": planned.runs("done", "outdated"), "failed": planned.runs("failed")}
    if any(there.values()):
        text += " (" + ", ".join(f"{count:,} {what} before" for what, count in there.items() if count) + ")"
    text += f", {todo:,} to do"
    timed = sum(group.longest * group.runs() for group in planned.groups if group.stop.seconds is not None)
    if timed and todo:
        side = f", {workers} side by side" if workers > 1 else ""
        text += f": budgets of {duration(timed * todo / planned.runs() / workers)} in all{side}"
    return text


def duration(seconds: float) -> str:
    """A time that people can take in at a glance."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    days, hours = divmod(hours, 24)
    parts = [f"{days} d"] * (days > 0) + [f"{hours} h"] * (hours > 0) + [f"{minutes} min"] * (minutes > 0)
    return " ".join(parts[:2])


def _document(plan: Plan, planned: DryRun, workers: int) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "plan": plan.digest(),
        "name": plan.name,
        "instances": planned.contents.instances,
        "unmade": planned.contents.unmade,
        "runs": planned.runs(),
        "states": {state: planned.runs(state) for state in ("open", "done", "failed", "outdated")},
        "workers": workers,
        "seconds": planned.seconds() / workers,
        "seconds_with_grace": planned.seconds(grace=plan.grace) / workers,
        "seconds_open": planned.seconds("open") / workers,
        "shares": [{**asdict(group), "runs": group.runs()} for group in planned.groups],
        "unsuited": [asdict(each) for each in planned.contents.unsupported],
    }


def _print(plan: Plan, planned: DryRun, workers: int, stored: bool) -> None:
    from transom.bench.plan.budgets import budget_words

    together: dict[tuple[str, str, str], list[RunGroup]] = {}
    for group in planned.groups:
        together.setdefault((group.set, group.problem, group.name), []).append(group)
    rows = []
    for terms, groups in together.items():
        budgets = "; ".join(dict.fromkeys(budget_words(group.stop, plan.clock) for group in groups))
        longest = sum(group.longest * group.runs() for group in groups)
        row = [*terms, budgets, f"{sum(group.runs() for group in groups):,}", duration(longest)]
        if stored:
            row += [f"{sum(group.runs(*each) for group in groups):,}" for each in (("done", "outdated"), ("failed",))]
        rows.append(row)
    columns = ["set", "problem", "solver", "budgets", "runs", "at most", *["done", "failed"] * stored]
    print_table(plan.name, columns, rows, left=4)
    sets = ", ".join(f"{name} {count:,}" for name, count in planned.contents.instances.items())
    print(f"instances: {sets}")
    if unmade := planned.contents.unmade:
        note(f"{unmade:,} of them are not generated yet: --make does so, and asks each solver about each")
    idle = planned.idle()
    for name, reason in idle.items():
        print(f"{name} takes no instance of this plan: {reason}")
    for each in planned.contents.unsupported:
        if each.name in idle:
            continue
        print(f"not applicable: {each.name} on {each.instances:,} x {each.problem} of {each.set}: {each.reason}")
    alone, graced = planned.seconds(), planned.seconds(grace=plan.grace)
    print(
        f"{planned.runs():,} runs: at most {duration(alone)} one after another, "
        f"{duration(alone / workers)} with {workers} workers; {duration(graced / workers)} if every run had to be ended"
    )
    if free := sum(group.runs() for group in planned.groups if group.stop.seconds is None):
        print(f"{free:,} of them have no budget in time: each counts for {duration(plan.limit)}, when it is ended")
    if stored:
        left = planned.runs("open")
        print(f"{left:,} of them are not done yet: at most {duration(planned.seconds('open') / workers)}")
    if old := planned.runs("outdated"):
        note(f"{old:,} were done by other code or versions; bench run --only outdated does them anew")
