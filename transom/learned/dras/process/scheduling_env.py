"""Scheduling as environments of Gymnasium: whole workloads, and single windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import Env

from transom.errors import ModelError, SpecError
from transom.learned.dras.process.episodes import Episode, Episodes
from transom.learned.dras.process.observing import Observation, Observer
from transom.learned.dras.process.process import AHEAD, COUNT, LEVEL, PICKED, TWO, AgentConfig, DecisionState, begin
from transom.learned.dras.process.rewards import WAITING, Reward, RewardState, parse_reward
from transom.learned.dras.process.state_from_window import state_from_window
from transom.learned.dras.process.stepping import act, step, step_to_next_decision, step_within_instant
from transom.models import Window
from transom.models.arrays import BoolArray
from transom.rng import stream
from transom.simulation.core.events import NOW, QUEUED, State
from transom.traces.workload import Workload


class SchedulingEnv(Env):
    """Workloads to schedule, one after another, decision by decision.

    An episode is a workload, a step one selection among two candidates or more
    (:mod:`~transom.learned.dras.process.process`); what else happens until the next one, happens within the step.
    Actions are places among the candidates; :meth:`action_masks` says which there are. One that is forbidden is
    counted on from the first candidate again, so that an agent without masks can act too.

    Parameters
    ----------
    workloads : one episode each, of one machine.
    scheme : how the agent schedules.
    reward : a specification (:func:`~transom.learned.dras.process.rewards.parse_reward`).
    observation : what is seen: ``paper``, float32, shape ``(2 W + N, 2)``, or ``compact``, a dictionary of
        ``features`` ``(W, F)`` and ``context`` ``(G,)``.
    shuffled : whether each round takes the workloads in another random order.

    Raises
    ------
    SpecError : the reward or the observation is unknown.
    ModelError : there is no workload, or they are of different machines.

    References
    ----------
    Fan et al., DRAS, section III-A and III-B.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self,
        workloads: Sequence[Workload],
        scheme: AgentConfig | None = None,
        reward: str = "waiting",
        observation: Observation = "paper",
        shuffled: bool = False,
    ) -> None:
        self.episodes = Episodes(workloads, shuffled)
        self.scheme = scheme or AgentConfig()
        self.reward = parse_reward(reward)
        self._observer = Observer(observation, self.scheme, self.episodes.nodes)
        self.observation = observation
        self.observation_space = self._observer.space
        self.action_space = self._observer.action_space
        self._rng = stream(0, "scheduling env")
        self._episode: Episode | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the next workload, with a seed the first of a new round; what is seen at its first decision.

        Raises
        ------
        ModelError : in none of the workloads there is anything to choose.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._rng = stream(seed, "scheduling env")
            self.episodes.order = []
        for _ in self.episodes.workloads:
            self._episode = self.episodes.next(self.scheme, self.reward, self._rng)
            if self._go_on(self._episode):
                return self._seen(self._episode)
        raise ModelError("scheduling: in none of the workloads there is anything to choose")

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Select a candidate; what is seen, the reward until then, whether all jobs have ended, and ``info``."""
        episode = _begun(self._episode)
        k = int(action) % _candidates(episode.decision_state)
        now = episode.state, episode.decision_state, self.scheme, self.episodes.nodes
        ended = step(*now, episode.runtime, episode.rewards, k) == 0
        reward = float(episode.gathered[0])
        episode.gathered[0] = 0.0
        seen, info = self._seen(episode)
        return seen, reward, ended, False, info

    def action_masks(self) -> BoolArray:
        """Which actions there are, shape ``(W,)``."""
        return self._observer.mask(_begun(self._episode).decision_state)

    def _go_on(self, episode: Episode) -> int:
        now = episode.state, episode.decision_state, self.scheme, self.episodes.nodes
        return int(step_to_next_decision(*now, episode.runtime, episode.rewards))

    def _seen(self, episode: Episode) -> tuple[Any, dict[str, Any]]:
        return self._observer.seen(episode.state, episode.decision_state), facts(episode.state, episode.decision_state)


class WindowEnv(Env):
    """Single instants to decide: an episode is one window, from its first selection to its last.

    Steps, actions and observations are those of :class:`SchedulingEnv`. No time passes, so the reward is one of those
    that are given for a selection.

    Parameters
    ----------
    windows : to decide, in this order; those without anything to choose are left out.
    scheme : how the agent schedules.
    reward : ``capability`` or ``capacity`` with their parameters.
    observation : see :class:`SchedulingEnv`.

    Raises
    ------
    SpecError : the reward or the observation is unknown, or the reward is one for time that passes.
    ModelError : there is nothing to choose in any window, or they are of different machines.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self,
        windows: Sequence[Window],
        scheme: AgentConfig | None = None,
        reward: str = "capability",
        observation: Observation = "paper",
    ) -> None:
        self.scheme = scheme or AgentConfig()
        self.reward: Reward = parse_reward(reward)
        if self.reward.kind == WAITING:
            raise SpecError(
                f"windows: no time passes within one, so reward {reward!r} would be 0; take capability or capacity"
            )
        sizes = {window.cluster.num_nodes for window in windows}
        if len(sizes) > 1:
            raise ModelError(f"windows: windows of one machine are needed, got machines of {sorted(sizes)} nodes")
        self._nodes = max(sizes, default=0)
        self._gathered = np.zeros(1)
        self._rewards = RewardState(self.reward, np.zeros(0), self._gathered)
        self.windows = [window for window in windows if self._opened(window)[2]]
        if not self.windows:
            raise ModelError("windows: in none of them there is anything to choose")
        self._observer = Observer(observation, self.scheme, self._nodes)
        self.observation = observation
        self.observation_space = self._observer.space
        self.action_space = self._observer.action_space
        self._next = 0
        self._at: tuple[State, DecisionState] | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Open the next window, with a seed the first one again."""
        super().reset(seed=seed)
        if seed is not None:
            self._next = 0
        self._gathered[0] = 0.0
        state, decision_state, _ = self._opened(self.windows[self._next])
        self._next = (self._next + 1) % len(self.windows)
        self._at = state, decision_state
        return self._observer.seen(state, decision_state), facts(state, decision_state)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Select a candidate; what is seen, the reward, whether the instant is over, and ``info``."""
        state, decision_state = _begun(self._at)
        k = int(action) % _candidates(decision_state)
        act(state, decision_state, self.scheme, self._nodes, self._rewards, k)
        ended = self._step(state, decision_state) == 0
        reward = float(self._gathered[0])
        self._gathered[0] = 0.0
        return self._observer.seen(state, decision_state), reward, ended, False, facts(state, decision_state)

    def action_masks(self) -> BoolArray:
        """Which actions there are, shape ``(W,)``."""
        return self._observer.mask(_begun(self._at)[1])

    def _opened(self, window: Window) -> tuple[State, DecisionState, int]:
        state, decision_state = state_from_window(window, self.scheme)
        begin(state, decision_state, self.scheme)
        return state, decision_state, self._step(state, decision_state)

    def _step(self, state: State, decision_state: DecisionState) -> int:
        return int(step_within_instant(state, decision_state, self.scheme, self._nodes, self._rewards))


def facts(state: State, decision_state: DecisionState) -> dict[str, Any]:
    """What is said beside an observation: instant [s], waiting jobs, level, jobs selected and backfilled in it."""
    at, place = state.at, decision_state.at
    return {
        "now": int(at[NOW]),
        "waiting": int(at[QUEUED] - place[PICKED]),
        "level": 2 if place[LEVEL] == TWO else 1,
        "started": int(place[PICKED]),
        "backfilled": int(place[AHEAD]),
    }


def _begun(episode: Any) -> Any:
    if episode is None:
        raise SpecError("an environment is reset before its first step")
    return episode


def _candidates(decision_state: DecisionState) -> int:
    count = int(decision_state.at[COUNT])
    if count == 0:
        raise SpecError("the episode has ended; reset the environment")
    return count
