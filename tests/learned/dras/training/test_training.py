from __future__ import annotations

import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transom.errors import DocumentError, SpecError
from transom.generate import generate_lublin
from transom.learned.checkpoints import load, weights_digest
from transom.learned.dras.agent.policies import LearnedPolicy
from transom.learned.dras.process.episodes import Episodes
from transom.learned.dras.process.paper_scorer import PaperShape
from transom.learned.dras.process.process import AgentConfig
from transom.learned.dras.process.rewards import parse_reward
from transom.learned.dras.training.collect import replay
from transom.learned.dras.training.jobsets import compared, copies, phased, repeat, scale_load
from transom.learned.dras.training.policy_backends import CompiledBackend, TorchBackend
from transom.learned.dras.training.run import Stated, run_training
from transom.learned.dras.training.settings import TrainingSettings
from transom.learned.dras.training.training import Training
from transom.learned.dras.training.validation import Validation, waiting_total
from transom.learned.scorer import ScorerWeights
from transom.learned.training.state import STATE, read_state, write_state
from transom.models import Cluster, Job
from transom.simulation import simulate
from transom.traces import TracedJob, Workload

torch = pytest.importorskip("torch", reason="needs the extra learned")

AGENTS = ["ppo:minibatch=64", "pg:discount=0.9,standardise=yes", "dql:target=2"]


IT = Stated("it", "made jobs", "other made jobs", "transom train dras")


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def workload() -> Workload:
    return generate_lublin(250, 64, np.random.default_rng(3), load=1.1)


def settings(**changed: Any) -> TrainingSettings:
    small: dict[str, Any] = {
        "agent": AGENTS[0],
        "scheme": AgentConfig(head=0, window=20),
        "decisions": 1200,
        "batch": 200,
        "validate_every": 2,
        "hidden": (8, 8),
        **changed,
    }
    return TrainingSettings(**small)


def fresh(workload: Workload, chosen: TrainingSettings) -> Training:
    sets = copies(workload, (0.9, 1.2), chosen.seed, count=3)
    return Training(sets, compared(workload, (1.0, 1.2), count=2), chosen, "cpu")


def finished(workload: Workload, folder: Path, chosen: TrainingSettings) -> dict[str, Any]:
    made = run_training(fresh(workload, chosen), folder, IT, against=("fcfs-easy",))
    return dict(made.weights)


class Stop:
    """Interrupts a training after so many updates, as Ctrl-C does."""

    def __init__(self, after: int) -> None:
        self.after = after

    def __call__(self, training: Training) -> None:
        if training.updates >= self.after:
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("instances", [0, 10])
def test_an_interrupted_training_ends_with_the_same_weights(
    workload: Workload, tmp_path: Path, agent: str, instances: int
) -> None:
    chosen = settings(agent=agent, instances=instances, decisions=150 if instances else 1200)
    whole = finished(workload, tmp_path / "whole", chosen)
    for after in (1, 3):
        with pytest.raises(KeyboardInterrupt):
            run_training(fresh(workload, chosen), tmp_path / "cut", IT, report=Stop(after), against=("fcfs-easy",))
    resumed = finished(workload, tmp_path / "cut", chosen)
    assert weights_digest(resumed) == weights_digest(whole)
    ends = [read_state(tmp_path / name / STATE) for name in ("whole", "cut")]
    assert ends[0][0].keys() == ends[1][0].keys()
    learnt = [name for name in ends[0][0] if not name.startswith("episodes.")]
    assert any("optimizer" in name for name in learnt)
    assert all((ends[0][0][name] == ends[1][0][name]).all() for name in learnt)
    assert (ends[0][0]["episodes.state.jobs"] == ends[1][0]["episodes.state.jobs"]).all()
    assert _without_seconds(tmp_path / "whole") == _without_seconds(tmp_path / "cut")


def _without_seconds(folder: Path) -> list[list[str]]:
    rows = [line.split(",") for line in (folder / "curve.csv").read_text().splitlines()]
    at = rows[0].index("seconds")
    return [row[:at] + row[at + 1 :] for row in rows]


