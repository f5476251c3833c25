"""What episodes of one chunk teach: returns, advantages, and steps of the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transom.learned.deepjs.network import Network, forward, gradient, room
from transom.learned.deepjs.pairs import Seen, new_pairs, seen, several_pairs
from transom.learned.deepjs.rollouts import (
    Episodes,
    Log,
    longer_log,
    new_log,
    play_episodes,
    weigh,
)
from transom.learned.deepjs.settings import Training
from transom.models.arrays import FloatArray, IntArray, SingleArray
from transom.simulation.event_rules import Textbook
from transom.simulation.placement.event_rules import arrange
from transom.simulation.placement.state import Arranged, State, new_state
from transom.simulation.placement.stepping import several
from transom.traces.tasks.workload import TaskWorkload

_BATCH = 8192  # rows that go through the network at once
_EPSILON = float(np.finfo(np.float32).eps)  # the code's, below the deviation of advantages


@dataclass(slots=True)
class EpisodeBatch:
    """Episodes of one chunk side by side, again and again."""

    workload: TaskWorkload
    network: Network
    episodes: int
    rows: int = 16  # of the log for a decision, at first

    decisions: int = field(init=False)
    _arranged: Arranged = field(init=False)
    _sight: Seen = field(init=False)
    _states: State = field(init=False)
    _held: Episodes = field(init=False)

    def __post_init__(self) -> None:
        work = self.workload
        self.decisions = int(work.instances.sum())
        self._arranged = arrange(Textbook(), work)
        self._sight = seen(work, self._arranged)
        self._states = several(new_state(self._arranged, work.instances, whole=True), self.episodes)
        pairs = new_pairs(len(work), len(work.machines))
        most = pairs.place.size
        log = new_log(self.rows * self.decisions + most, self.decisions)
        self._held = Episodes(
            several_pairs(pairs, self.episodes),
            log._replace(
                **{name: np.repeat(part[None], self.episodes, axis=0) for name, part in log._asdict().items()}
            ),
            np.empty((self.episodes, self.decisions)),
            np.empty((2, most * self.episodes, 6), np.float32),
            room(self.network, most * self.episodes),
        )

    def play(self, draws: FloatArray) -> IntArray:
        """Replay all episodes with the network as it is; their makespans [s]."""
        self._held = self._held._replace(draws=draws)
        begun = False
        machines: Any = self._arranged.machines
        start = machines, self.workload.instances
        while not play_episodes(self._states, *start, self.network, self._sight, self._held, begun):
            self._held = self._held._replace(log=longer_log(self._held.log))
            begun = True
        at: Any = self._states.at
        return np.array(at["now"])

    def log(self, episode: int) -> Log:
        """What an episode has logged."""
        return Log(*(each[episode] for each in self._held.log))

    def times(self) -> IntArray:
        """When each decision was taken [s], shape ``(episodes, decisions)``."""
        return self._held.log.time


def advantages(times: IntArray, ends: IntArray, normalised: bool) -> FloatArray:
    """By how much the return of each decision is above the mean of all episodes at the same number.

    The sequence of an episode has its decisions and, after those of a second, an entry at which the agent gets -1 and
    time goes on. Episodes that are over count as 0.

    Parameters
    ----------
    times : of decisions [s], shape ``(episodes, decisions)``.
    ends : of the last instance [s], shape ``(episodes,)``.
    normalised : to mean 0 and deviation 1 over all entries.
    """
    episodes, decisions = times.shape
    entry = times + np.arange(decisions)
    length = decisions + ends
    returns = np.zeros((episodes, int(length.max())))
    ticks = np.ones(returns.shape, np.int64)
    np.put_along_axis(ticks, entry, 0, axis=1)
    passed = np.cumsum(ticks, axis=1) - ticks
    there = np.arange(returns.shape[1]) < length[:, None]
    returns[there] = (passed - ends[:, None])[there]
    above = returns - returns.mean(axis=0)
    found = np.take_along_axis(above, entry, axis=1)
    if normalised:
        found = (found - above[there].mean()) / (above[there].std() + _EPSILON)
    return np.asarray(found)


def learn(batch: EpisodeBatch, gains: FloatArray, settings: Training, move: Callable[[SingleArray], None]) -> float:
    """Move the weights, episode by episode; the mean logarithm of the chances of what was chosen.

    ``move`` takes the mean gradient over each batch of decisions, with chances that the network gives by then; under
    the rule of the text, the sum over all decisions of an episode.
    """
    network, likely, count = batch.network, 0.0, 0
    for episode in range(batch.episodes):
        log = batch.log(episode)
        whole = np.zeros_like(network.weights)
        for begin in range(0, batch.decisions, settings.batch):
            end = min(begin + settings.batch, batch.decisions)
            slope = np.zeros_like(network.weights)
            for values, rows, chance in _weighed(network, log, gains[episode], begin, end):
                slope += gradient(network, values, rows)
                likely += chance
            count += int((log.chosen[begin:end] >= 0).sum())
            if settings.update == "code":
                move(slope / np.float32(end - begin))
            whole += slope
        if settings.update == "text":
            move(whole)
    return likely / max(count, 1)


def _weighed(
    network: Network, log: Log, advantages: FloatArray, begin: int, end: int
) -> Iterator[tuple[SingleArray, SingleArray, float]]:
    """Layers and factors of the rows of some decisions, part by part, and what chances add up to."""
    first, last = int(log.first[begin]), int(log.last[end - 1])
    parts = []
    scores = np.empty(last - first, np.float32)
    for low in range(first, last, _BATCH):
        high = min(low + _BATCH, last)
        values = room(network, high - low)
        begin_scores = forward(network, log.inputs[low:high], values, high - low)
        scores[low - first : high - first] = values[begin_scores:]
        parts.append((low - first, high - first, values))
    gained = np.empty_like(scores)
    likely = float(weigh(log, scores, advantages, begin, end, gained))
    for low, high, values in parts:
        yield values, gained[low:high], likely
        likely = 0.0
