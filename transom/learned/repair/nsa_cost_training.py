"""Training of ``nsa-cost``: policy gradients over whole searches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from transom.learned.checkpoints import require
from transom.learned.repair.candidates import CONTEXT, FEATURES
from transom.learned.repair.nsa_cost import NsaCost
from transom.learned.repair.pool import CLUSTERS, ClusterName, stream_windows
from transom.learned.repair.rollouts import Decisions, collect_rollouts, group_advantages
from transom.learned.repair.training_settings import CostTraining
from transom.learned.scorer import LEAK, ScorerWeights
from transom.learned.training.devices import chosen_device
from transom.learned.training.state import Arrays, network_arrays, set_network
from transom.learned.training.trainer import Trainer
from transom.models.allocation import Allocation
from transom.models.arrays import IntArray
from transom.rng import stream

_CLIP = 0.2  # of the ratio of chances after and before (eq. 8)
_STEEP = 0.5  # of the first policy, which draws starts by exp(-0.5 * cost with the next job / temperature)
_TOTAL = 15  # the feature that says that cost


@dataclass(frozen=True, slots=True)
class CostUpdate:
    """What one update saw and did: a row of the learning curve.

    Parameters
    ----------
    updates, decisions : so far; decisions are those of the searches.
    seconds : of the training so far [s].
    gain : by how much searches improved the first fit, as a share of it, on average; windows differ.
    entropy : of the policy, mean over decisions.
    share : entropy as a share of that of the uniform choice.
    gradient : its norm before it was cut to at most 0.5.
    """

    updates: int
    decisions: int
    seconds: float
    gain: float
    entropy: float
    share: float
    gradient: float


def first_weights(settings: CostTraining) -> ScorerWeights:
    """The weights before the first update: by cost alone, the dearer together with the next job, the less likely.

    The first unit of each layer carries that cost above the least, in temperatures; the others are drawn, and count
    for little at first.
    """
    rng = stream(settings.seed, "nsa-cost weights")
    first, second = settings.hidden
    inputs = len(FEATURES) + len(CONTEXT)

    def drawn(*shape: int, units: int) -> Any:
        return (rng.normal(size=shape) / units**0.5).astype(np.float32)

    made = ScorerWeights(
        drawn(len(FEATURES), first, units=inputs),
        drawn(len(CONTEXT), first, units=inputs),
        np.zeros(first, np.float32),
        drawn(first, second, units=first),
        np.zeros(second, np.float32),
        drawn(second, units=second) * np.float32(0.05),
    )
    for array in (made.features, made.context, made.hidden):
        array[:, 0] = 0
    made.features[_TOTAL, 0] = made.hidden[0, 0] = 1
    made.out[0] = -2.5 * _STEEP  # it comes divided by 2.5
    return made


def training_windows(settings: CostTraining) -> dict[ClusterName, list[Allocation]]:
    """The windows of two jobs or more that streams meet, cluster by cluster, under the dynamic rule."""
    return dynamic_windows(settings.seed, "repair training", settings.streams)


def dynamic_windows(seed: int, name: str, streams: int) -> dict[ClusterName, list[Allocation]]:
    """Windows of two jobs or more of the streams of a name; of a single job the cheapest start is the best."""
    return {
        cluster: [
            problem.with_rule("dynamic")
            for problem in stream_windows(model, cost, seed, name, streams)
            if len(problem) > 1
        ]
        for cluster, (model, cost) in CLUSTERS.items()
    }


class CostTrainer(Trainer):
    """A training of the cost-aware repair.

    Parameters
    ----------
    settings : what is trained, and how.
    folder : see :class:`~transom.learned.training.trainer.Trainer`.
    device : ``cpu``, ``cuda`` or any other of torch; ``auto`` takes ``cuda`` where there is one. Searches run on the
        processor in any case.

    Raises
    ------
    SpecError : the extra ``learned`` is not installed, or the device is unknown.
    DocumentError : the folder holds a training of other settings, or what is there cannot be read.
    """

    columns, board = CostUpdate, "nsa-cost"

    def __init__(self, settings: CostTraining, folder: Path, device: str = "auto") -> None:
        require("training a repair", "torch", "tensorboard")
        import torch

        super().__init__(settings, folder)
        torch.set_num_threads(settings.threads)
        self._network = torch.nn.ParameterDict(
            {name: torch.from_numpy(array) for name, array in first_weights(settings)._asdict().items()}
        ).to(chosen_device(device))
        self._optimizer = torch.optim.Adam(self._network.parameters(), lr=settings.learning_rate)
        self.resume()
        self._windows = training_windows(settings)

    def scorer(self) -> ScorerWeights:
        """The weights, as the kernels take them."""
        return ScorerWeights(*(self._network[name].detach().cpu().numpy().copy() for name in ScorerWeights._fields))

    def step(self) -> tuple[Decisions, float, dict[str, float]]:
        """Search windows and learn from what came of it."""
        rng = stream(self.settings.seed, "nsa-cost training", self.updates)
        seen, gain = self._search(rng)
        some = rng.permutation(len(seen.action))[: self.settings.batch]
        return seen, gain, self._learn(seen, some, rng)

    def row(self, seen: tuple[Decisions, float, dict[str, float]]) -> CostUpdate:
        """What the update saw."""
        decided, gain, figures = seen
        decisions = (self.curve[-1].decisions if self.curve else 0) + len(decided.action)
        shown = (figures[name] for name in ("entropy", "share", "gradient"))
        return CostUpdate(self.updates, decisions, 0.0, gain, *shown)

    def arrays(self) -> Arrays:
        """Weights and moments."""
        return network_arrays(self._network, self._optimizer)

    def load(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Take over a state."""
        set_network(self._network, self._optimizer, arrays)

    def _search(self, rng: np.random.Generator) -> tuple[Decisions, float]:
        s = self.settings
        search, scorer = NsaCost(steps=s.search_steps, heat=1.0), self.scorer()
        windows = [self._windows[get_args(ClusterName)[number % 2]] for number in range(s.windows)]
        chosen = [some[int(rng.integers(len(some)))] for some in windows]
        groups = [collect_rollouts(problem, scorer, search, s.candidates, s.runs, rng) for problem in chosen]
        values = np.array([[log.values for log in logs] for logs in groups])
        values /= values[:, :, :1, :1]  # windows differ in cost
        goodness = group_advantages(values, s.discount).reshape(-1, s.search_steps)
        logs = [log for group in groups for log in group]
        return Decisions(
            np.concatenate([log.features for log in logs]),
            np.concatenate([log.context for log in logs]),
            np.concatenate([log.number for log in logs]),
            np.concatenate([log.action for log in logs]),
            np.concatenate([log.log_chance for log in logs]),
            np.concatenate([row[log.step] for row, log in zip(goodness, logs, strict=True)]),
        ), float(1 - values[:, :, -1, 2].mean())

    def _learn(self, seen: Decisions, some: IntArray, rng: np.random.Generator) -> dict[str, float]:
        """Make the better ones of some decisions likelier; figures of :func:`~transom.learned.training.ppo.improve`."""
        import torch

        from transom.learned.training.ppo import Recorded, Weights, improve

        s, device = self.settings, self._network["out"].device
        self._optimizer.param_groups[0]["lr"] = s.learning_rate * (1 - 0.9 * self.share())

        def tensor(array: Any) -> Any:
            return torch.tensor(array[some], device=device)

        features, context, number, action = map(tensor, seen[:4])
        was, advantage = tensor(seen.log_chance).float(), tensor(seen.advantage).float()
        # A few searches that found what others did not would otherwise decide every update.
        recorded = Recorded(action, was, advantage.clamp(-5, 5))
        weights = Weights(_CLIP, s.passes, s.minibatch, largest_gradient=0.5)

        def forward(part: Any) -> tuple[Any, None]:
            return self._log_chances(features[part], context[part], number[part]), None

        return improve(self._optimizer, forward, recorded, weights, rng)

    def _log_chances(self, features: Any, context: Any, number: Any) -> Any:
        """As :func:`transom.learned.scorer.score` and the softmax, for many decisions."""
        import torch
        from torch.nn.functional import leaky_relu

        v, c, b, u, d, w = (self._network[name] for name in ScorerWeights._fields)
        one = leaky_relu(features @ v + (context @ c + b)[:, None], float(LEAK))
        scores = leaky_relu(one @ u + d, float(LEAK)) @ w
        beyond = torch.arange(features.shape[1], device=features.device) >= number[:, None]
        return torch.log_softmax(scores.masked_fill(beyond, -torch.inf), 1)
