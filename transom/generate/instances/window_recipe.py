"""The recipe of windows: what a replay met, with running jobs and their expected ends."""

from __future__ import annotations

from collections.abc import Iterator

from transom._system.settings import Positive
from transom.generate.instances.replays import ReplayRecipe
from transom.models import Window
from transom.simulation import Schedule
from transom.simulation.snapshots import snapshots


class WindowRecipe(ReplayRecipe, frozen=True, kw_only=True):
    """Windows just before a decision of a replay, as of ``transom snapshot``; an epoch is one replay.

    Parameters
    ----------
    minimum : windows with fewer waiting jobs are left out.
    """

    minimum: Positive = 1

    def cut(self, schedule: Schedule) -> Iterator[Window]:
        return snapshots(schedule, self.every, self.ordered(), self.minimum)
