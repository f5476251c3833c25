"""Workloads: jobs with their real runtimes, read from and written to the formats of logs."""

from transom.traces.cut import cut
from transom.traces.estimates import with_estimates
from transom.traces.rules import ReadingRules
from transom.traces.swf import read_swf, write_swf
from transom.traces.workload import TracedJob, Workload

__all__ = ["ReadingRules", "TracedJob", "Workload", "cut", "read_swf", "with_estimates", "write_swf"]
