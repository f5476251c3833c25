"""What environments show of a decision: the paper's state, or the rows that the compact network sees."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from transom.errors import SpecError
from transom.learned.dras.process.features import CONTEXT, FEATURES, observe
from transom.learned.dras.process.paper_state import LONGEST_TIME, paper_state
from transom.learned.dras.process.process import COUNT, AgentConfig, DecisionState, check_config
from transom.models.arrays import BoolArray
from transom.simulation.core.events import State

Observation = Literal["paper", "compact"]
"""What is shown: the ``paper``'s state (:mod:`~transom.learned.dras.process.paper_state`), or ``compact`` rows."""


class Observer:
    """Spaces and observations of one kind.

    Parameters
    ----------
    kind : what is shown.
    scheme, nodes : how the agent schedules, and the nodes of the machine.

    Raises
    ------
    SpecError : the kind is unknown, or a number of the scheme is out of range.
    """

    def __init__(self, kind: Observation, scheme: AgentConfig, nodes: int) -> None:
        from gymnasium.spaces import Box, Dict, Discrete

        if kind not in ("paper", "compact"):
            raise SpecError(f"unknown observation {kind!r}. Known: paper, compact")
        check_config(scheme)
        self.kind, self.scheme, self.nodes = kind, scheme, nodes
        self.action_space = Discrete(scheme.window)
        self.space: Any
        if kind == "paper":
            most = max(1.0, LONGEST_TIME / scheme.longest)
            self.space = Box(0.0, most, (2 * scheme.window + nodes, 2), np.float32)
        else:
            rows = (scheme.window, len(FEATURES))
            self.space = Dict({"features": Box(-1.0, 1.0, rows), "context": Box(0.0, 1.0, (len(CONTEXT),))})

    def room(self, *rows: int) -> Any:
        """Arrays of zeros for one observation, or for so many."""
        if self.kind == "paper":
            return np.zeros((*rows, *self.space.shape), np.float32)
        return {name: np.zeros((*rows, *box.shape), np.float32) for name, box in self.space.items()}

    def seen(self, state: State, decision_state: DecisionState) -> Any:
        """An observation of the decision at hand, new arrays; without one, of the machine as it is."""
        made = self.room()
        if self.kind == "paper":
            paper_state(state, decision_state, self.scheme, self.nodes, made)
        elif decision_state.at[COUNT]:
            observe(state, decision_state, self.scheme, self.nodes, made["features"], made["context"])
        return made

    def mask(self, decision_state: DecisionState) -> BoolArray:
        """Which actions there are, shape ``(W,)``."""
        allowed: BoolArray = np.arange(self.scheme.window) < decision_state.at[COUNT]
        return allowed
