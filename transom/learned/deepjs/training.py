"""Training of DeepJS, chunk after chunk, in a folder from which it resumes."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from transom.errors import DocumentError, SpecError
from transom.learned.deepjs.learning import Adam, EpisodeBatch, advantages, learn
from transom.learned.deepjs.network import Network
from transom.learned.deepjs.policy import NetworkPolicy, check_resources, untrained
from transom.learned.deepjs.settings import Training
from transom.learned.training.state import STATE, Arrays, check_settings, read_state, write_progress
from transom.models.arrays import FloatArray
from transom.rng import stream
from transom.simulation.placement.bounds import makespan_bound
from transom.simulation.placement.replay import simulate_tasks
from transom.traces.tasks.workload import TaskWorkload


@dataclass(frozen=True, slots=True)
class Step:
    """What a step saw and did: a row of the learning curve.

    Parameters
    ----------
    step : from 1.
    seconds : of the training so far [s].
    chunk : its number, from 0.
    makespan : of the episodes, before anything is learnt from them [s], mean.
    different : makespans among the episodes; if there is one only, nothing is learnt.
    likely : chance of what was chosen, where there was a choice, as a geometric mean.
    drawn, highest : where networks were compared, how far makespans of all chunks lie above their bounds in the mean
        [%], with pairs drawn and with the highest score; else None.
    """

    step: int
    seconds: float
    chunk: int
    makespan: float
    different: int
    likely: float
    drawn: float | None = None
    highest: float | None = None


class Trainer:
    """A training that lives in a folder: ``training.safetensors`` (its state) and ``curve.csv``.

    Parameters
    ----------
    settings : how it is trained.
    workload : what it is trained on, and nothing else, with CPU and memory.
    folder : where; a training of the same settings and workload that stopped there goes on.

    Attributes
    ----------
    chunks : the workload, cut.
    curve : the steps so far.
    network, best, greedy : the network, the best one so far, and whether that is better with the highest score than
        drawing.

    Raises
    ------
    SpecError : the resources are not CPU and memory.
    DocumentError : the folder holds a training of other settings or another workload, or what is there cannot be read.
    """

    def __init__(self, settings: Training, workload: TaskWorkload, folder: Path) -> None:
        check_resources(workload)
        self.settings, self.workload, self.folder = settings, workload, folder
        self.chunks = list(workload.chunks(settings.chunks))
        self.curve: list[Step] = []
        self.network = untrained(settings.network, settings.seed)
        self.best, self.greedy = self.network, False
        self._above = np.inf
        zeros = np.zeros(len(self.network.weights))
        self._adam = Adam(settings.learning_rate, zeros, zeros.copy())
        self._bounds: FloatArray | None = None
        self._batch: EpisodeBatch | None = None
        self._state = folder / STATE
        if self._state.is_file():
            self._restore(*read_state(self._state))

    @property
    def done(self) -> bool:
        """Whether no step is left."""
        return len(self.curve) >= len(self.chunks) * self.settings.steps

    @property
    def seconds(self) -> float:
        """Time spent so far, over all starts of the command [s]."""
        return self.curve[-1].seconds if self.curve else 0.0

    @property
    def decisions(self) -> int:
        """Instances that were placed in all episodes so far."""
        placed = sum(int(self.chunks[row.chunk].instances.sum()) for row in self.curve)
        return self.settings.episodes * placed

    def update(self) -> Step:
        """Make a step: episodes of a chunk, and what they teach.

        Raises
        ------
        SpecError : the weights are no longer finite.
        """
        began, settings = time.perf_counter(), self.settings
        number, step = divmod(len(self.curve), settings.steps)
        if self._batch is None or self._batch.workload is not self.chunks[number]:
            self._batch = EpisodeBatch(self.chunks[number], self.network, settings.episodes)
        batch = self._batch
        # A stream of its own for each step: nothing of a generator has to be kept between two of them.
        draws = stream(settings.seed, "deepjs", number, step).random((settings.episodes, batch.decisions))
        ends = batch.play(draws)
        gains = advantages(batch.times(), ends, settings.update == "code")
        with threadpool_limits(1):  # sums of several threads differ in the last bits
            likely = learn(batch, gains, settings, self._adam)
        if not np.isfinite(self.network.weights).all():
            raise SpecError(
                f"deepjs: weights are not finite after step {len(self.curve) + 1}; take a lower learning rate"
            )
        found: tuple[float | None, float | None] = None, None
        last = number + 1 == len(self.chunks)
        if step == settings.steps - 1 and (last or (number + 1) % settings.compare_every == 0):
            found = self._compare()
        row = Step(
            step=len(self.curve) + 1,
            seconds=self.seconds + time.perf_counter() - began,
            chunk=number,
            makespan=float(ends.mean()),
            different=len(np.unique(ends)),
            likely=float(np.exp(likely)),
            drawn=found[0],
            highest=found[1],
        )
        self.curve.append(row)
        return row

    def above_bound(self, policy: str | NetworkPolicy) -> float:
        """How far the makespans of a policy are above their bounds on the chunks of the training, in the mean [%]."""
        if self._bounds is None:
            self._bounds = np.array([makespan_bound(chunk) for chunk in self.chunks], np.float64)
        ends = [simulate_tasks(chunk, policy, seed=k).makespan for k, chunk in enumerate(self.chunks)]
        return 100 * float(np.mean(np.array(ends) / self._bounds) - 1)

    def _compare(self) -> tuple[float, float]:
        """How far the network is above the bounds, drawn and with the highest score [%]; the lower may be the best."""
        drawn, highest = (self.above_bound(NetworkPolicy(self.network, greedy)) for greedy in (False, True))
        if min(drawn, highest) < self._above:
            self.best = Network(self.network.weights.copy(), self.network.sizes)
            self._above, self.greedy = min(drawn, highest), highest <= drawn
        return drawn, highest

    def save(self) -> None:
        """Write the state and the curve."""
        arrays: Arrays = {
            "weights": self.network.weights,
            "best": self.best.weights,
            "mean": self._adam.mean,
            "square": self._adam.square,
        }
        write_progress(
            self.folder,
            self.settings,
            self.curve,
            Step,
            arrays,
            workload=self.workload.digest(),
            adam=self._adam.steps,
            greedy=self.greedy,
            above=self._above if np.isfinite(self._above) else None,
        )

    def _restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        begun = facts.get("settings") if isinstance(facts, dict) else None
        if not isinstance(begun, dict):
            raise DocumentError(f"{self._state}: does not hold such a training; take another folder")
        check_settings(self._state, begun, asdict(self.settings), "")
        if facts.get("workload") != self.workload.digest():
            raise DocumentError(f"{self._state}: was begun on other jobs or machines; take another folder")
        try:
            self.curve = [Step(*row) for row in facts["curve"]]
            self.best = Network(np.array(arrays["best"], np.float32), self.network.sizes)
            for name, held in (
                ("weights", self.network.weights), ("mean", self._adam.mean), ("square", self._adam.square),
            ):  # fmt: skip
                if arrays[name].shape != held.shape:
                    raise ValueError("arrays of other shapes")
                held[:] = arrays[name]
            self._adam.steps, self.greedy = int(facts["adam"]), bool(facts["greedy"])
            self._above = np.inf if facts["above"] is None else float(facts["above"])
        except (KeyError, TypeError, ValueError) as error:
            raise DocumentError(f"{self._state}: does not hold such a training: {error}") from None