def test_same_seed_same_weights_other_seed_others(workload: Workload, tmp_path: Path) -> None:
    made = [
        weights_digest(finished(workload, tmp_path / str(k), settings(seed=seed, decisions=400)))
        for k, seed in enumerate((1, 1, 2))
    ]
    assert made[0] == made[1] != made[2]


def test_the_checkpoint_is_the_best_snapshot_of_the_curve(workload: Workload, tmp_path: Path) -> None:
    chosen = settings()
    finished(workload, tmp_path, chosen)
    checkpoint = load(tmp_path / "it.safetensors", "dras", ("dras-compact/1",))
    rows = [line.split(",") for line in (tmp_path / "curve.csv").read_text().splitlines()]
    curve = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    assert [row["updates"] for row in curve] == ["0", "2", "4", "6"]
    best = max(curve, key=lambda row: float(row["reward"]))
    assert [row["best"] for row in curve if float(row["reward"]) >= float(best["reward"])] == ["1"]
    scorer = ScorerWeights(*(checkpoint.weights[f"actor.{name}"] for name in ScorerWeights._fields))
    waits = [replay(each, chosen.scheme, scorer).wait.mean() for each in compared(workload, (1.0, 1.2), count=2)]
    assert float(best["mean_wait"]) == pytest.approx(np.mean(waits), abs=0.01)
    assert checkpoint.card.scores["validation_mean_wait"] == pytest.approx(np.mean(waits))
    assert checkpoint.card.settings == {
        **chosen.scheme._asdict(),
        "agent": AGENTS[0],
        "reward": "waiting",
        "batch": 200,
    }
    assert checkpoint.card.decisions == 1200


@pytest.mark.parametrize("agent", ["ppo", "pg:discount=0.99,standardise=yes"])
def test_at_the_tenth_update_the_policy_is_still_open(workload: Workload, agent: str) -> None:
    training = fresh(workload, settings(agent=agent, batch=400))
    for _ in range(10):
        figures = training.step(0.0)
    assert figures["entropy"] > 0.1
    assert np.isfinite(list(figures.values())).all()


def test_no_decision_lies_beyond_the_candidates(workload: Workload) -> None:
    for agent in AGENTS:
        training = fresh(workload, settings(agent=agent))
        for _ in range(3):
            batch = training._recorded()
            assert (batch.action >= 0).all()
            assert (batch.action < batch.count).all()
            assert (batch.count >= 2).all()
            training.step(0.0)


def test_instances_of_an_update(workload: Workload) -> None:
    pg = fresh(workload, settings(agent="pg", instances=10))
    ppo = fresh(workload, settings(agent="ppo", instances=10))
    ours, theirs = [pg._recorded() for _ in range(4)], [ppo._recorded() for _ in range(4)]
    for one, next_one in pairwise(ours):
        assert one.instant[-1] < one.instant[0] + 10 <= next_one.instant[0]
    for one, next_one in pairwise(theirs):
        # A rule that looks ahead is shown the first decision of the next update.
        assert one.instant[-1] == next_one.instant[0]
        assert (one.features[-1] == next_one.features[0]).all()


@pytest.mark.parametrize("reward", ["waiting", "waiting:growth=0.5,tau=3600,power=2", "slowdown"])
def test_what_a_snapshot_is_judged_by_is_the_sum_of_its_rewards(workload: Workload, reward: str) -> None:
    training = fresh(workload, settings(reward=reward))
    numbers = parse_reward(reward)
    schedule = training.body.schedule(workload)
    total = waiting_total(numbers, schedule, workload)
    assert training._greedy_total(workload) == pytest.approx(total, rel=1e-9)
    if reward == "waiting":
        assert total == pytest.approx(-schedule.wait.sum() / 3600)


def test_rewards_of_the_paper_train_too(workload: Workload, tmp_path: Path) -> None:
    for reward in ("capability", "capacity"):
        finished(workload, tmp_path / reward, settings(reward=reward, decisions=400))
        lines = (tmp_path / reward / "curve.csv").read_text().splitlines()
        assert float(lines[1].split(",")[3]) != float(lines[2].split(",")[3])


