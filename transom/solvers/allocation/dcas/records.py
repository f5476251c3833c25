"""What the search for structures works on: the window, labels, the structures found, and where it stands."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.solvers.allocation.dcas.bounds import Places
from transom.solvers.allocation.dcas.sets import JobSets

BEGIN_ENTRY, BEGIN_JOB, LAYER, END_ENTRY, FINISHED = range(5)
"""What a search does next: begin an entry, begin an outer job there, place its next node, end the entry."""

MORE, FULL, DONE = range(3)
"""Why a search returns: out of work, out of room for labels, at its end."""


class Switches(NamedTuple):
    """Counts of a label where switches alternate along the sequence, or have more levels; else without entries."""

    leaf: IntArray  # column of the leaf switch of each entry, (entries,)
    pod: IntArray  # column of its pod
    pod_of: IntArray  # column of the pod of each leaf switch, (leaves,)
    upper: IntArray  # column of its switch on each level between pods and core, (levels, entries)
    upper_of: IntArray  # the same of each leaf switch, (levels, leaves)


class Demands(NamedTuple):
    """What jobs ask for beside a number of nodes, by size; without entries where they ask for nothing else.

    Jobs of one size that ask for different things count as different sizes.
    """

    limits: IntArray  # the most leaf switches, (sizes,)
    types: IntArray  # of each entry, (entries,)
    accepts: BoolArray  # whether a job takes nodes of a type, (sizes, types)


class Window(NamedTuple):
    """What does not change in a search."""

    places: Places  # of the entries; switch by switch where switches alternate
    switches: Switches
    sets: JobSets
    demands: Demands
    single: FloatArray  # cost of each size's block from each entry, (sizes, entries)


class Label:
    """A way to place the first nodes of the outer job.

    ``leaf`` and ``pod`` are its nodes in those of the next entry, ``first_leaf`` and ``first_pod`` in those of the
    first entry once they have been left; ``saved`` hops, ``paid`` for the structures jumped; ``parent``, the label
    before, and ``jumped``, the set jumped since; ``next`` of the list of its set, -1 at its end.
    """

    leaf: int
    pod: int
    first_leaf: int
    first_pod: int
    saved: int
    parent: int
    jumped: int
    next: int
    paid: float


class Labels(NamedTuple):
    """Labels of two layers, with so many nodes placed and with one more, in lists by the set jumped."""

    arena: NDArray[Any]  # records of `Label`
    tally: NDArray[np.int32]  # nodes on each leaf switch and in each pod where switches alternate, (labels, switches)
    latest: IntArray  # the last entry in reach of each leaf switch then, -1 if none
    heads: IntArray  # first label of each set, -1 if none, (2, sets)
    sets: IntArray  # those that have labels, (2, sets)
    numbers: IntArray  # how many these are, (2,)


class Table(NamedTuple):
    """Structures and rows of structures side by side, from each entry of the doubled sequence."""

    cost: FloatArray  # the least of a structure of each set, (2 * entries, sets)
    outer: NDArray[np.int16]  # size of its outer job
    row_cost: FloatArray  # the least of a row
    sets: NDArray[np.int32]  # that have structures, (2 * entries, sets)
    numbers: IntArray  # how many these are, (2 * entries,)
    row_sets: NDArray[np.int32]
    row_numbers: IntArray
    following: IntArray  # the next entry at which a row begins, (2 * entries + 1,)


class State:
    """Where a search stands.

    The outer job at entry ``at``, whose size is that at ``outer_size``, has ``placed`` nodes, whose labels are in
    ``layer`` (0 or 1), from the set at ``position`` on still to be extended; ``count`` labels are in the arena,
    ``labels`` were set in all, and at ``stop_at`` it returns. Structures cost at most ``limit`` above their jobs at
    their best. ``circle``: intervals may cross the end now, and ``wrap``: later. Gains are known from pod ``filled`` to
    ``last``. A trace sets the labels of one structure, of set ``wanted``, again: ``found`` is the label and
    ``found_jump`` the last set jumped that reach it at ``least`` cost.
    """

    phase: int
    at: int
    outer_size: int
    placed: int
    layer: int
    position: int
    count: int
    labels: int
    stop_at: int
    limit: float
    circle: bool
    wrap: bool
    last: int
    filled: int
    traced: bool
    wanted: int
    found: int
    found_jump: int
    least: float
