"""What a scheduling window is, and the formal problems it becomes."""

from transom.models.cluster import Cluster
from transom.models.job import Job, JobTable
from transom.models.knapsack import Knapsack
from transom.models.objectives import DrasCapability, DrasCapacity, Objective, UsedNodes, WaitingNodes
from transom.models.window import Window

__all__ = [
    "Cluster",
    "DrasCapability",
    "DrasCapacity",
    "Job",
    "JobTable",
    "Knapsack",
    "Objective",
    "UsedNodes",
    "WaitingNodes",
    "Window",
]
