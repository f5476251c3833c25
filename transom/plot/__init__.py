"""Figures of schedules, allocations and solvers, readable at print size; matplotlib is loaded when one is drawn."""

from transom.plot.all_figures import figures, save_figures
from transom.plot.annealing import Search, costs_by_steps, gap_by_seconds
from transom.plot.anytime import anytime
from transom.plot.bands import bands
from transom.plot.cluster import allocation_figure
from transom.plot.front import front_figure
from transom.plot.gantt import gantt
from transom.plot.kiviat import kiviat, kiviat_of
from transom.plot.leaders import Leader, leaders
from transom.plot.learning import learning
from transom.plot.parallel import parallel
from transom.plot.periods import hops_and_waits
from transom.plot.resources import decision_times, gain_over_time, knob_sweep, utilisation_kiviat
from transom.plot.solver_curves import (
    Line,
    gap_over_time,
    hypervolume_over_time,
    overshoots,
    performance_profile,
    proofs_over_time,
    targets_reached,
)
from transom.plot.style import encoded, save
from transom.plot.timeline import timeline
from transom.plot.waits import wait_by_mode, wait_by_size
from transom.plot.weekly import weekly

__all__ = [
    "Leader",
    "Line",
    "Search",
    "allocation_figure",
    "anytime",
    "bands",
    "costs_by_steps",
    "decision_times",
    "encoded",
    "figures",
    "front_figure",
    "gain_over_time",
    "gantt",
    "gap_by_seconds",
    "gap_over_time",
    "hops_and_waits",
    "hypervolume_over_time",
    "kiviat",
    "kiviat_of",
    "knob_sweep",
    "leaders",
    "learning",
    "overshoots",
    "parallel",
    "performance_profile",
    "proofs_over_time",
    "save",
    "save_figures",
    "targets_reached",
    "timeline",
    "utilisation_kiviat",
    "wait_by_mode",
    "wait_by_size",
    "weekly",
]
