"""How far past their budgets solvers go, measured around the whole call and outside the solver.

    python -m benchmarks.overshoot                          # the suites smoke and tjap at 0.1, 1 and 5 s
    python -m benchmarks.overshoot smoke --seconds 0.1      # one suite, or plans out of files, at other budgets
    python -m benchmarks.overshoot --large                  # knapsacks of 10^5 and 10^6 items at 0.01 to 5 s, CPU time
    python -m benchmarks.overshoot tjap --take 2 --solver sa --solver auto

Prints, for each solver, problem and budget, the median, 99th percentile and worst of (time used - budget), and the
same over everything, against the allowance of 50 ms + 5 % of the budget. Runs that end early count with what they
have, which is negative; cold starts are outside the clock. The exit status is 1 where the 99th percentile over all
runs of a budget is above the allowance, or a run had to be ended. Times are of this
machine at this moment: a machine that is busy otherwise adds its own.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator

import msgspec
import numpy as np

from benchmarks._large_knapsacks import print_table
from transom.bench.plan.plan import read_plan
from transom.bench.plan.task import Row, Task
from transom.bench.plan.tasks import expand_plan
from transom.bench.run.local_engine import LocalEngine


def allowance(seconds: float) -> float:
    """The overshoot that the 99th percentile may have [s]."""
    return 0.05 + 0.05 * seconds


def runs(sources: list[str], seconds: list[float], take: int | None, solvers: list[str]) -> Iterator[Task]:
    """The runs of the plans, replays left out, which have no budget."""
    for source in sources:
        plan = read_plan(source)
        sets = plan.instances
        if take is not None:
            sets = tuple(msgspec.structs.replace(each, take=min(take, each.count)) for each in sets)
        plan = msgspec.structs.replace(plan, seconds=tuple(seconds), budgets=(), traces=(), instances=sets)
        yield from expand_plan(plan, lambda task: not solvers or task.name in solvers)


def table(rows: list[Row]) -> list[float]:
    """Print the distributions for one budget.

    Returns
    -------
    Every overshoot [s].
    """
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.name, row.problem].append(row)
    every: list[float] = []
    for (name, problem), of_group in sorted(groups.items()):
        times = [1000 * row.overshoot for row in of_group if row.overshoot is not None]
        every += [each / 1000 for each in times]
        if not times:
            continue
        worst = max(of_group, key=lambda row: row.overshoot or -np.inf)
        limit = 1000 * allowance(worst.stop.seconds or 0.0)
        mark = " !" if np.percentile(times, 99) > limit else ""
        print(
            f"  {name:<18} {problem:<12} {len(times):>5} {np.median(times):>9.1f} {np.percentile(times, 99):>9.1f} "
            f"{max(times):>9.1f}{mark:<2} {worst.label} ({worst.size})"
        )
    return every


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plans", nargs="*", default=["smoke", "tjap"], metavar="PLAN")
    parser.add_argument("--seconds", type=float, action="append")
    parser.add_argument("--take", type=int, help="instances of each set")
    parser.add_argument("--solver", action="append", default=[])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--large", action="store_true", help="knapsacks of 10^5 and 10^6 items instead of plans")
    options = parser.parse_args()
    if options.large:
        sys.exit(0 if print_table(options.seconds or [0.01, 0.1, 1.0, 5.0], options.solver) else 1)

    budgets = options.seconds or [0.1, 1.0, 5.0]
    rows: dict[float, list[Row]] = {seconds: [] for seconds in budgets}
    for row in LocalEngine(options.workers).run(runs(options.plans, budgets, options.take, options.solver)):
        if row.outcome == "refused":
            continue
        rows[row.stop.seconds or 0.0].append(row)
        if row.outcome != "ok" or (row.overshoot or 0.0) > allowance(row.stop.seconds or 0.0):
            late = "" if row.overshoot is None else f" {1000 * row.overshoot:.0f} ms over {row.stop.seconds:g} s;"
            print(f"{row.name} on {row.set}, {row.label}:{late} {row.outcome} {row.cause or ''}", flush=True)
    good = True
    for seconds, of_budget in rows.items():
        print(f"\nbudget {seconds:g} s: overshoot [ms], allowed at the 99th percentile {1000 * allowance(seconds):.0f}")
        print(f"  {'solver':<18} {'problem':<12} {'runs':>5} {'median':>9} {'99 %':>9} {'worst':>9}   worst on (size)")
        every = table(of_budget)
        if every:
            middle, high, worst = np.percentile(every, (50, 99, 100))
            good &= bool(high <= allowance(seconds))
            late = sum(each > allowance(seconds) for each in every)
            print(
                f"  everything: {len(every)} runs, median {1000 * middle:.1f}, 99th percentile {1000 * high:.1f}, "
                f"worst {1000 * worst:.1f}; {late} beyond the allowance"
            )
        outcomes = Counter(row.outcome for row in of_budget)
        print(f"  outcomes: {', '.join(f'{count} {outcome}' for outcome, count in outcomes.most_common())}")
        good &= outcomes["timeout"] == 0
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
