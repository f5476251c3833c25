"""Data sets: workloads from models and fitted to traces, and knapsacks of every kind."""

from transom.generate.arrivals import ArrivalModel, fit_arrivals
from transom.generate.knapsacks import CLASSES, generate_knapsack, hard_knapsack
from transom.generate.lublin import LublinModel, generate_lublin
from transom.generate.walltimes import USUAL_LIMITS, overestimated
from transom.generate.windows import random_windows, window_knapsacks

__all__ = [
    "CLASSES",
    "USUAL_LIMITS",
    "ArrivalModel",
    "LublinModel",
    "fit_arrivals",
    "generate_knapsack",
    "generate_lublin",
    "hard_knapsack",
    "overestimated",
    "random_windows",
    "window_knapsacks",
]
