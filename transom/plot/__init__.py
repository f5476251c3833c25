"""Figures of schedules, readable at print size; matplotlib is loaded when one is drawn."""

from transom.plot.all_figures import figures
from transom.plot.gantt import gantt
from transom.plot.kiviat import kiviat
from transom.plot.style import save
from transom.plot.timeline import timeline
from transom.plot.waits import wait_by_mode, wait_by_size
from transom.plot.weekly import weekly

__all__ = ["figures", "gantt", "kiviat", "save", "timeline", "wait_by_mode", "wait_by_size", "weekly"]
