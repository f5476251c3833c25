"""Data sets: workloads from models and fitted to traces, knapsacks of every kind, allocations and paths."""

from transom.generate.arrivals import ArrivalModel, fit_arrivals
from transom.generate.knapsacks import CLASSES, generate_knapsack, hard_knapsack
from transom.generate.lublin import LublinModel, generate_lublin
from transom.generate.paths import random_path
from transom.generate.tjap import StreamModel, solver_policy, stream_steps
from transom.generate.uniform_sizes import uniform_sizes
from transom.generate.walltimes import USUAL_LIMITS, overestimated
from transom.generate.windows import random_windows, window_knapsacks

__all__ = [
    "CLASSES",
    "USUAL_LIMITS",
    "ArrivalModel",
    "LublinModel",
    "StreamModel",
    "fit_arrivals",
    "generate_knapsack",
    "generate_lublin",
    "hard_knapsack",
    "overestimated",
    "random_path",
    "random_windows",
    "solver_policy",
    "stream_steps",
    "uniform_sizes",
    "window_knapsacks",
]
