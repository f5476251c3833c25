"""Random workflows: layers, chains, forks and joins, trees, with runtimes like those of scientific workflows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import FloatArray, IntArray
from transom.models.workflow import Workflow
from transom.registry import unknown

WORKFLOW_FAMILIES = ("layered", "chain", "fork-join", "out-tree", "in-tree")
LAWS = ("lognormal", "weibull", "gamma", "uniform")

_PARENTS = 3  # of a task of a layer, at most
_BRANCHES = 3  # of a task of a tree, at most
_GIB = 2**30


class Runtimes(NamedTuple):
    """The distribution of runtimes: one of :data:`LAWS`, its median [s] and its spread (:func:`drawn_runtimes`)."""

    law: str = "lognormal"
    median: float = 60.0
    spread: float = 1.2


class Shape(NamedTuple):
    """The dependencies, and the program of each task."""

    edges: list[tuple[int, int]]
    programs: IntArray


def layered(rng: np.random.Generator, tasks: int, width: int) -> Shape:
    """Layers of 1 to ``width`` tasks; each waits for one to three tasks of the layer before. A layer is a program."""
    edges: list[tuple[int, int]] = []
    programs = np.zeros(tasks, np.int64)
    before, first, layer = range(0), 0, 0
    while first < tasks:
        here = range(first, min(tasks, first + int(rng.integers(1, width, endpoint=True))))
        programs[here.start : here.stop] = layer
        for task in here:
            number = min(len(before), int(rng.integers(1, _PARENTS, endpoint=True)))
            edges += [(int(parent), task) for parent in rng.choice(before, number, replace=False)] if before else []
        before, first, layer = here, here.stop, layer + 1
    return Shape(edges, programs)


def chain(rng: np.random.Generator, tasks: int, width: int) -> Shape:
    """One task after another, each with its own program."""
    return Shape([(task - 1, task) for task in range(1, tasks)], np.arange(tasks))


def fork_join(rng: np.random.Generator, tasks: int, width: int) -> Shape:
    """A task, then up to ``width`` parallel tasks, then a task that waits for these, and so on."""
    edges: list[tuple[int, int]] = []
    programs = np.zeros(tasks, np.int64)
    join, first, stage = 0, 1, 1
    while first < tasks:
        last = min(first + width, tasks - 1)  # the task that joins; the last one always does
        edges += [(join, task) for task in range(first, last)] or [(join, last)]
        edges += [(task, last) for task in range(first, last)]
        programs[first:last], programs[last] = stage, stage + 1
        join, first, stage = last, last + 1, stage + 2
    return Shape(edges, programs)


def out_tree(rng: np.random.Generator, tasks: int, width: int) -> Shape:
    """Each task has up to three children, as long as there are tasks. A level is a program."""
    edges: list[tuple[int, int]] = []
    programs = np.zeros(tasks, np.int64)
    parent, child = 0, 1
    while child < tasks:
        for _ in range(int(rng.integers(1, _BRANCHES, endpoint=True))):
            if child < tasks:
                edges.append((parent, child))
                programs[child] = programs[parent] + 1
                child += 1
        parent += 1
    return Shape(edges, programs)


def in_tree(rng: np.random.Generator, tasks: int, width: int) -> Shape:
    """An inverted tree: each task joins up to three others, down to a single task."""
    tree = out_tree(rng, tasks, width)
    edges = [(tasks - 1 - child, tasks - 1 - parent) for parent, child in tree.edges]
    return Shape(edges, tree.programs[::-1].max() - tree.programs[::-1])


_SHAPES = {"layered": layered, "chain": chain, "fork-join": fork_join, "out-tree": out_tree, "in-tree": in_tree}


def drawn_runtimes(rng: np.random.Generator, programs: IntArray, runtimes: Runtimes) -> FloatArray:
    """Runtimes [s], rounded to hundredths: programs differ a lot, tasks of one program little.

    The typical runtime of a program follows the law; that of a task deviates from it lognormally, by a fifth. Profiles
    of real workflows look like this: runtimes of different programs differ by orders of magnitude, those of one mostly
    by less than half.

    Parameters
    ----------
    programs : which program each task runs, from 0.
    runtimes : the law: ``lognormal``, ``weibull``, ``gamma`` or ``uniform``; its median, 0 < median < 10**6 s; its
        spread, 0 < spread <= 4: of ``lognormal`` the deviation of the logarithm, of ``weibull`` and ``gamma`` one
        divided by the shape; ``uniform``, from 0 to twice the median, has none.

    Raises
    ------
    SpecError : the law is unknown, or a number out of range.

    References
    ----------
    Juve et al., Characterizing and profiling scientific workflows, Future Generation Computer Systems 29, 2013.
    """
    law, median, spread = runtimes
    if law not in LAWS:
        raise unknown("law of runtimes", law, LAWS)
    if not (0 < median < 1e6 and 0 < spread <= 4):
        raise SpecError(f"workflow: 0 < median < 10**6 s and 0 < spread <= 4 must hold, got {median} and {spread}")
    number = int(programs.max(initial=-1)) + 1
    if law == "lognormal":
        typical = median * rng.lognormal(0.0, spread, number)
    elif law == "weibull":
        typical = median * rng.weibull(1 / spread, number) / np.log(2.0) ** spread
    elif law == "gamma":
        # The median of a gamma law has no closed form; Wilson and Hilferty's is off by some percent.
        typical = median * rng.gamma(1 / spread, spread, number) / max(1e-3, 1 - spread / 9) ** 3
    else:
        typical = rng.uniform(0.0, 2 * median, number)
    return np.clip(np.rint(100 * typical[programs] * rng.lognormal(0.0, 0.2, len(programs))) / 100, 0.01, 1e7)


def random_workflow(
    rng: np.random.Generator,
    family: str,
    tasks: int,
    width: int = 8,
    runtimes: Runtimes = Runtimes(),  # noqa: B008  (frozen data)
    largest: int = 1,
    memory: bool = False,
) -> Workflow:
    """A random workflow.

    Programs of the same number have the same nodes and memory. Walltimes are the runtimes times 1 to 5, in whole
    minutes; the cost of a task is its node hours.

    Parameters
    ----------
    family : one of :data:`WORKFLOW_FAMILIES`.
    tasks : how many, > 0.
    width : largest number of tasks side by side, of ``layered`` and ``fork-join``, > 0.
    runtimes : their law (:func:`drawn_runtimes`).
    largest : most nodes of a task, > 0; more than one are powers of two, each half as likely as the one before.
    memory : whether tasks need memory: a lognormal law around 2 GiB, in bytes.

    Raises
    ------
    SpecError : a condition above does not hold.
    """
    if family not in WORKFLOW_FAMILIES:
        raise unknown("workflow family", family, WORKFLOW_FAMILIES)
    if min(tasks, width, largest) < 1:
        raise SpecError("workflow: tasks, width and largest must be > 0")
    edges, programs = _SHAPES[family](rng, tasks, width)
    number = int(programs.max()) + 1
    seconds = drawn_runtimes(rng, programs, runtimes)
    powers = np.minimum(rng.geometric(0.5, number) - 1, largest.bit_length() - 1)
    nodes = (2**powers)[programs]
    bytes_ = np.clip(rng.lognormal(np.log(2 * _GIB), 1.0, number), 2**20, 64 * _GIB).astype(np.int64)[programs]
    minutes = np.ceil(seconds * rng.uniform(1, 5, tasks) / 60)
    return Workflow(
        name=family,
        tasks=[f"t{task}" for task in range(tasks)],
        runtimes=seconds,
        edges=edges,
        nodes=nodes,
        walltimes=60 * minutes,
        resources=("memory",) if memory else (),
        demands=bytes_[:, None] if memory else [],
        costs=np.round(nodes * seconds / 3600, 6),
        programs=[f"p{program}" for program in programs.tolist()],
    )
