"""Makespans of workflows on machines of several sizes: what the rules give, what is found, and what is proved.

    python -m benchmarks.workflows FILE... --nodes 4 --nodes 16 --nodes 64 --seconds 10

Files are WfFormat, DAX or documents of workflows. Every schedule is checked. ``auto`` gets the seconds of CPU time of
this process; rules get as much and need next to nothing. All values are seconds.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time

from transom import Stop, check, read_workflows, registry, solve
from transom.models import Workflow
from transom.result import Result
from transom.solving import warm_up

RULES = ("heft", "longest-path", "lpt", "shortest-first")


def row(problem: Workflow, seconds: float) -> dict[str, Result]:
    """What each rule and ``auto`` make of a workflow on its machine."""
    found = {}
    for name in (*RULES, "auto"):
        solver = registry.make(registry.SOLVERS, name, Workflow)
        warm_up(solver, Workflow)
        found[name] = solve(problem, solver, Stop(seconds=seconds), clock=process_time)
        if wrong := check(problem, found[name]):
            raise SystemExit(f"{problem.name}: {name}: {wrong[0]}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--nodes", action="append", type=int)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    print(f"| workflow | tasks | nodes | {' | '.join(RULES)} | auto | bound | gap [%] | proved in [s] |")
    print("|---|---:|---:|" + "---:|" * (len(RULES) + 4))
    proved = total = 0
    for path in given.files:
        for flow in read_workflows(path):
            for nodes in given.nodes or (4, 16, 64):
                found = row(flow.on(nodes), given.seconds)
                best = found["auto"]
                values = " | ".join(f"{found[name].value:,.6g}" for name in (*RULES, "auto"))
                took = f"{best.seconds:.2f}" if best.status == "optimal" else "-"
                name = path.name.partition(".")[0].replace("-chameleon", "")
                gap = f"{100 * (best.gap or 0):.2g}"
                print(f"| {name} | {len(flow)} | {nodes} | {values} | {best.bound:,.6g} | {gap} | {took} |", flush=True)
                proved, total = proved + (best.status == "optimal"), total + 1
    print(f"\n{proved} of {total} proved")


if __name__ == "__main__":
    main()
