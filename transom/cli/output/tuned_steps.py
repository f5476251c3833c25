"""What ``transom tune --walk-forward`` prints."""

from __future__ import annotations

from collections.abc import Sequence

from transom._system.durations import minute
from transom.cli.output.console import print_json, print_table, remarked
from transom.cli.output.schedule_tables import print_answer
from transom.traces import Workload
from transom.tune.figures import Figures
from transom.tune.objectives import DEFAULT, Objective
from transom.tune.tuning import Terms
from transom.tune.walk import AGAIN, BEST, ONCE, Step, documented, over_all, summed_up


def print_steps(workload: Workload, steps: Sequence[Step], terms: Terms, json: bool) -> None:
    """Print what each step came to by the first objective, and all of them together."""
    found, first = over_all(steps), terms.objectives[0]
    if json:
        all_steps = {"jobs": sum(step.jobs for step in steps), "figures": documented(found)}
        print_json({"steps": [step.document() for step in steps], "all": all_steps})
        return
    print_answer([summed_up(steps, terms)])
    chosen = (terms.today, AGAIN, ONCE, BEST)
    rows = [
        [str(k), minute(step.begin, workload.origin.epoch), f"{step.jobs:,}"]
        + [_cell(first, step.figures[each]) for each in chosen]
        + [step.policy]
        for k, step in enumerate(steps, 1)
    ]
    title = remarked(f"{workload.name}: {first.words} of each step", workload)
    print_table(title, ["step", "from", "jobs", *chosen, "tuned again: policy"], rows)
    columns = dict.fromkeys([*terms.objectives, *DEFAULT])
    rules = sorted(found.keys() - set(chosen), key=lambda each: first.value(found[each]))
    rows = [[each, *(_cell(column, found[each]) for column in columns)] for each in (*chosen, *rules)]
    print_table("all steps", ["policy", *(column.words for column in columns)], rows)


def _cell(objective: Objective, of: Figures | None) -> str:
    return "-" if of is None else objective.text(of)[0]
