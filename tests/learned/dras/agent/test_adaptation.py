from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.learned.dras.checkpoint_cases import compact, drawn, paper
from tests.simulation.workloads import workloads
from transom.errors import DocumentError, SpecError
from transom.learned.checkpoints import save
from transom.learned.dras.agent.policies import LearnedPolicy
from transom.learned.dras.process.episodes import Episodes
from transom.learned.dras.process.paper_scorer import PaperShape
from transom.learned.dras.process.process import AgentConfig
from transom.learned.dras.training.collect import Batch, collect
from transom.models import Cluster, Job
from transom.simulation import simulate
from transom.simulation.output.verification import check_schedule
from transom.traces import TracedJob, Workload

pytest.importorskip("torch")

from transom.learned.dras.agent.adaptation import Adaptation

AGENTS = ("pg", "dql", "ppo")


def crowd(jobs: int = 120, seed: int = 0) -> Workload:
    """Many jobs wait on 8 nodes, so that there is much to choose from."""
    rng = np.random.default_rng(seed)
    listed = []
    for i in range(jobs):
        walltime = int(rng.integers(5, 60))
        job = Job(id=i + 1, submit=int(rng.integers(0, 6 * jobs)), nodes=int(rng.integers(1, 9)), walltime=walltime)
        listed.append(TracedJob(job, int(rng.integers(1, walltime + 1))))
    return Workload.of(listed, Cluster(8), "crowd")


def learning(agent: str, instances: int = 10, learning_rate: float = 0.05, **settings: Any) -> LearnedPolicy:
    """A policy that adapts, and its adaptation."""
    stated = {"agent": agent, "reward": "waiting", **AgentConfig(longest=60)._asdict(), **settings}
    checkpoint = compact(drawn(4), AgentConfig(longest=60), 8, settings=stated)
    return LearnedPolicy(checkpoint, adaptation=Adaptation(checkpoint, instances, learning_rate))


def updates(policy: LearnedPolicy) -> int:
    assert policy._adaptation is not None
    return policy._adaptation.updates


@pytest.mark.parametrize("agent", AGENTS)
def test_without_a_learning_rate_nothing_changes(agent: str) -> None:
    workload = crowd(400 if agent == "ppo" else 120)
    adapting = learning(agent, learning_rate=0.0)
    schedule = simulate(workload, adapting)
    fixed = simulate(workload, LearnedPolicy(adapting_checkpoint(adapting)))
    assert updates(adapting) >= (1 if agent == "ppo" else 5)
    assert (schedule.start == fixed.start).all()
    assert (schedule.mode == fixed.mode).all()


@pytest.mark.parametrize("agent", AGENTS)
def test_it_learns_and_the_same_seed_learns_the_same(agent: str) -> None:
    workload, policy = crowd(500 if agent == "ppo" else 120), learning(agent, learning_rate=0.3)
    once, again = simulate(workload, policy), simulate(workload, policy)
    assert updates(policy) >= (1 if agent == "ppo" else 5)
    assert check_schedule(workload, once) == []
    assert (once.start == again.start).all()
    fixed = simulate(workload, LearnedPolicy(adapting_checkpoint(policy)))
    assert (once.start != fixed.start).any()
    if agent != "dql":
        drawing = LearnedPolicy(adapting_checkpoint(policy), -1.0, adaptation=policy._adaptation)
        assert (simulate(workload, drawing, seed=1).start == simulate(workload, drawing, seed=1).start).all()
        assert (simulate(workload, drawing, seed=1).start != simulate(workload, drawing, seed=2).start).any()


@settings(max_examples=40)
@given(
    workloads(max_jobs=14, exact=True, resources=1),
    st.sampled_from(["waiting", "waiting:growth=0.5,tau=9,power=2", "slowdown", "capability", "capacity"]),
    st.sampled_from(
        [AgentConfig(levels, 50, head, keep, 20) for levels, head, keep in ((1, 0, 0), (2, 0, 1), (2, 1, 0))]
    ),
)
def test_it_remembers_what_a_training_would_record(workload: Workload, reward: str, scheme: AgentConfig) -> None:
    # Runtimes are the walltimes here, so that a reward by runtime is the same, too.
    checkpoint = compact(drawn(4), scheme, 8)
    memory = Remembering(checkpoint, 1, 0.0, reward)
    simulate(workload, LearnedPolicy(checkpoint, adaptation=memory))
    rows = len(memory._memory)
    if rows < 2:
        return
    seen = memory._batch(rows)
    wanted = collect(Episodes([workload]), scheme, drawn(4), rows, np.random.default_rng(0), 0.0, reward)
    for name in ("features", "context", "count", "action", "instant"):
        assert (getattr(seen, name) == getattr(wanted, name)).all(), name
    # What follows the last decision is not known yet.
    assert seen.reward[:-1] == pytest.approx(wanted.reward[:-1], rel=1e-9, abs=1e-12)
    assert wanted.done.tolist() == [False] * (rows - 1) + [True]


