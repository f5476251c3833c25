"""Figures of one window: the cluster before and under each rule, and cost against seconds per solver.

    python -m benchmarks.allocation_figures WINDOWS.jsonl.gz --line 17 --out out/figures
    python -m benchmarks.allocation_figures WINDOWS.jsonl.gz --busiest --cost-model authors

Any file that `transom solve` takes as allocations will do. `--line` counts its instances from 1; `--busiest` takes
the one with the most jobs, of those the one whose jobs ask for the largest share of the idle nodes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from transom import solve
from transom.cli.output.console import number
from transom.errors import TransomError
from transom.io.instances import ReadOptions, read_instances
from transom.models import Allocation
from transom.plot import allocation_figure, anytime, save
from transom.result import Result
from transom.stop import Stop

RULES = {"SCAS": "static", "DCAS": "dynamic", "free": "free"}
SOLVERS = ("sequential", "sa:steps=2000", "scas-dp", "scas-lagrangian", "scas-cpsat", "scas-scip")
"""What is drawn against seconds, all under the static rule."""


def main() -> None:
    """Read the command line, solve, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--line", type=int, default=1)
    chosen.add_argument("--busiest", action="store_true")
    parser.add_argument("--cost-model", help="of windows that do not state one; the paper's by default")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each solver")
    parser.add_argument("--solvers", nargs="+", default=SOLVERS)
    parser.add_argument("--out", type=Path, default=Path("out/figures"), help="folder")
    parser.add_argument("--format", choices=("png", "pdf", "svg"), default="png")
    arguments = parser.parse_args()
    try:
        draw(arguments)
    except TransomError as error:
        parser.error(str(error))


def draw(arguments: argparse.Namespace) -> None:
    """Solve the window under every rule and by every solver, and draw both figures."""
    reading = ReadOptions("scas", cost_model=arguments.cost_model)
    problems = [problem for _, problem in read_instances([arguments.file], reading)]
    line = arguments.line
    if arguments.busiest:
        loads = [(len(problem), problem.sizes.sum() / max(len(problem.idle), 1)) for problem in problems]
        line = 1 + max(range(len(problems)), key=loads.__getitem__)
    if not 1 <= line <= len(problems):
        raise TransomError(f"--line must be from 1 to {len(problems)}, got {line}")
    window = problems[line - 1]
    title = f"{arguments.file.name}, {line}: {_jobs(len(window))}, {window.sizes.sum()} nodes"
    stop = Stop(seconds=arguments.seconds)
    owners = {}
    for name, rule in RULES.items():
        result = _told(name, solve(window.with_rule(rule), "auto", stop))
        if result.solution is not None:
            owners[name] = result.solution
    results = {spec: _told(spec, _solved(window, spec, stop)) for spec in arguments.solvers}
    for name, figure in (
        ("cluster", allocation_figure(window, owners, title)),
        ("anytime", anytime(results, f"{title}, static")),
    ):
        print(f"figure: {save(figure, arguments.out / f'{name}_{line}.{arguments.format}')}")


def _solved(window: Allocation, spec: str, stop: Stop) -> Result:
    return solve(window.with_rule("static"), spec, stop)


def _told(name: str, result: Result) -> Result:
    value = "-" if result.value is None else number(float(result.value), 1)
    print(f"{name:<24}{value:>14}  {result.status:<10}{result.seconds:>9.4f} s")
    return result


def _jobs(count: int) -> str:
    return f"{count} jobs" if count != 1 else "1 job"


if __name__ == "__main__":
    main()
