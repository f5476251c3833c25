"""Trainings of MARS: masks, both learners, resuming, and what the decision maker is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Ran, transom
from tests.learned.mars.made import dependent, trace, weights_of
from transom import read_workflows
from transom.errors import DocumentError, SpecError
from transom.learned.checkpoints import load
from transom.learned.kernel.weights import first_weights
from transom.learned.mars.choosing import RULES, choose, slowdowns
from transom.learned.mars.process import sequence_of
from transom.learned.mars.rollouts import drawn, greedy
from transom.learned.mars.settings import MarsTraining
from transom.learned.training.trainer import train
from transom.simulation import make_policy, simulate
from transom.simulation.output import metrics
from transom.simulation.policies.by_size import BySize
from transom.traces import write_swf

torch = pytest.importorskip("torch", reason="needs the extra learned")

from transom.learned.mars.learners import Learner  # noqa: E402
from transom.learned.mars.network import MarsNetwork, padded  # noqa: E402
from transom.learned.mars.training import MarsTrainer  # noqa: E402

__all__ = ["transom"]

SMALL = MarsTraining(updates=3, batch=2, length=40, validation=3, validation_length=60, validate_every=1, minibatch=32)
OPTIONS = "--updates 2 --batch 2 --length 30 --validation 2 --validation-length 40 --validate-every 1"


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def network(seed: int = 0) -> MarsNetwork:
    return MarsNetwork(weights_of(seed), np.random.default_rng(seed))


def test_the_torch_network_gives_the_chances_that_were_recorded() -> None:
    episode = drawn(weights_of(3), sequence_of(trace()), 128, np.random.default_rng(1))
    logs = network(3)(*padded(episode.features, episode.counts)).gather(1, torch.from_numpy(episode.actions)[:, None])
    np.testing.assert_allclose(logs[:, 0].detach().numpy(), episode.logs, atol=2e-4)


def test_what_masked_slots_hold_counts_neither_for_chances_nor_for_values_nor_for_gradients() -> None:
    rows = np.random.default_rng(2).random((7, 8)).astype(np.float32)
    features, mask = padded(rows, np.array([2, 5]))
    assert mask.tolist() == [[True] * 2 + [False] * 3, [True] * 5]
    assert (features[~mask] == 0).all()
    filled = features.clone()
    filled[~mask] = 50.0
    found = []
    for each in (features, filled):
        net = network()
        logs, values = net(each, mask), net.values(each, mask)
        assert (logs[~mask] == -torch.inf).all()
        np.testing.assert_allclose(logs.exp().sum(1).detach().numpy(), 1, rtol=1e-5)
        (logs[:, 0].sum() + values.sum()).backward()
        found.append([logs[mask], values, *(parameter.grad for parameter in net.parameters())])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("learner", ["ppo", "actor-critic"])
def test_an_update_moves_actor_and_critic(learner: str) -> None:
    settings = replace(SMALL, learner=learner, learning_rate=0.02, passes=2)
    some = Learner(network(4), settings)
    sequence, rng = sequence_of(trace().take(slice(0, 60))), np.random.default_rng(0)
    before = {name: each.clone() for name, each in some.network.state_dict().items()}
    found = some.update([sequence, sequence], lambda at, slowdown: -slowdown, rng, 1.0)
    assert found.shape == (2,)
    assert (found >= 1).all()
    after = some.network.state_dict()
    assert not torch.equal(after["actor.out"], before["actor.out"])
    assert not torch.equal(after["critic.offset"], before["critic.offset"])


def test_ppo_unlearns_to_prefer_long_jobs() -> None:
    long_first = first_weights(np.random.default_rng(0), "walltime")
    long_first.out[:] *= np.float32(-4)
    settings = replace(SMALL, learning_rate=0.01, minibatch=256)
    some = Learner(MarsNetwork(long_first, np.random.default_rng(0)), settings)
    sequence, rng = sequence_of(trace().take(slice(0, 100))), np.random.default_rng(0)
    for _ in range(12):
        some.update([sequence] * 8, lambda at, slowdown: -slowdown / 10, rng, 1.0)
    after = greedy(some.network.weights(), sequence, 128, 0.0)
    assert after < 0.9 * greedy(long_first, sequence, 128, 0.0)


@pytest.mark.parametrize("learner", ["ppo", "actor-critic"])
def test_an_interrupted_training_gives_the_same_weights(learner: str, tmp_path: Path) -> None:
    settings = replace(SMALL, learner=learner, relative_to="sjf" if learner == "ppo" else "")
    whole, parts = (MarsTrainer(settings, trace(), tmp_path / name) for name in ("whole", "parts"))
    train(whole, 1)
    parts.update()
    parts.save()
    rest = MarsTrainer(settings, trace(), tmp_path / "parts")
    assert rest.updates == 1
    train(rest, 1)
    first, second = (each.checkpoint("mine", "made", "transom train mars") for each in (whole, rest))
    assert first.card.weights == second.card.weights
    assert (first.card.settings, first.card.scores) == (second.card.settings, second.card.scores)
    kept = whole.learner.arrays(), rest.learner.arrays()
    assert all(np.array_equal(kept[0][name], kept[1][name]) for name in kept[0])
    assert [row.validation for row in whole.curve] == [row.validation for row in rest.curve]
    assert (tmp_path / "whole" / "curve.csv").read_text().count("\n") == 5
    other = MarsTrainer(replace(settings, seed=5), trace(), tmp_path / "other")
    train(other, 1)
    assert not np.array_equal(other.learner.arrays()["weights.actor.out"], kept[0]["weights.actor.out"])
    with pytest.raises(DocumentError, match=r"was begun with clip 0\.2, not 0\.3"):
        MarsTrainer(replace(settings, clip=0.3), trace(), tmp_path / "whole")
    with pytest.raises(DocumentError, match="was begun on other jobs"):
        MarsTrainer(settings, trace().take(slice(0, 150)), tmp_path / "whole")


def test_the_decision_maker_is_given_what_did_best(tmp_path: Path) -> None:
    parts = [trace().take(slice(begin, begin + 100)) for begin in (0, 50, 100)]
    choice = choose(weights_of(1), 128, parts)
    assert sorted(choice.rules) == sorted(f"{rule}-easy" for rule in RULES)
    for rule, value in choice.rules.items():
        plain = np.mean([metrics.bounded_slowdown(simulate(part, rule)).mean() for part in parts])
        assert value == pytest.approx(plain)
    assert choice.learned == pytest.approx(np.mean([greedy(weights_of(1), sequence_of(p), 128, 0.0) for p in parts]))
    assert choice.best <= min([choice.learned, *choice.rules.values()])
    assert choice.settings["small"] == min(choice.rules, key=lambda rule: choice.rules[rule])
    poor = choose(
        first_weights(np.random.default_rng(0), "walltime")._replace(out=np.float32([-1, 1] + [0] * 6)), 128, parts
    )
    assert poor.learned > poor.best


def test_waits_of_tasks_count_from_the_end_of_their_parents() -> None:
    work = dependent()
    (found,) = slowdowns([work], "fcfs-easy")
    assert found < metrics.bounded_slowdown(simulate(work, "fcfs-easy")).mean()


def test_the_command_writes_what_mars_takes(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    write_swf(trace(), tmp_path / "trace.swf")
    words = ["train", "mars", tmp_path / "trace.swf", *OPTIONS.split(), "--seed", "3"]
    first, again = (transom(*words, "--out", tmp_path / name, "--json") for name in ("one", "two"))
    assert (first.status, again.status) == (0, 0), first.err
    assert first.lines[0]["weights"] == again.lines[0]["weights"]
    path = tmp_path / "one" / "mars.safetensors"
    card = load(path, "mars").card
    assert first.lines[0]["chosen"] == {name: card.settings[name] for name in first.lines[0]["chosen"]}
    assert card.command == f"transom train mars trace.swf {OPTIONS} --seed 3 --name mars --out DIR"
    policy = make_policy(f"mars:model={path}")
    assert isinstance(policy, BySize)
    own = f"mars-learned:model=[{path}],cost=0.0"
    assert policy.large == (own if card.settings["large"] == "learned" else card.settings["large"])
    assert len(simulate(trace(), policy)) == 200


def test_workflows_are_learnt_from(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    made = transom(
        "generate", "workflow", "--tasks", "12", "--count", "8", "--gap", "20", "--out", tmp_path / "f.jsonl"
    )
    assert made.status == 0, made.err
    words = ["train", "mars", tmp_path / "f.jsonl", "--nodes", "4", *OPTIONS.split()]
    ran = transom(*words, "--out", tmp_path / "m", "--json")
    assert ran.status == 0, ran.err
    spec = f"mars:model={tmp_path / 'm' / 'mars.safetensors'}"
    replayed = transom("simulate", tmp_path / "f.jsonl", "--nodes", "4", "--policy", spec, "--json")
    assert replayed.status == 0, replayed.err


def test_combined_tasks_are_learnt_from(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    files = ["examples/diamond.dax", "examples/wfformat.json"] * 15
    words = ["train", "mars", *files, "--nodes", "4", "--gap", "60", *OPTIONS.split(), "--combine"]
    ran = transom(*words, "--out", tmp_path, "--json")
    assert ran.status == 0, ran.err
    tasks = sum(len(next(read_workflows(file))) for file in files)
    assert int(ran.err.split(" jobs on ")[0].split()[-1]) < tasks
    assert load(tmp_path / "mars.safetensors", "mars").card.command.endswith(" --combine")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--minutes 0", "minutes must be > 0, got 0"),
        ("--minutes nan", "minutes must be > 0, got nan"),
        ("--learning-rate 0", "mars: learning_rate must be > 0 and < 10, got 0.0"),
        ("--lam 2", "--lam: must be <= 1.0, got 2"),
        ("--relative-to nobody", "unknown policy 'nobody-easy'"),
        ("--length 500", "sequences of 500 need as many jobs, got 200"),
        ("--name training", "a checkpoint's name"),
        ("--gap 5", "--gap"),
        ("--combine", "--combine"),
    ],
)
def test_what_does_not_go_is_one_line(tmp_path: Path, transom: Callable[..., Ran], words: str, says: str) -> None:
    write_swf(trace(), tmp_path / "trace.swf")
    short = [] if "--length" in words else ["--length", "20"]
    command = ["train", "mars", tmp_path / "trace.swf", "--validation-length", "40", *short, *words.split()]
    ran = transom(*command, "--out", tmp_path / "out")
    assert ran.status == 2
    lines = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert says in lines[0]
    assert not (tmp_path / "out" / "mars.safetensors").exists()


def test_settings_refuse_what_no_option_allows() -> None:
    for name, value in (("slots", 513), ("learner", "a3c"), ("batch", 0), ("length", 1)):
        with pytest.raises(SpecError, match=f"mars: {name} must be"):
            replace(SMALL, **{name: value})


def test_a_broken_state_is_one_line(tmp_path: Path) -> None:
    some = MarsTrainer(SMALL, trace(), tmp_path)
    some.update()
    some.save()
    (tmp_path / "training.safetensors").write_bytes(b"nothing")
    with pytest.raises(DocumentError, match=r"training\.safetensors") as error:
        MarsTrainer(SMALL, trace(), tmp_path)
    assert "\n" not in str(error.value)