class Remembering(Adaptation):
    """Never updates, and so never forgets."""

    def _update(self) -> None:
        pass


def test_it_updates_after_so_many_instants_on_what_it_saw_since(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = learning("pg:discount=0.9", instances=7)
    seen: list[Batch] = []
    instants: list[int] = []
    adaptation = policy._adaptation
    assert adaptation is not None
    begun = adaptation._begun

    def watched(rng: np.random.Generator) -> Any:
        learner = begun(rng)
        update = learner.update

        def record(batch: Batch, *rest: Any) -> Any:
            seen.append(batch)
            instants.append(adaptation._instants)
            return update(batch, *rest)

        learner.update = record
        return learner

    monkeypatch.setattr(adaptation, "_begun", watched)
    simulate(crowd(), policy)
    assert len(seen) > 3
    assert min(after - before for before, after in pairwise(instants)) == 7
    for one, other in pairwise(seen):
        # The last decision of an update had no reward yet: it is the first of the next one.
        assert other.instant[0] >= one.instant[-1]
        assert (other.reward <= 0).all()
        assert other.reward.sum() < 0


@pytest.mark.parametrize("agent", ["pg", "dql"])
def test_networks_of_table_iii_go_on_learning_too(agent: Literal["pg", "dql"]) -> None:
    scheme = AgentConfig(longest=60, window=6)
    given = {"agent": agent, "reward": "capability", **scheme._asdict()}
    checkpoint = paper(PaperShape(agent, 8, 6, 9, 7), scheme, settings=given)
    workload = crowd(60)
    still = simulate(workload, LearnedPolicy(checkpoint))
    resting = LearnedPolicy(checkpoint, adaptation=Adaptation(checkpoint, 10, 0.0))
    assert (simulate(workload, resting).start == still.start).all()
    moving = LearnedPolicy(checkpoint, adaptation=Adaptation(checkpoint, 10, 0.1))
    once = simulate(workload, moving)
    assert updates(moving) > 3
    assert (once.start == simulate(workload, moving).start).all()
    assert (once.start != still.start).any()


def test_it_is_an_option_of_the_policies(tmp_path: Path) -> None:
    path = tmp_path / "small.safetensors"
    save(path, adapting_checkpoint(learning("pg")))
    workload = crowd()
    starts = [
        simulate(workload, f"dras-pg:model={path}{more}").start.tolist()
        for more in (
            "",
            ",adapt=yes,learning_rate=0",
            ",adapt=yes,learning_rate=0.05",
            ",adapt=yes,learning_rate=0.05,reward=capability",
        )
    ]
    assert starts[0] == starts[1]
    assert starts[0] != starts[2] != starts[3]
    for wrong, message in (
        ("instances=0", "instances must be > 0, got 0"),
        ("learning_rate=-1", "learning_rate must be from 0 to below 1, got -1.0"),
        ("learning_rate=nan", "learning_rate must be from 0 to below 1, got nan"),
        ("reward=wating", "unknown reward 'wating'; did you mean 'waiting'?"),
    ):
        with pytest.raises(SpecError) as caught:
            simulate(workload, f"dras-pg:model={path},adapt=yes,{wrong}")
        assert str(caught.value).startswith(message)


def test_a_card_has_to_say_how_it_was_trained() -> None:
    checkpoint = compact(drawn(0), AgentConfig(), 8, settings={**AgentConfig()._asdict(), "agent": "sarsa"})
    with pytest.raises(
        DocumentError, match="to go on learning, setting agent must be one of pg, dql, ppo, got 'sarsa'"
    ):
        Adaptation(checkpoint)


def adapting_checkpoint(policy: LearnedPolicy) -> Any:
    """The checkpoint where the learning of a policy begins."""
    assert policy._adaptation is not None
    return policy._adaptation._checkpoint
