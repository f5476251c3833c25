"""Draw the figures of the documentation.

Run in the root of the repository: make figures, or python docs/figures/draw.py [NAME ...]

What the pictures show is computed by Transom: windows are decided by its policies, fronts and allocations proved by its
solvers, waits replayed from the trace in `instances/`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for examples/

from examples.own_policy import ShortestAged
from transom import (
    Cluster,
    FatTree,
    Job,
    JobTable,
    Stop,
    Window,
    read_allocations,
    read_selections,
    read_swf,
    simulate,
    solve,
)
from transom.models.decision_rules import Knee
from transom.plot import allocation_figure, anytime, save, timeline, wait_by_size
from transom.plot.style import new_figure, styled
from transom.simulation import make_policy

HERE = Path(__file__).parent
TRACE = "instances/workloads/lublin_5000.swf.gz"
HOUR = 3600
BLUE, RED, GREEN, GREY, PALE = "#0072B2", "#D55E00", "#009E73", "#BBBBBB", "#EEEEEE"
RIVALS = (
    "fcfs",
    "fcfs-easy",
    "fcfs-conservative",
    "sjf-easy",
    "saf-easy",
    "wfp3-easy",
    "unicep-easy",
    "f1-easy",
    "f4-easy",
)


def small_window() -> Window:
    """Sixteen nodes, two running jobs and four that wait: the example of the page on concepts."""
    running = [Job(8, -4 * HOUR, 6, 7 * HOUR), Job(9, -2 * HOUR, 4, 7 * HOUR)]
    queue = [Job(1, -4 * HOUR, 10, 4 * HOUR), Job(2, -3 * HOUR, 4, 2 * HOUR)]
    queue += [Job(3, -2 * HOUR, 4, 5 * HOUR), Job(4, -1 * HOUR, 2, 6 * HOUR)]
    return Window(
        now=0,
        cluster=Cluster(16),
        queue=JobTable.of(queue),
        running=JobTable.of(running),
        running_end=[3 * HOUR, 5 * HOUR],
        available=[6],
    )


def block(axes: Any, start: float, end: float, low: float, nodes: float, text: str, **style: Any) -> None:
    """A job: a rectangle of hours times nodes."""
    style = {"facecolor": GREY, "edgecolor": "white", "linewidth": 1.5, **style}
    axes.add_patch(Rectangle((start, low), end - start, nodes, **style))
    axes.text((max(start, 0) + end) / 2, low + nodes / 2, text, ha="center", va="center")  # right of the present


def nodes_over_time(axes: Any, until: float) -> None:
    axes.set(xlim=(-3, until), ylim=(0, 16), xlabel="time from now [h]", ylabel="nodes", yticks=range(0, 17, 4))
    axes.axvline(0, color="black", linewidth=1)
    axes.text(0.08, 16.2, "now", ha="left", va="bottom")


@styled
def window() -> Figure:
    """What a scheduler sees at one instant."""
    seen = small_window()
    figure = new_figure(2.6)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    nodes_over_time(left, 7)
    low = 0
    for job, end in zip(seen.running, seen.running_end / HOUR, strict=True):
        block(left, -3, end, low, job.nodes, f"running: {job.nodes} nodes,\nends within {end:.0f} h")
        low += job.nodes
    block(left, 0, 7, low, seen.free_nodes, f"{seen.free_nodes} free nodes", facecolor=PALE)
    right.set(xlim=(0, 7), ylim=(0, 25), xlabel="requested walltime [h]", yticks=[])
    right.spines["left"].set_visible(False)
    right.set_title("queue, first job on top", loc="left")
    low = 25.0
    for job in seen.queue:
        low -= job.nodes + 1
        hours = job.walltime / HOUR
        block(right, 0, hours, low, job.nodes, "", facecolor=BLUE, alpha=0.35)
        right.text(0.15, low + job.nodes / 2, f"job {job.id}: {job.nodes} nodes, {hours:.0f} h", va="center")
    return figure


@styled
def easy() -> Figure:
    """The same window under FCFS with EASY backfilling."""
    seen = small_window()
    decision = make_policy("fcfs-easy").decide(seen)
    reserved = decision.reserve[0]
    shadow = reserved.start / HOUR
    assert (decision.start, decision.backfill, reserved.job) == ((), (2, 4), 1)
    figure = new_figure(2.9)
    axes = figure.subplots()
    nodes_over_time(axes, 8)
    block(axes, -3, 3, 0, 6, "running")
    block(axes, -3, 5, 6, 4, "running")
    block(axes, 0, 2, 10, 4, "job 2: ends\nbefore then", facecolor=GREEN, alpha=0.6)
    block(axes, 0, 6, 14, 2, "job 4: fits into the 2 extra nodes", facecolor=GREEN, alpha=0.6)
    for low, nodes in ((0, 6), (10, 4)):
        block(
            axes, shadow, shadow + 4, low, nodes, "reserved for job 1", facecolor="white", edgecolor=BLUE, hatch="///"
        )
        axes.texts[-1].set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.5})
    axes.axvline(shadow, color=RED, linestyle="--", linewidth=1.2)
    axes.text(shadow + 0.08, 16.2, "shadow time", color=RED, va="bottom")
    return figure


@styled
def fat_tree() -> Figure:
    """A fat tree of 4-port switches, and three pairs of nodes."""
    tree = FatTree.k_ary(4)
    figure = new_figure(2.7)
    axes = figure.subplots()
    axes.set(xlim=(-2.9, 15.6), ylim=(-1.15, 3.35))
    axes.axis("off")
    at = np.arange(tree.num_nodes, dtype=float)
    leaves = np.array([at[tree.leaf == leaf].mean() for leaf in range(tree.num_leaves)])
    of_pod = [tree.pod[tree.leaf == leaf][0] for leaf in range(tree.num_leaves)]
    cores = np.linspace(3, 12, 4)
    wire = {"color": GREY, "linewidth": 0.7, "zorder": 1}
    for node in range(tree.num_nodes):
        axes.plot([at[node], leaves[tree.leaf[node]]], [0, 1], **wire)
    for leaf, x in enumerate(leaves):
        for other, y in enumerate(leaves):
            if of_pod[leaf] == of_pod[other]:  # the upper switches of a pod stand above its leaf switches
                axes.plot([x, y], [1, 2], **wire)
    for upper, x in enumerate(leaves):
        for core in (0, 1) if upper % 2 == 0 else (2, 3):
            axes.plot([x, cores[core]], [2, 3], **wire)
    for row, xs, colour in ((0, at, PALE), (1, leaves, BLUE), (2, leaves, "#56B4E9"), (3, cores, "#333333")):
        axes.scatter(
            xs, np.full(len(xs), row), s=60, marker="o" if row == 0 else "s", color=colour, zorder=2, edgecolor="black"
        )
    for y, name in enumerate(("nodes", "leaf switches", "pod switches", "core switches")):
        axes.text(-2.9, y, name, va="center")
    for a, b, words, colour in (
        (0, 1, "same leaf", GREEN),
        (4, 6, "same pod", RED),
        (9, 14, "through the core", "#CC79A7"),
    ):
        hops = 2 * (tree.level(a, b) + 1)
        bend = FancyArrowPatch(
            (a, -0.18),
            (b, -0.18),
            connectionstyle=f"arc3,rad={1.1 / (b - a) ** 0.7}",
            arrowstyle="-",
            color=colour,
            linewidth=1.5,
        )
        axes.add_patch(bend)
        axes.text((a + b) / 2, -0.95, f"{words}: {hops} links", ha="center", va="center", color=colour)
    return figure


@styled
def front() -> Figure:
    """The Pareto front of a window with two resources, among choices of jobs at random."""
    problem = list(read_selections("instances/selection/pairs.jsonl.gz"))[4]
    result = solve(problem, "pareto-dp", Stop(seconds=10))
    assert result.status == "optimal"
    best, totals = result.solution.values, np.asarray(problem.totals)
    rng, others = np.random.default_rng(1), []
    for _ in range(1500):
        left, values = np.array(problem.capacity), np.zeros(2)
        for job in rng.permutation(len(problem)):
            if (problem.demands[job] <= left).all():
                left = left - problem.demands[job]
                values += problem.demands[job]
        others.append(values)
    figure = new_figure(3.2)
    axes = figure.subplots()
    axes.scatter(*(100 * np.array(others) / totals).T, s=5, color=GREY, label="jobs taken at random until none fits")
    axes.step(*(100 * best / totals)[np.argsort(best[:, 0])].T, where="pre", color=BLUE, linewidth=0.8)
    axes.scatter(
        *(100 * best / totals).T, s=18, color=BLUE, zorder=3, label=f"Pareto front: {len(best)} points, proved"
    )
    knee = best[Knee()(result.solution, problem)]
    axes.scatter(
        *(100 * knee / totals), s=90, facecolor="none", edgecolor=RED, linewidth=1.5, zorder=4, label="the knee"
    )
    axes.set(xlabel="use of the first resource [%]", ylabel="use of the second resource [%]")
    axes.set(xlim=(60, 101), ylim=(50, 101))
    axes.legend(loc="lower left", frameon=True, framealpha=0.9)
    return figure


def operator_waits() -> Figure:
    """Waits by size under three policies."""
    trace = read_swf(TRACE)
    return wait_by_size([simulate(trace, policy) for policy in ("fcfs-easy", "fcfs-conservative", "saf-easy")])


def operator_timeline() -> Figure:
    """Load and queue over time under the same policies."""
    trace = read_swf(TRACE)
    return timeline([simulate(trace, policy) for policy in ("fcfs-easy", "fcfs-conservative", "saf-easy")])


@styled
def student() -> Figure:
    """The policy of the tutorial against others: mean and longest wait."""
    trace = read_swf(TRACE)
    figure = new_figure(3.2)
    axes = figure.subplots()
    for policy in (*RIVALS[1:], ShortestAged()):
        schedule = simulate(trace, policy)
        mine = not isinstance(policy, str)
        x, y = schedule.wait.mean() / HOUR, schedule.wait.max() / HOUR
        axes.scatter(x, y, s=45 if mine else 25, color=RED if mine else BLUE, marker="*" if mine else "o", zorder=3)
        axes.annotate(schedule.policy, (x, y), (5, 3), textcoords="offset points", color=RED if mine else "black")
    axes.set(yscale="log", xlabel="mean wait [h]", ylabel="longest wait [h]")
    axes.set_yticks((100, 200, 500, 1000), ("100", "200", "500", "1,000"))
    axes.minorticks_off()
    axes.margins(x=0.22)
    axes.grid(True)
    return figure


def window_anytime() -> Figure:
    """Solvers of one dynamic allocation against time."""
    problem = list(read_allocations("instances/tjap/fragmented_2000.jsonl.gz"))[2]
    problem = problem.with_rule("dynamic")
    solvers = ("dcas-exact", "dp-polish", "sa:repair=cheapest,restarts=yes", "best-fit")
    results = {solver: solve(problem, solver, Stop(seconds=1), seed=1) for solver in solvers}
    return anytime(results, "12 jobs on 600 idle nodes of 2,000", sense="min")


def window_nodes() -> Figure:
    """Where the jobs of one window go, under the static and under the dynamic rule."""
    problem = list(read_allocations("instances/tjap/code_stream.jsonl.gz"))[39]
    solved = {
        "static": solve(problem, "scas-dp").solution,
        "dynamic": solve(problem.with_rule("dynamic"), "dcas-exact").solution,
        "any nodes": solve(problem.with_rule("free"), "free-exact").solution,
    }
    return allocation_figure(problem, solved, title="Five jobs on 138 idle nodes", before=False, every_pod=False)


FIGURES: tuple[Callable[[], Figure], ...] = (
    window,
    easy,
    fat_tree,
    front,
    operator_waits,
    operator_timeline,
    student,
    window_anytime,
    window_nodes,
)

if __name__ == "__main__":
    for draw in FIGURES:
        if not sys.argv[1:] or draw.__name__ in sys.argv[1:]:
            path = save(draw(), HERE / f"{draw.__name__}.png")
            print(f"{path.name}: {path.stat().st_size // 1000} kB")
