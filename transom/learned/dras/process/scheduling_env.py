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


class _DecisionEnv(Env):
    """What both environments have in common: spaces, masks, and steps; ``_gathered`` are rewards since the last one."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, scheme: AgentConfig, observation: Observation, nodes: int) -> None:
        self.scheme, self.observation, self._nodes = scheme, observation, nodes
        self._observer = Observer(observation, scheme, nodes)
        self.observation_space, self.action_space = self._observer.space, self._observer.action_space
        self._at: tuple[State, DecisionState] | None = None
        self._gathered = np.zeros(1)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Select a candidate; what is seen, the reward until then, whether the episode is over, and ``info``."""
        state, decision_state = self._begun()
        count = int(decision_state.at[COUNT])
        if count == 0:
            raise SpecError("the episode has ended; reset the environment")
        ended = self._select(state, decision_state, int(action) % count) == 0
        reward = float(self._gathered[0])
        self._gathered[0] = 0.0
        seen, info = self._seen()
        return seen, reward, ended, False, info

    def action_masks(self) -> BoolArray:
        """Which actions there are, shape ``(W,)``."""
        return self._observer.mask(self._begun()[1])

    def _select(self, state: State, decision_state: DecisionState, k: int) -> int:
        """Take a candidate and go on to the next decision; how many candidates that has, 0 at the end."""
        raise NotImplementedError

    def _begun(self) -> tuple[State, DecisionState]:
        if self._at is None:
            raise SpecError("an environment is reset before its first step")
        return self._at

    def _seen(self) -> tuple[Any, dict[str, Any]]:
        now = self._begun()
        return self._observer.seen(*now), facts(*now)


class SchedulingEnv(_DecisionEnv):
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

    def __init__(
        self,
        workloads: Sequence[Workload],
        scheme: AgentConfig | None = None,
        reward: str = "waiting",
        observation: Observation = "paper",
        shuffled: bool = False,
    ) -> None:
        self.episodes = Episodes(workloads, shuffled)
        self.reward = parse_reward(reward)
        super().__init__(scheme or AgentConfig(), observation, self.episodes.nodes)
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
            self._episode = episode = self.episodes.next(self.scheme, self.reward, self._rng)
            self._at, self._gathered = (episode.state, episode.decision_state), episode.gathered
            now = *self._at, self.scheme, self._nodes
            if step_to_next_decision(*now, episode.runtime, episode.rewards):
                return self._seen()
        raise ModelError("scheduling: in none of the workloads there is anything to choose")

    def _select(self, state: State, decision_state: DecisionState, k: int) -> int:
        assert self._episode is not None
        runtime, rewards = self._episode.runtime, self._episode.rewards
        return int(step(state, decision_state, self.scheme, self._nodes, runtime, rewards, k))


class WindowEnv(_DecisionEnv):
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

    def __init__(
        self,
        windows: Sequence[Window],
        scheme: AgentConfig | None = None,
        reward: str = "capability",
        observation: Observation = "paper",
    ) -> None:
        self.reward: Reward = parse_reward(reward)
        if self.reward.kind == WAITING:
            raise SpecError(
                f"windows: no time passes within one, so reward {reward!r} would be 0; take capability or capacity"
            )
        sizes = {window.cluster.num_nodes for window in windows}
        if len(sizes) > 1:
            raise ModelError(f"windows: windows of one machine are needed, got machines of {sorted(sizes)} nodes")
        super().__init__(scheme or AgentConfig(), observation, max(sizes, default=0))
        self._rewards = RewardState(self.reward, np.zeros(0), self._gathered)
        self.windows = [window for window in windows if self._opened(window)]
        if not self.windows:
            raise ModelError("windows: in none of them there is anything to choose")
        self._next = 0
        self._at = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Open the next window, with a seed the first one again."""
        super().reset(seed=seed)
        if seed is not None:
            self._next = 0
        self._opened(self.windows[self._next])
        self._next = (self._next + 1) % len(self.windows)
        return self._seen()

    def _opened(self, window: Window) -> int:
        """Go to the first decision of a window; how many candidates it has, 0 if there is none."""
        self._at = state, decision_state = state_from_window(window, self.scheme)
        self._gathered[0] = 0.0
        begin(state, decision_state, self.scheme)
        return int(step_within_instant(state, decision_state, self.scheme, self._nodes, self._rewards))

    def _select(self, state: State, decision_state: DecisionState, k: int) -> int:
        act(state, decision_state, self.scheme, self._nodes, self._rewards, k)
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
