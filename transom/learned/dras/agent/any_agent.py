"""Any agent as a policy: whatever maps the environment's observation to an action."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from numpy.random import Generator

from transom.errors import SpecError, shown
from transom.learned.dras.process.observing import Observation, Observer
from transom.learned.dras.process.process import AgentConfig, DecisionState
from transom.learned.dras.process.state_from_window import decide_one_by_one, decided, decision_of
from transom.models import Window
from transom.models.arrays import BoolArray
from transom.simulation.core.decision import Decision
from transom.simulation.core.events import State


class MaskedAct(Protocol):
    """What an agent with masks is asked: observation and actions that there are, shape ``(W,)``, give an action."""

    def __call__(self, observation: Any, action_masks: BoolArray, /) -> Any: ...


class AgentPolicy:
    """An agent trained in ``transom/Scheduling-v0`` as a policy: it decides in a replay as in the environment.

    Parameters
    ----------
    act : gives the action, a place among the candidates, for an observation; a forbidden one is counted on from the
        first candidate again, as in the environment.
    scheme : how the environment scheduled (``env.unwrapped.scheme``).
    observation : what the environment showed.
    masked : call ``act`` with the actions that there are, too.
    name : what tables call it.
    digest : a text that changes with what the agent has learned, such as a digest of its weights; kept replays and
        rows of the bench depend on it.

    Raises
    ------
    SpecError : ``act`` is no function, or the observation is unknown.

    References
    ----------
    Fan et al., DRAS, section III-A and III-B.
    """

    order = "fcfs"

    def __init__(
        self,
        act: Callable[[Any], Any] | MaskedAct,
        scheme: AgentConfig,
        observation: Observation = "paper",
        masked: bool = False,
        name: str = "agent",
        digest: str = "",
    ) -> None:
        if not callable(act):
            raise SpecError(f"expected a function from observation to action, got {shown(act)}")
        self.name, self.digest, self.scheme = name, digest, scheme
        self._act: Callable[..., Any] = act
        self._kind: Observation = observation
        self._masked = masked
        self._observer = Observer(observation, scheme, 1)
        self._holder = -1

    def reset(self, rng: Generator) -> None:
        """Begin a replay, without a reservation."""
        self._holder = -1

    def decide(self, window: Window, /) -> Decision:
        """Decide one instant: selections, a reservation, and backfilling around it, as the agent says."""
        nodes = window.cluster.num_nodes
        if nodes != self._observer.nodes:
            self._observer = Observer(self._kind, self.scheme, nodes)
        _, decision_state = decide_one_by_one(window, self.scheme, self._holder, self._choose)
        outcome = decided(window.queue.data, decision_state)
        self._holder = outcome[2]
        return decision_of(*outcome)

    def _choose(self, state: State, decision_state: DecisionState, count: int) -> int:
        seen = self._observer.seen(state, decision_state)
        action = self._act(seen, self._observer.mask(decision_state)) if self._masked else self._act(seen)
        return int(action) % count
