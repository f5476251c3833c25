"""Data sets: workloads of models and like traces, further resources, knapsacks, allocations, paths, selections."""

from transom.generate.demands.resources import (
    Provision,
    Resource,
    offered_load,
    parse_resources,
    provide,
    with_resources,
)
from transom.generate.instances.fragmented import uniform_sizes
from transom.generate.instances.knapsacks import CLASSES, generate_knapsack, hard_knapsack
from transom.generate.instances.paths import random_path
from transom.generate.instances.selections import FAMILIES, Marked, family_selection, replayed_selections
from transom.generate.instances.tjap import StreamModel, solver_policy, stream_steps
from transom.generate.instances.windows import random_windows, window_knapsacks
from transom.generate.workload.arrivals import ArrivalModel, fit_arrivals
from transom.generate.workload.jobsets import PHASES, by_months, jobsets, real_weeks, sampled, synthetic
from transom.generate.workload.lublin import LublinModel, generate_lublin
from transom.traces.walltimes import USUAL_LIMITS, overestimated

__all__ = [
    "CLASSES",
    "FAMILIES",
    "PHASES",
    "USUAL_LIMITS",
    "ArrivalModel",
    "LublinModel",
    "Provision",
    "Resource",
    "StreamModel",
    "by_months",
    "Marked",
    "family_selection",
    "fit_arrivals",
    "generate_knapsack",
    "generate_lublin",
    "hard_knapsack",
    "jobsets",
    "offered_load",
    "overestimated",
    "parse_resources",
    "provide",
    "random_path",
    "random_windows",
    "real_weeks",
    "replayed_selections",
    "sampled",
    "solver_policy",
    "stream_steps",
    "synthetic",
    "uniform_sizes",
    "window_knapsacks",
    "with_resources",
]
