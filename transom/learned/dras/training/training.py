"""Training of an agent: record decisions, update, look at validation workloads, keep the best snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from transom.errors import SpecError
from transom.learned.checkpoints import Checkpoint, make_card, require
from transom.learned.dras.process.episodes import Episodes
from transom.learned.dras.process.paper_scorer import PaperShape
from transom.learned.dras.process.rewards import WAITING
from transom.learned.dras.training.collect import Batch
from transom.learned.dras.training.policy_backends import CompiledBackend, PolicyBackend, TorchBackend
from transom.learned.dras.training.settings import TrainingSettings, rule_of
from transom.learned.dras.training.validation import Judge, Validation, validation_of
from transom.learned.training.state import Arrays, under
from transom.rng import stream
from transom.traces import Workload

if TYPE_CHECKING:
    from transom.learned.dras.training.learner import Figures, Learner

PACKAGES = ("torch", "tensorboard")
"""What training imports beyond what the toolkit needs in any case."""


class Training:
    """A training that can be stopped after any update, put away and gone on with.

    All random numbers of an update are those of its number, so that nothing but weights, what the rule remembers, and
    where the episodes stand has to be kept.

    Parameters
    ----------
    workloads : one episode each, in this order, over and over.
    validation : workloads on which snapshots are compared.
    settings : what the training is.
    device : of torch.

    Raises
    ------
    SpecError : packages of the extra are missing.
    ModelError : workloads are of different machines.
    """

    def __init__(
        self, workloads: Sequence[Workload], validation: Sequence[Workload], settings: TrainingSettings, device: str
    ) -> None:
        require("training", *PACKAGES)
        self.settings = settings
        self.validation = tuple(validation)
        self.judge = Judge(validation, settings.reward, settings.bound)
        self.episodes = Episodes(workloads)
        self.body = make_body(settings, self.episodes.nodes, device)
        rule, chosen = rule_of(settings.agent)
        self.learner: Learner = rule(self.body.network, chosen)
        self.updates = self.decisions = 0
        self.seconds = 0.0
        self.best: dict[str, Any] | None = None
        self.best_validation: Validation | None = None
        self._carried: Batch | None = None

    def step(self, progress: float) -> Figures:
        """Record decisions and learn from them."""
        begin = perf_counter()
        s = self.settings
        batch = self._recorded()
        figures = self.learner.update(batch, stream(s.seed, "learn", self.updates), progress)
        self.updates += 1
        self.decisions += len(batch.action)
        self.seconds += perf_counter() - begin
        return {"reward": float(batch.reward.mean()), "candidates": float(batch.count.mean()), **figures}

    def validate(self) -> Validation:
        """Look at the validation workloads, and keep the weights if none did better before."""
        begin = perf_counter()
        schedules = [self.body.schedule(workload) for workload in self.validation]
        total = None
        if self.judge.reward.kind != WAITING:
            total = sum(self._greedy_total(workload) for workload in self.validation)
        found = self.judge.judged(schedules, total, self.decisions)
        if self.best_validation is None or found.rank > self.best_validation.rank:
            self.best_validation = found
            self.best = self.weights()
        self.seconds += perf_counter() - begin
        return found

    def weights(self) -> Arrays:
        """The network's weights at present."""
        return {name: weight.cpu().numpy().copy() for name, weight in self.learner.network.state_dict().items()}

    def checkpoint(self, name: str, trained_on: str, validated_on: str, command: str) -> Checkpoint:
        """The best snapshot so far, with its card, which says where the policies stood that it was compared with."""
        if self.best is None or self.best_validation is None:
            raise SpecError("training: there is no snapshot yet")
        s = self.settings
        card = make_card(
            self.best,
            name=name,
            component="dras",
            network=self.body.name,
            schema=self.body.schema,
            cluster={"nodes": self.episodes.nodes},
            settings={**s.scheme._asdict(), "agent": s.agent, "reward": s.reward, "batch": s.batch},
            trained_on=trained_on,
            validated_on=validated_on,
            command=command,
            seed=s.seed,
            decisions=self.decisions,
            seconds=round(self.seconds, 1),
            scores={
                **{f"validation_{key}": value for key, value in self.best_validation.figures.items()},
                "after_decisions": self.best_validation.after,
            },
            rules={spec: found.figures for spec, found in self.judge.policies.items()},
        )
        return Checkpoint(self.best, card)

    def snapshot(self) -> tuple[Arrays, dict[str, Any]]:
        """All that :meth:`restore` needs: arrays by name, and plain values."""
        arrays, facts = self.episodes.snapshot()
        parts: dict[str, Arrays] = {"episodes": arrays, "best": self.best or {}}
        if self._carried is not None:
            parts["carried"] = dict(self._carried._asdict())
        named = {f"{part}.{name}": array for part, held in parts.items() for name, array in held.items()}
        return {**self.learner.state(), **named}, {
            "episodes": facts,
            "decisions": self.decisions,
            "learning_seconds": self.seconds,
            "best": self.best_validation,
            "policies": self.judge.state(),
        }

    def restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Go on from what :meth:`snapshot` gave of a training with the same workloads and settings."""
        episodes, self.best, carried = (under(f"{part}.", arrays) for part in ("episodes", "best", "carried"))
        self.episodes.restore(episodes, facts["episodes"])
        self.learner.restore(arrays)
        self._carried = Batch(**carried) if carried else None
        self.updates, self.decisions = facts["updates"], facts["decisions"]
        self.seconds = facts["learning_seconds"]
        self.judge.restore(facts["policies"])
        if facts["best"] is not None:
            self.best_validation = validation_of(facts["best"])

    def _recorded(self) -> Batch:
        s = self.settings
        rng = stream(s.seed, "record", self.updates)

        def some(decisions: int) -> Batch:
            return self.body.record(self.episodes, decisions, rng, self.learner.exploration, s.reward)

        if not s.instances:
            return some(s.batch)
        # One by one, since the instant of a decision is known when it is there. A rule that looks ahead gets the first
        # decision of the next update with this one.
        parts = [self._carried] if self._carried is not None else [some(1)]
        begin = int(parts[0].instant[0])
        while int(parts[-1].instant[0]) < begin + s.instances or len(parts) < 2:
            parts.append(some(1))
        self._carried = parts[-1]
        kept = parts if self.learner.looks_ahead else parts[:-1]
        return Batch(*(np.concatenate(columns) for columns in zip(*kept, strict=True)))

    def digest(self) -> str:
        """32 hexadecimal digits that depend on all workloads."""
        state = blake2b(digest_size=16)
        for workload in (*self.episodes.workloads, *self.validation):
            state.update(workload.digest().encode())
        return state.hexdigest()

    def _greedy_total(self, workload: Workload) -> float:
        """What an agent that takes the highest scores is rewarded with on a whole workload."""
        episodes, total = Episodes([workload]), 0.0
        while True:
            batch = self.body.record(episodes, 1024, stream(0), 0.0, self.settings.reward)
            ends = np.flatnonzero(batch.done)
            if ends.size:
                return total + float(batch.reward[: ends[0] + 1].sum())
            total += float(batch.reward.sum())


def make_body(settings: TrainingSettings, nodes: int, device: str) -> PolicyBackend:
    """A fresh network for a machine of so many nodes."""
    if not settings.paper_size:
        return CompiledBackend(settings.scheme, settings.hidden, settings.seed, device)
    kind: Any = "dql" if settings.agent.partition(":")[0] == "dql" else "pg"
    shape = PaperShape(kind, nodes, settings.scheme.window, *settings.hidden)
    return TorchBackend(settings.scheme, shape, settings.seed, device)
