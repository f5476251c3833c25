"""What a scheduling window is, and the formal problems it becomes."""

from transom.models.allocation import Allocation
from transom.models.cluster import Cluster
from transom.models.fat_tree import FatTree
from transom.models.hop_cost import AUTHORS, PAPER, HopCost
from transom.models.job import Job, JobTable
from transom.models.joint import Joint
from transom.models.knapsack import Knapsack
from transom.models.objectives import (
    DrasCapability,
    DrasCapacity,
    Objective,
    SitePriority,
    UsedNodes,
    Waited,
    WaitingNodes,
)
from transom.models.pareto_front import ParetoFront
from transom.models.placement import Placement
from transom.models.selection import Selection
from transom.models.shortest_path import ConstrainedPath
from transom.models.switch_tree import tree_of_switches
from transom.models.window import Window
from transom.models.workflow import Workflow

__all__ = [
    "AUTHORS",
    "PAPER",
    "Allocation",
    "Cluster",
    "ConstrainedPath",
    "DrasCapability",
    "DrasCapacity",
    "FatTree",
    "HopCost",
    "Job",
    "JobTable",
    "Joint",
    "Knapsack",
    "Objective",
    "ParetoFront",
    "Placement",
    "Selection",
    "SitePriority",
    "UsedNodes",
    "Waited",
    "WaitingNodes",
    "Window",
    "Workflow",
    "tree_of_switches",
]
