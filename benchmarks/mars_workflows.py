"""MARS on streams of workflows of three sizes, and on real workflows beside HEFT and proved bounds.

    python -m benchmarks.mars_workflows --out DIR [--real WORKFLOW...]

Streams are those of ``transom generate workflow --family all --largest 4``, 9,000 tasks in workflows of 10, 30 or 100,
submitted as densely as keeps 90 % of 16 nodes busy. ``transom train mars`` sees the first 70 % of the workflows,
without combining; the others are replayed on an empty machine, as they are and with ``--combine``. ``mars-learned``
is the network alone.

Real workflows are replayed under MARS of the middle size, which has not seen them: each alone, beside HEFT and the
bound that ``auto`` proves, and all as one stream. Their runtimes are whole seconds, as a replay counts them, also for
HEFT and the bound. All policies backfill (EASY).
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.mars import SHARE, print_row, trained
from transom import Stop, check, read_workflows, registry, simulate, solve
from transom.generate.recipes import recipe
from transom.io import write_documents
from transom.models import Workflow
from transom.models.arrays import FloatArray
from transom.reductions.joining import joined
from transom.result import Result
from transom.rng import stream
from transom.simulation.output.verification import check_schedule
from transom.simulation.runs import stand
from transom.simulation.workflows.combination import combined_stream
from transom.simulation.workflows.figures import critical_paths, workflow_summary
from transom.simulation.workflows.stream import WorkflowStream, drawn_arrivals, stream_of
from transom.solving import warm_up

MARS = ("mars", "mars-learned")
HEURISTICS = {name: f"{name}-easy" for name in ("sjf", "f1", "wfp3", "unicep")}
LOAD = 0.9
NODES = 16
LARGEST = 4  # nodes of a task


def made(size: int, tasks: int, seed: int) -> list[Workflow]:
    """Workflows of so many tasks each, submitted in a Poisson process."""
    given = {"family": "all", "tasks": size, "largest": LARGEST}
    count = tasks // size
    work = np.mean([(flow.nodes * flow.runtimes).sum() for flow in recipe("workflow", given).make(seed, count)])
    return list(recipe("workflow", {**given, "gap": float(round(work / (LOAD * NODES)))}).make(seed, count))


def replayed(flows: WorkflowStream, policy: str, combined: bool = False) -> dict[str, float]:
    """Figures of the tasks and workflows of a stream."""
    combination = combined_stream(flows) if combined else None
    replays = flows if combination is None else combination.replayed
    schedule = simulate(replays.workload, policy)
    schedule = schedule if combination is None else combination.expanded(schedule)
    stand(check_schedule(flows.workload, schedule))
    return workflow_summary(flows, schedule)


def print_streams(streams: Mapping[str, WorkflowStream], policies: Mapping[str, Mapping[str, str]]) -> None:
    """A row for each policy, as it is and with combined tasks."""
    what = {"mean_stretch": "stretch", "mean_bounded_slowdown": "slowdown"}
    print_row("policy", [f"{name}: {column}" for name in streams for column in what.values()])
    print("|---|" + "---:|" * (len(what) * len(streams)))
    for combined in (False, True):
        for policy in (*HEURISTICS, *MARS):
            found = [replayed(flows, policies[name][policy], combined) for name, flows in streams.items()]
            cells = [f"{each[column]:,.2f}" for each in found for column in what]
            print_row(f"`{policy}`" + (", combined" if combined else ""), cells)


def solved(problem: Workflow, solver: str, seconds: float) -> Result:
    """What a solver finds in so much CPU time, checked."""
    maker = registry.make(registry.SOLVERS, solver, Workflow)
    warm_up(maker, Workflow)
    found = solve(problem, maker, Stop(seconds=seconds), clock=process_time)
    if wrong := check(problem, found):
        raise SystemExit(f"{problem.name}: {solver}: {wrong[0]}")
    return found


def in_seconds(flow: Workflow) -> Workflow:
    """A workflow with the whole seconds of a replay, on no machine."""
    whole = {name: np.maximum(np.ceil(getattr(flow, name)), 1) for name in ("runtimes", "walltimes")}
    return replace(flow, **whole, submit=0, machine=None)


def arrived(flows: Sequence[Workflow], gap: float, seed: int) -> list[Workflow]:
    """Workflows as ``transom simulate WORKFLOWS... --gap GAP --seed SEED`` submits them."""
    return drawn_arrivals(flows, gap, stream(seed, "workflows", "gaps"))


def print_alone(
    flows: Sequence[tuple[str, Workflow]], nodes: Sequence[int], policies: Mapping[str, str], seconds: float
) -> None:
    """Makespans of workflows that have the machine for themselves, above the proved bound."""
    print_row("workflow", ["nodes", "bound [s]", *(f"{name} [%]" for name in ("heft", *policies))])
    print("|---|" + "---:|" * (3 + len(policies)))
    above: list[list[float]] = []
    for name, flow in flows:
        for each in nodes:
            best, heft = (solved(flow.on(each), solver, seconds) for solver in ("auto", "heft"))
            assert best.bound
            assert heft.value
            bound, spans = best.bound, [heft.value]
            spans += [replayed(stream_of([flow], each), spec)["makespan"] for spec in policies.values()]
            above.append([100 * (span / bound - 1) for span in spans])
            print_row(name, [f"{each}", f"{bound:,.0f}", *(f"{value:.2f}" for value in above[-1])])
    print_row("mean", ["", "", *(f"{value:.2f}" for value in np.mean(above, axis=0))])


def print_together(flows: Sequence[Workflow], nodes: int, policies: Mapping[str, str], seconds: float) -> None:
    """The same workflows in one stream, beside HEFT of all tasks together and the bounds."""
    print_row("policy", ["makespan [s]", "mean makespan of a workflow [s]", "mean stretch"])
    print("|---|---:|---:|---:|")
    together = stream_of(flows, nodes)
    paths, whole = critical_paths(together), joined(flows).on(nodes)

    def row(name: str, makespan: float, spans: FloatArray) -> None:
        print_row(name, [f"{makespan:,.0f}", f"{spans.mean():,.0f}", f"{(spans / paths).mean():.2f}"])

    alone = np.array([solved(flow.on(nodes), "auto", seconds).bound for flow in flows], np.float64)
    best, heft = (solved(whole, solver, seconds) for solver in ("auto", "heft"))
    assert best.bound
    assert heft.value
    assert heft.solution is not None
    row("proved bound", best.bound, alone)
    ends = whole.submit + heft.solution / whole.ticks + whole.runtimes
    spans = np.maximum.reduceat(ends, together.first[:-1]) - [flow.submit for flow in flows]
    row("`heft`", heft.value, spans)
    for name, spec in policies.items():
        found = replayed(together, spec)
        cells = [found["makespan"], found["mean_makespan"]]
        print_row(f"`{name}`", [*(f"{cell:,.0f}" for cell in cells), f"{found['mean_stretch']:.2f}"])


def main(arguments: list[str] | None = None) -> None:
    """Train on each stream, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for streams and trainings, which go on there")
    parser.add_argument("--real", nargs="+", type=Path, default=[], help="files of workflows")
    parser.add_argument("--sizes", default="10,30,100", help="tasks of a workflow")
    parser.add_argument("--tasks", type=int, default=9000, help="of a stream")
    parser.add_argument("--gap", type=float, default=600.0, help="of real workflows [s]")
    parser.add_argument("--nodes", default="4,16", help="of the machines for each real workflow")
    parser.add_argument("--seconds", type=float, default=2.0, help="CPU time of auto for each bound")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--train", default="--updates 20 --relative-to sjf", help="more options of transom train mars")
    asked = parser.parse_args(arguments)
    sizes = [int(each) for each in asked.sizes.split(",")]
    streams: dict[str, WorkflowStream] = {}
    policies: dict[str, dict[str, str]] = {}
    for size in sizes:
        flows = made(size, asked.tasks, asked.seed)
        cut, name = round(SHARE * len(flows)), f"{size} tasks"
        source = asked.out / f"workflows-of-{size}.jsonl"
        asked.out.mkdir(parents=True, exist_ok=True)
        write_documents(source, flows[:cut])
        options = ["--nodes", str(NODES), "--first", str(asked.tasks), "--seed", str(asked.seed), *asked.train.split()]
        path = trained([str(source)], asked.out / f"mars-{size}", options)
        streams[name] = stream_of(flows[cut:], NODES)
        policies[name] = HEURISTICS | {maker: f"{maker}:model=[{path}]" for maker in MARS}
    print_streams(streams, policies)
    if not asked.real:
        return
    real = [
        (path.name.partition(".")[0].replace("-chameleon", ""), in_seconds(flow))
        for path in asked.real
        for flow in read_workflows(path)
    ]
    middle = policies[f"{sizes[len(sizes) // 2]} tasks"]
    print()
    print_alone(real, [int(each) for each in asked.nodes.split(",")], middle, asked.seconds)
    print()
    print_together(arrived([flow for _, flow in real], asked.gap, asked.seed), NODES, middle, asked.seconds)


if __name__ == "__main__":
    main()