def test_training_beats_what_it_begins_with(workload: Workload) -> None:
    chosen = settings(agent="ppo:learning_rate=0.01,discount=0.99,lam=0.9,minibatch=256", batch=1500)
    training = fresh(workload, chosen)
    before = training.validate()
    for k in range(16):
        training.step(k / 16)
    after = training.validate()
    easy = np.mean([simulate(each, "fcfs-easy").wait.mean() for each in training.validation])
    assert after.figures["mean_wait"] < 0.95 * before.figures["mean_wait"]
    assert after.figures["mean_wait"] < 0.8 * easy


def test_a_bound_on_the_longest_wait_comes_before_the_mean(workload: Workload) -> None:
    def snapshots(bound: float) -> tuple[Training, list[Validation]]:
        training = fresh(workload, settings(bound=bound))
        seen = [training.validate()]
        for k in range(8):
            training.step(k / 8)
            seen.append(training.validate())
        return training, seen

    training, seen = snapshots(1e9)
    assert training.best_validation is min(seen, key=lambda each: each.figures["mean_wait"])
    easy = [simulate(each, "fcfs-easy").wait.max() for each in training.validation]
    assert training.judge.longest_waits() == easy
    tight, again = snapshots(0.01)
    assert [each.figures for each in again] == [each.figures for each in seen]
    assert tight.best_validation is max(again, key=lambda each: each.rank)
    ratios = [each.rank[0] for each in again]
    assert max(ratios) < 0
    assert tight.best_validation.rank[0] == max(ratios)
    now = [tight.body.schedule(each).wait.max() / most for each, most in zip(tight.validation, easy, strict=True)]
    assert again[-1].rank[0] == pytest.approx(0.01 - max(now))


def test_another_training_is_not_gone_on_with(workload: Workload, tmp_path: Path) -> None:
    finished(workload, tmp_path, settings(decisions=200))
    with pytest.raises(DocumentError, match="was begun with reward waiting, not slowdown"):
        finished(workload, tmp_path, settings(decisions=200, reward="slowdown"))
    with pytest.raises(DocumentError, match="was begun on other jobs or machines"):
        finished(workload.take(np.arange(200)), tmp_path, settings(decisions=200))
    longer = finished(workload, tmp_path, settings(decisions=400))
    assert weights_digest(longer)
    assert len((tmp_path / "curve.csv").read_text().splitlines()) == 4


def test_a_state_that_is_none_is_refused(workload: Workload, tmp_path: Path) -> None:
    finished(workload, tmp_path, settings(decisions=200))
    arrays, facts = read_state(tmp_path / STATE)
    for name in ("subject", "episodes", "curve"):
        write_state(tmp_path / STATE, arrays, {key: value for key, value in facts.items() if key != name})
        with pytest.raises(DocumentError, match=f"does not hold such a training: '{name}'"):
            finished(workload, tmp_path, settings(decisions=200))
    (tmp_path / STATE).write_bytes(b"\xff" * 40)
    with pytest.raises(DocumentError, match="not the state of a training"):
        finished(workload, tmp_path, settings(decisions=200))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"agent": "a2c"}, "unknown agent 'a2c'"),
        ({"agent": "ppo:gama=1"}, "no parameter 'gama'"),
        ({"agent": "ppo:discount=nan"}, "ppo: discount must be from 0 to 1, got nan"),
        ({"agent": "ppo:learning_rate=inf"}, "ppo: learning_rate must be from 0 to 1, got inf"),
        ({"agent": "ppo:minibatch=0"}, "ppo: minibatch must be > 0, got 0"),
        ({"agent": "pg:discount=2"}, "pg: discount must be from 0 to 1, got 2"),
        ({"agent": "dql:discount=1"}, "dql: discount must be from 0 to 0.999999, got 1"),
        ({"agent": "dql:passes=-1"}, "dql: passes must be > 0, got -1"),
        ({"reward": "joy"}, "unknown reward"),
        ({"batch": 1}, "batch must be > 1, got 1"),
        ({"hidden": (8, 0)}, "hidden must be > 0"),
    ],
)
def test_bad_settings_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        settings(**changed)


