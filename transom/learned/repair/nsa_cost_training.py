"""Training of ``nsa-cost``: policy gradients over whole searches."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from transom.errors import DocumentError, SpecError
from transom.learned.checkpoints import require
from transom.learned.repair.candidates import CONTEXT, FEATURES
from transom.learned.repair.nsa_cost import NsaCost
from transom.learned.repair.pool import CLUSTERS, ClusterName, stream_windows
from transom.learned.repair.rollouts import Decisions, collect_rollouts, group_advantages
from transom.learned.repair.training_settings import CostTraining
from transom.learned.scorer import LEAK, ScorerWeights
from transom.learned.training.devices import chosen_device
from transom.learned.training.state import (
    STATE,
    check_settings,
    optimizer_arrays,
    read_state,
    set_optimizer,
    under,
    write_progress,
)
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


class CostTrainer:
    """A training that lives in a folder: ``training.safetensors`` (its state), ``curve.csv`` and ``tensorboard/``.

    Parameters
    ----------
    settings : what is trained, and how.
    folder : where; a training of the same settings that stopped there goes on.
    device : ``cpu``, ``cuda`` or any other of torch; ``auto`` takes ``cuda`` where there is one. Searches run on the
        processor in any case.

    Attributes
    ----------
    curve : the updates so far.

    Raises
    ------
    SpecError : the extra ``learned`` is not installed, or the device is unknown.
    DocumentError : the folder holds a training of other settings, or what is there cannot be read.
    """

    def __init__(self, settings: CostTraining, folder: Path, device: str = "auto") -> None:
        require("training a repair", "torch", "tensorboard")
        import torch
        from torch.utils.tensorboard import SummaryWriter

        self.settings, self.folder = settings, folder
        self.curve: list[CostUpdate] = []
        self._state = folder / STATE
        held = read_state(self._state) if self._state.is_file() else None
        torch.set_num_threads(settings.threads)
        chosen = chosen_device(device)
        self._weights = [torch.tensor(array, device=chosen) for array in first_weights(settings)]
        for weight in self._weights:
            weight.requires_grad_()
        self._optimizer = torch.optim.Adam(self._weights, lr=settings.learning_rate)
        if held is not None:
            self._restore(*held)
        self._windows = training_windows(settings)
        self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=len(self.curve))

    @property
    def done(self) -> bool:
        """Whether all updates are made."""
        return len(self.curve) >= self.settings.updates

    def scorer(self) -> ScorerWeights:
        """The weights, as the kernels take them."""
        return ScorerWeights(*(weight.detach().cpu().numpy().copy() for weight in self._weights))

    def update(self) -> CostUpdate:
        """Search windows and learn from what came of it.

        Raises
        ------
        SpecError : the weights are no longer finite.
        """
        import torch

        began, s = time.perf_counter(), self.settings
        before = self.curve[-1] if self.curve else CostUpdate(0, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
        # A stream of its own for each update: nothing of a generator has to be kept between two of them.
        rng = stream(s.seed, "nsa-cost training", before.updates)
        seen, gain = self._search(rng)
        some = rng.permutation(len(seen.action))[: s.batch]
        losses = self._learn(seen, some, rng)
        if not all(bool(torch.isfinite(weight).all()) for weight in self._weights):
            raise SpecError(
                f"nsa-cost: after update {before.updates + 1} weights are not finite; take a lower learning rate"
            )
        row = CostUpdate(
            before.updates + 1,
            before.decisions + len(seen.action),
            before.seconds + time.perf_counter() - began,
            gain,
            *(float(value) for value in losses),
        )
        self.curve.append(row)
        for name, value in asdict(row).items():
            self._board.add_scalar(f"nsa-cost/{name}", value, row.updates)
        return row

    def save(self) -> None:
        """Write the state and the curve."""
        weights = {
            name: weight.detach().cpu().numpy()
            for name, weight in zip(ScorerWeights._fields, self._weights, strict=True)
        }
        parts = {"weights": weights, "optimizer": optimizer_arrays(self._optimizer)}
        arrays = {f"{part}.{name}": array for part, held in parts.items() for name, array in held.items()}
        write_progress(self.folder, self.settings, self.curve, CostUpdate, arrays)
        self._board.flush()

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

    def _learn(self, seen: Decisions, some: IntArray, rng: np.random.Generator) -> Any:
        """Make the better ones of some decisions likelier; entropy, its share of the largest, norm of the gradient."""
        import torch

        s, device = self.settings, self._weights[0].device
        for group in self._optimizer.param_groups:
            group["lr"] = s.learning_rate * (1 - 0.9 * len(self.curve) / s.updates)
        # A few searches that found what others did not would otherwise decide every update.
        advantage = torch.tensor(np.clip(seen.advantage[some], -5, 5).astype(np.float32), device=device)
        was = torch.tensor(seen.log_chance[some].astype(np.float32), device=device)
        features, context, number, action = (torch.tensor(array[some], device=device) for array in seen[:4])
        losses = []
        for _ in range(s.passes):
            for part in torch.from_numpy(rng.permutation(len(action))).to(device).split(s.minibatch):
                chances = self._log_chances(features[part], context[part], number[part])
                entropy = -(chances.exp() * chances.clamp(min=-100)).sum(1)
                ratio = (chances.gather(1, action[part, None])[:, 0] - was[part]).exp()
                gained = torch.minimum(ratio * advantage[part], ratio.clamp(1 - _CLIP, 1 + _CLIP) * advantage[part])
                self._optimizer.zero_grad()
                (-gained.mean()).backward()
                norm = torch.nn.utils.clip_grad_norm_(self._weights, 0.5)
                self._optimizer.step()
                losses.append([entropy.mean().item(), (entropy / number[part].log()).mean().item(), norm.item()])
        return np.mean(losses, axis=0)

    def _log_chances(self, features: Any, context: Any, number: Any) -> Any:
        """As :func:`transom.learned.scorer.score` and the softmax, for many decisions."""
        import torch
        from torch.nn.functional import leaky_relu

        v, c, b, u, d, w = self._weights
        one = leaky_relu(features @ v + (context @ c + b)[:, None], float(LEAK))
        scores = leaky_relu(one @ u + d, float(LEAK)) @ w
        beyond = torch.arange(features.shape[1], device=features.device) >= number[:, None]
        return torch.log_softmax(scores.masked_fill(beyond, -torch.inf), 1)

    def _restore(self, arrays: dict[str, Any], facts: dict[str, Any]) -> None:
        import torch

        try:
            check_settings(self._state, dict(facts["settings"]), asdict(self.settings), "updates")
            with torch.no_grad():
                for name, weight in zip(ScorerWeights._fields, self._weights, strict=True):
                    weight.copy_(torch.tensor(under("weights.", arrays)[name]))
            set_optimizer(self._optimizer, under("optimizer.", arrays))
            self.curve = [CostUpdate(*row) for row in facts["curve"]]
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise DocumentError(f"{self._state}: does not hold such a training: {str(error).splitlines()[0]}") from None
