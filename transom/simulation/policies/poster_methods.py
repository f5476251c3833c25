"""The methods of the MultiSched poster: the selection policy with their solvers, rules and windows."""

from __future__ import annotations

from dataclasses import dataclass, field

from transom.simulation.policies.selection import SelectionPolicy

KNOB = 0.2
"""The knob of MultiSched where nothing else is stated."""


@dataclass(slots=True)
class _ByKnob(SelectionPolicy):
    """A policy whose window is chosen by the knob of MultiSched where neither knob nor size is stated."""

    def __post_init__(self) -> None:
        if self.k is None and self.size is None:
            self.k = KNOB
        SelectionPolicy.__post_init__(self)


@dataclass(slots=True)
class MultiSched(_ByKnob):
    """MultiSched of the poster: jobs that do not fit alone are pruned, few are searched exhaustively, others by a GA.

    Parameters
    ----------
    k : the knob; 0.2 where neither it nor ``size`` is stated.
    ga : ``nsga2``, ``bbsched`` for the genetic algorithm of the authors' code, or the specification of any solver.
    exhaustive : with fewer jobs than this left, they are searched exhaustively; 10 as in the poster.
    rule : the published one by default.
    size, order, objectives, seconds, iterations, bound, backfill : as in :class:`SelectionPolicy`.

    References
    ----------
    Fan, Lan, MultiSched, sections 2.1 and 2.2.
    """

    solver: str = field(init=False)
    ga: str = "nsga2"
    exhaustive: int = 10

    def __post_init__(self) -> None:
        self.solver = f"multisched:ga=[{self.ga}],exhaustive={self.exhaustive}"
        _ByKnob.__post_init__(self)


@dataclass(slots=True)
class BBSched(SelectionPolicy):
    """BBSched: its genetic algorithm over a static window, neither pruned nor searched exhaustively.

    Parameters
    ----------
    size : 20 as published, where neither it nor ``k`` is stated.
    rule : that of its paper by default; ``trade-off`` to compare with ``multisched`` by the fronts alone.
    k, order, objectives, seconds, iterations, bound, backfill : as in :class:`SelectionPolicy`.

    References
    ----------
    Fan et al., Scheduling beyond CPUs for HPC, HPDC 2019.
    """

    solver: str = field(init=False, default="bbsched-ga:prune=no")
    rule: str = "2x"


@dataclass(slots=True)
class Weighted(_ByKnob):
    """Weighted of the poster: the largest weighted sum of utilisations, proved.

    Parameters
    ----------
    weights : one for each objective with a slash between, equal by default.
    k, size : of the window; k = 0.2 where neither is stated.
    order, objectives, seconds, iterations, bound, backfill : as in :class:`SelectionPolicy`.

    References
    ----------
    Fan, Lan, MultiSched, section 3.
    """

    solver: str = field(init=False)
    rule: str = field(init=False, default="trade-off")
    weights: str = ""

    def __post_init__(self) -> None:
        self.solver = f"weighted:weights={self.weights}" if self.weights else "weighted"
        _ByKnob.__post_init__(self)


@dataclass(slots=True)
class Constrained(_ByKnob):
    """Constrained of the poster: the most of one objective within what is free of everything, proved.

    Parameters
    ----------
    objective : the CPU utilisation, here that of the nodes, in the poster.
    k, size : of the window; k = 0.2 where neither is stated.
    order, objectives, seconds, iterations, bound, backfill : as in :class:`SelectionPolicy`.

    References
    ----------
    Fan, Lan, MultiSched, section 3.
    """

    solver: str = field(init=False)
    rule: str = field(init=False, default="trade-off")
    objective: str = "nodes"

    def __post_init__(self) -> None:
        self.solver = f"constrained:objective={self.objective}"
        _ByKnob.__post_init__(self)


@dataclass(slots=True)
class DotProduct(_ByKnob):
    """Bin packing of the poster: again and again the job whose request has the largest dot product with what is free.

    Parameters
    ----------
    k, size : of the window; k = 0.2 where neither is stated.
    order, objectives, bound, backfill : as in :class:`SelectionPolicy`.

    References
    ----------
    Fan, Lan, MultiSched, section 3.
    """

    solver: str = field(init=False, default="dot-product")
    rule: str = field(init=False, default="trade-off")
    seconds: float | None = field(init=False, default=1.0)
    iterations: int | None = field(init=False, default=None)
