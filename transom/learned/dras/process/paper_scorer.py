"""The networks of Table III without torch: their sizes, and inference that uses what their input looks like.

A network takes rows of two numbers: two per job (size and estimate, priority and queued time) and one per node
(available, time until it is). A filter shared by all rows makes one number of each; two dense layers without bias
and an output layer with one follow. DRAS-PG takes the W jobs of the window at once and has an output for each, DRAS-DQL
takes one job at a time and has one output.

Nodes that run one job have equal rows, and so have idle ones. Where such nodes stand side by side, their share of the
first layer is one number times the sum of their rows of weights, and with the running sums of those rows the
4,360 nodes of Theta cost as much as there are jobs on it. What is left is the second dense layer.

References
----------
Fan et al. (2021), section III-B and Table III.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom.errors import DocumentError
from transom.learned.checkpoints import Weights
from transom.learned.scorer import LEAK

SCHEMA = "dras-paper/1"
"""Name and version of these observations."""

Floats = NDArray[np.float32]

Agent = Literal["pg", "dql"]


class PaperShape(NamedTuple):
    """Sizes of a network of Table III.

    Parameters
    ----------
    agent : ``pg`` or ``dql``.
    nodes : of the machine, N.
    window : jobs in the window, W.
    first, second : units of the dense layers.
    """

    agent: Agent
    nodes: int
    window: int = 50
    first: int = 4000
    second: int = 1000

    @property
    def name(self) -> str:
        """What checkpoints call the architecture."""
        return f"paper-{self.agent}"

    @property
    def jobs(self) -> int:
        """How many jobs the network takes at once."""
        return self.window if self.agent == "pg" else 1

    @property
    def inputs(self) -> int:
        """Rows of the input."""
        return 2 * self.jobs + self.nodes

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of the weights by name; dense layers map from the first axis to the second."""
        return {
            "filter": (2,),
            "filter_bias": (1,),
            "first": (self.inputs, self.first),
            "second": (self.first, self.second),
            "out": (self.second, self.jobs),
            "out_bias": (self.jobs,),
        }

    @property
    def parameters(self) -> int:
        """How many numbers are trained."""
        return sum(int(np.prod(shape, dtype=np.int64)) for shape in self.shapes().values())


class PaperScorer:
    """Scores of candidates by a network of Table III: logits of DRAS-PG, values of DRAS-DQL.

    Parameters
    ----------
    shape : sizes of the network.
    weights : by the names of :meth:`PaperShape.shapes`.

    Raises
    ------
    DocumentError : the weights have other names or shapes.
    """

    def __init__(self, shape: PaperShape, weights: Weights) -> None:
        found = {name: array.shape for name, array in weights.items()}
        if found != shape.shapes():
            raise DocumentError(f"these are not the weights of {shape.name} for {shape.nodes} nodes: {found}")
        self.shape = shape
        self._filter, self._filter_bias = weights["filter"], weights["filter_bias"]
        self._jobs = weights["first"][: 2 * shape.jobs]
        # Summed in double precision: a difference of two sums is then about as exact as a sum of products.
        self._sums = np.zeros((shape.nodes + 1, shape.first), np.float32)
        self._sums[1:] = np.cumsum(weights["first"][2 * shape.jobs :], axis=0, dtype=np.float64)
        self._second, self._out, self._out_bias = weights["second"], weights["out"], weights["out_bias"]

    def scores(self, features: Floats, context: Floats, count: int) -> Floats:
        """The scores of the first ``count`` candidates.

        Parameters
        ----------
        features : float32, shape ``(W, 4)``: size, estimate, priority and queued time of the jobs.
        context : float32, shape ``(2 N,)``: of each node whether it is available and the time until it is.
        count : candidates, 1 to W.
        """
        jobs = np.zeros((self.shape.jobs if self.shape.agent == "pg" else count, 4), np.float32)
        jobs[:count] = features[:count]
        rows: Floats = jobs.reshape(len(jobs), 2, 2) @ self._filter + self._filter_bias
        if self.shape.agent == "pg":
            rows = rows.reshape(1, -1)
        one: Floats = rows @ self._jobs + self._of_nodes(context.reshape(-1, 2))
        two: Floats = _rectified(one) @ self._second
        made: Floats = _rectified(two) @ self._out + self._out_bias
        return made.reshape(-1)[:count]

    def _of_nodes(self, nodes: Floats) -> Floats:
        """Share of the nodes in the first dense layer, before it is rectified."""
        ends = np.append(np.flatnonzero((nodes[1:] != nodes[:-1]).any(axis=1)) + 1, len(nodes))
        sums = self._sums[ends]
        sums[1:] -= self._sums[ends[:-1]]
        shares: Floats = (nodes[ends - 1] @ self._filter + self._filter_bias) @ sums
        return shares


def _rectified(values: Floats) -> Floats:
    rectified: Floats = np.maximum(values, values * LEAK)
    return rectified