def test_squeezing_multiplies_the_load(workload: Workload) -> None:
    made = scale_load(workload, 2.0)
    assert (np.diff(made.jobs.submit).sum()) == pytest.approx(np.diff(workload.jobs.submit).sum() / 2, abs=1)
    assert (made.runtime == workload.runtime).all()
    assert (made.jobs.data[:, 2:] == workload.jobs.data[:, 2:]).all()


def test_laps_follow_one_another() -> None:
    jobs = [TracedJob(Job(id=i, submit=s, nodes=1, walltime=9, depends_on=d), 5) for i, s, d in JOBS_OF_A_LAP]
    made = repeat(Workload.of(jobs, Cluster(2), "three"), 2)
    assert made.jobs.id.tolist() == [1, 2, 3, 4, 5, 6]
    assert made.jobs.submit.tolist() == [100, 110, 130, 140, 150, 170]
    assert made.jobs.depends_on == {3: (1,), 6: (4,)}
    assert made.runtime.tolist() == [5] * 6


JOBS_OF_A_LAP: list[tuple[int, int, tuple[int, ...]]] = [(7, 100, ()), (8, 110, ()), (9, 130, (7,))]


def test_phases_come_in_order(workload: Workload) -> None:
    sets = phased(workload, "sampled=2,real=1,synthetic=3", 0, 100)
    assert ["sampled" in each.name for each in sets] == [True] * 2 + [False] * 4
    assert "week" in sets[2].name
    assert [len(each) for each in sets[3:]] == [100] * 3
    again = phased(workload, "sampled=1", 0, 100)
    assert again[0].digest() == sets[0].digest()
    for bad in ("rest", "real=0", "real=x"):
        with pytest.raises(SpecError):
            phased(workload, bad, 0)


def paper_settings(agent: str) -> TrainingSettings:
    return settings(agent=agent, paper_size=True, hidden=(12, 6), decisions=60, batch=20, validate_every=2)


@pytest.mark.parametrize("agent", ["pg", "dql:dueling=no"])
def test_networks_of_table_3_train_and_go_on(workload: Workload, tmp_path: Path, agent: str) -> None:
    chosen, few = paper_settings(agent), [workload.take(np.arange(60))]

    def begun() -> Training:
        return Training([workload], few, chosen, "cpu")

    whole = run_training(begun(), tmp_path / "whole", IT)
    with pytest.raises(KeyboardInterrupt):
        run_training(begun(), tmp_path / "cut", IT, report=Stop(1))
    resumed = run_training(begun(), tmp_path / "cut", IT)
    assert weights_digest(resumed.weights) == weights_digest(whole.weights)
    assert whole.card.schema == "dras-paper/1"
    policy = LearnedPolicy(load(tmp_path / "cut" / "it.safetensors", "dras", ("dras-paper/1",)))
    assert whole.card.scores["validation_mean_wait"] == pytest.approx(simulate(few[0], policy).wait.mean())


def test_networks_of_table_3_record_as_kernels_do(workload: Workload) -> None:
    paper = TorchBackend(AgentConfig(head=0, window=20), PaperShape("pg", 64, 20, 12, 6), 0, "cpu")
    compact = CompiledBackend(AgentConfig(head=0, window=20), (8, 8), 0, "cpu")
    few, rng = workload.take(np.arange(80)), np.random.default_rng
    ones, others = Episodes([few]), Episodes([few])
    for body in (paper, compact):  # a network whose scores are all equal takes the first candidate
        with torch.no_grad():
            for weight in body.network.parameters():
                weight.zero_()
    for decisions in (7, 150):  # the second time past the end of the episode
        one = paper.record(ones, decisions, rng(0), 0.0, "waiting:growth=1")
        other = compact.record(others, decisions, rng(0), 0.0, "waiting:growth=1")
        assert one.features.shape == (decisions, 20, 4)
        for name in ("count", "action", "log_probability", "reward", "done", "instant"):
            assert getattr(one, name) == pytest.approx(getattr(other, name)), name
            assert getattr(one, name).dtype == getattr(other, name).dtype
    assert one.done.any()
    assert (paper.schedule(few).start == compact.schedule(few).start).all()


def test_a_critic_is_asked_of_who_has_one() -> None:
    for agent in ("ppo", "dql"):
        with pytest.raises(SpecError, match="no critic"):
            paper_settings(agent)
