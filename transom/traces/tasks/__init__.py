"""Workloads of tasks on machines: jobs of tasks of identical instances, read from the files of data centres."""

from transom.traces.tasks.machines import Machines, parse_machines
from transom.traces.tasks.reading import read_tasks
from transom.traces.tasks.workload import TaskWorkload

__all__ = ["Machines", "TaskWorkload", "parse_machines", "read_tasks"]
