"""``transom bench plan``: how many runs a plan comes to, and how long they take at most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.options import plans as plan_options
from transom.cli.options.engine import Workers
from transom.cli.output.console import note, print_json, print_table

if TYPE_CHECKING:
    from transom.bench.plan.plan import Plan
    from transom.bench.plan.tasks import Share, Survey


def command(
    plan: plan_options.Source = None,
    instances: plan_options.Instances = None,
    solver: plan_options.Solver = None,
    seed: plan_options.Seed = None,
    seconds: plan_options.SecondsOption = None,
    iterations: plan_options.Iterations = None,
    threads: plan_options.Threads = None,
    memory: plan_options.Memory = None,
    grace: plan_options.Grace = None,
    clock: plan_options.ClockOption = None,
    take: plan_options.Take = None,
    problem: plan_options.Problem = None,
    objective: options.Objective = None,
    objectives: options.Objectives = None,
    cost_model: options.CostModel = None,
    wrap: options.Wrap = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="RESULTS", help="Say also what these results hold already.")
    ] = None,
    workers: Workers = None,
    json: options.Json = False,
) -> None:
    """Count the runs of a plan, and say how long they take at most; nothing is run.

    All instances are read, so that whatever is wrong with the plan is told here.
    """
    from transom.bench.plan.tasks import survey
    from transom.cli.options.engine import default_workers

    flags = plan_options.Flags(
        *(instances, solver, seed, seconds, iterations, threads, memory, grace, clock, take),
        *(problem, objective, objectives, cost_model, wrap),
    )
    chosen = plan_options.chosen_plan(plan, flags)
    if out is None:
        surveyed = survey(chosen)
    else:
        from transom.bench.run.running import states
        from transom.bench.store.holdings import Holdings

        surveyed = survey(chosen, states(Holdings(out)))
    workers = workers or default_workers(max(chosen.threads))
    if json:
        print_json(_document(chosen, surveyed, workers))
        return
    _print(chosen, surveyed, workers, out is not None)


def forecast(surveyed: Survey, todo: int, workers: int) -> str:
    """How many runs there are, and how long those that are to be done take at most, as far as time ends them."""
    told = f"{surveyed.runs():,} runs"
    there = {"done": surveyed.runs("done", "outdated"), "failed": surveyed.runs("failed")}
    if any(there.values()):
        told += " (" + ", ".join(f"{count:,} {what} before" for what, count in there.items() if count) + ")"
    told += f", {todo:,} to do"
    timed = sum(share.longest * share.runs() for share in surveyed.shares if share.stop.seconds is not None)
    if timed and todo:
        side = f", {workers} side by side" if workers > 1 else ""
        told += f": budgets of {duration(timed * todo / surveyed.runs() / workers)} in all{side}"
    return told


def duration(seconds: float) -> str:
    """A time that people can take in at a glance."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    days, hours = divmod(hours, 24)
    parts = [f"{days} d"] * (days > 0) + [f"{hours} h"] * (hours > 0) + [f"{minutes} min"] * (minutes > 0)
    return " ".join(parts[:2])


def _document(plan: Plan, surveyed: Survey, workers: int) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "plan": plan.digest(),
        "name": plan.name,
        "instances": surveyed.instances,
        "runs": surveyed.runs(),
        "states": {state: surveyed.runs(state) for state in ("open", "done", "failed", "outdated")},
        "workers": workers,
        "seconds": surveyed.seconds() / workers,
        "seconds_with_grace": surveyed.seconds(grace=plan.grace) / workers,
        "seconds_open": surveyed.seconds("open") / workers,
        "shares": [{**asdict(share), "runs": share.runs()} for share in surveyed.shares],
        "unsuited": [asdict(each) for each in surveyed.unsuited],
    }


def _print(plan: Plan, surveyed: Survey, workers: int, stored: bool) -> None:
    from transom.bench.plan.budgets import budget_words

    together: dict[tuple[str, str, str], list[Share]] = {}
    for share in surveyed.shares:
        together.setdefault((share.set, share.problem, share.name), []).append(share)
    rows = []
    for terms, shares in together.items():
        budgets = "; ".join(dict.fromkeys(budget_words(share.stop, plan.clock) for share in shares))
        longest = sum(share.longest * share.runs() for share in shares)
        row = [*terms, budgets, f"{sum(share.runs() for share in shares):,}", duration(longest)]
        if stored:
            row += [f"{sum(share.runs(*each) for share in shares):,}" for each in (("done", "outdated"), ("failed",))]
        rows.append(row)
    columns = ["set", "problem", "solver", "budgets", "runs", "at most", *["done", "failed"] * stored]
    print_table(plan.name, columns, rows, left=4)
    sets = ", ".join(f"{name} {count:,}" for name, count in surveyed.instances.items())
    print(f"instances: {sets}")
    idle = surveyed.idle()
    for name, reason in idle.items():
        print(f"{name} takes no instance of this plan: {reason}")
    for each in surveyed.unsuited:
        if each.name in idle:
            continue
        print(f"not applicable: {each.name} on {each.instances:,} x {each.problem} of {each.set}: {each.reason}")
    alone, graced = surveyed.seconds(), surveyed.seconds(grace=plan.grace)
    print(
        f"{surveyed.runs():,} runs: at most {duration(alone)} one after another, "
        f"{duration(alone / workers)} with {workers} workers; {duration(graced / workers)} if every run had to be ended"
    )
    if free := sum(share.runs() for share in surveyed.shares if share.stop.seconds is None):
        print(f"{free:,} of them have no budget in time: each counts for {duration(plan.limit)}, when it is ended")
    if stored:
        left = surveyed.runs("open")
        print(f"{left:,} of them are not done yet: at most {duration(surveyed.seconds('open') / workers)}")
    if old := surveyed.runs("outdated"):
        note(f"{old:,} were done by other code or versions; bench run --only outdated does them anew")
