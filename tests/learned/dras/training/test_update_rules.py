"""The three update rules against a few lines of numpy on small made batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from transom.learned.dras.training.collect import Batch
from transom.learned.dras.training.learner import observed
from transom.learned.dras.training.policy_gradient import PolicyGradient, PolicyGradientSettings
from transom.learned.dras.training.ppo import Ppo, PpoSettings
from transom.learned.dras.training.q_learning import QLearning, QLearningSettings
from transom.learned.scorer import scored
from transom.learned.training.returns import advantages

torch = pytest.importorskip("torch", reason="needs the extra learned")

from transom.learned.dras.training.scorer_network import ScorerNetwork  # noqa: E402
from transom.learned.training.ppo import entropies  # noqa: E402

F, G, W = 5, 3, 6


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def network(seed: int = 0) -> ScorerNetwork:
    made = ScorerNetwork(F, G, (8, 4), np.random.default_rng(seed))
    with torch.no_grad():  # away from the nearly uniform beginning
        for weight in made.parameters():
            weight.add_(
                torch.from_numpy(np.random.default_rng(seed + 1).normal(0, 0.3, weight.shape).astype(np.float32))
            )
    return made


def batch(decisions: int = 40, seed: int = 0, dones: tuple[int, ...] = ()) -> Batch:
    rng = np.random.default_rng(seed)
    count = rng.integers(2, W + 1, decisions)
    done = np.zeros(decisions, bool)
    done[list(dones)] = True
    features = rng.normal(size=(decisions, W, F)).astype(np.float32)
    features[np.arange(W) >= count[:, None]] = np.nan  # what lies beyond the count must not be looked at
    made = {
        "features": features,
        "context": rng.normal(size=(decisions, G)).astype(np.float32),
        "count": count,
        "action": (rng.random(decisions) * count).astype(np.int64),
        "log_probability": np.log(1 / count),
        "reward": rng.normal(size=decisions),
        "done": done,
        "instant": np.arange(decisions),
    }
    return Batch(**{name: made.get(name, np.ones(decisions)) for name in Batch._fields})


def chances(made: ScorerNetwork, of: Batch, k: int) -> Any:
    """The softmax over the valid candidates of decision ``k`` in plain numpy."""
    scores = scored(made.scorer(), of.features[k, : of.count[k]], of.context[k])
    raised = np.exp(scores - scores.max())
    return raised / raised.sum()


def all_values(made: ScorerNetwork, of: Batch) -> Any:
    data = observed(of, "cpu")
    with torch.no_grad():
        return made.values(data.features, data.context, data.count).numpy().astype(float)


def all_scores(made: ScorerNetwork, of: Batch) -> Any:
    data = observed(of, "cpu")
    with torch.no_grad():
        return made(data.features, data.context, data.count).numpy()


class TestNetwork:
    def test_it_scores_as_the_kernels_do(self) -> None:
        made, of = network(), batch()
        scores = all_scores(made, of)
        for k in range(len(of.count)):
            n = of.count[k]
            assert scores[k, :n] == pytest.approx(scored(made.scorer(), of.features[k, :n], of.context[k]), abs=1e-5)
            assert (scores[k, n:] == -np.inf).all()

    def test_what_lies_beyond_the_count_has_no_chance(self) -> None:
        made, of = network(), batch()
        data = observed(of, "cpu")
        logs = torch.log_softmax(made(data.features, data.context, data.count), 1)
        inside = np.arange(W) < of.count[:, None]
        assert (logs.exp().detach().numpy()[~inside] == 0).all()
        assert logs.exp().sum(dim=1).detach().numpy() == pytest.approx(1)
        by_hand = [chances(made, of, k) for k in range(len(of.count))]
        found = np.array([-(p * np.log(p)).sum() for p in by_hand])
        entropy, share = entropies(logs)
        assert float(entropy.detach()) == pytest.approx(found.mean(), rel=1e-4)
        assert share == pytest.approx((found / np.log(of.count)).mean(), rel=1e-4)

    def test_the_value_does_not_depend_on_order_or_on_what_lies_beyond(self) -> None:
        made, of = network(), batch()
        turned = of.features.copy()
        for k in range(len(of.count)):
            turned[k, : of.count[k]] = of.features[k, : of.count[k]][::-1]
            turned[k, of.count[k] :] = 7
        assert all_values(made, of) == pytest.approx(all_values(made, of._replace(features=turned)), abs=1e-5)

    def test_the_first_policy_is_nearly_uniform(self) -> None:
        data = observed(batch(), "cpu")
        fresh = ScorerNetwork(F, G, (32, 32), np.random.default_rng(0))
        assert entropies(torch.log_softmax(fresh(data.features, data.context, data.count), 1))[1] > 0.99


class TestDiscounting:
    @given(
        hnp.arrays(float, 9, elements=st.floats(-5, 5)),
        hnp.arrays(float, 10, elements=st.floats(-5, 5)),
        hnp.arrays(bool, 9),
        st.sampled_from([0.0, 0.5, 1.0]),
    )
    def test_advantages_lie_between_one_step_and_the_whole_sum(
        self, reward: Any, values: Any, done: Any, lam: float
    ) -> None:
        found = np.empty(9)
        discount = np.full(9, 0.9)
        advantages(reward, discount, done, values[:9], values[9], lam, found)
        step = reward + np.where(done, 0, 0.9 * values[1:]) - values[:9]
        for k in range(9):
            total, factor = 0.0, 1.0
            for i in range(k, 9):
                total += factor * step[i]
                factor *= 0.0 if done[i] else 0.9 * lam
            assert found[k] == pytest.approx(total, abs=1e-9)


def gradients(learner: Any, of: Batch, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The gradient that an update computes, without the step."""
    found: dict[str, Any] = {}

    def catch() -> None:
        found.update({n: None if w.grad is None else w.grad.clone() for n, w in learner.network.named_parameters()})

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda *_: 0.0)
    monkeypatch.setattr(learner._optimiser, "step", catch)
    learner.update(of, np.random.default_rng(0))
    return found


def difference(of: Any, weight: Any, at: tuple[int, ...], step: float = 1e-3) -> float:
    """The slope of a plain function along one weight."""
    sides = []
    for sign in (1, -1):
        with torch.no_grad():
            weight[at] += sign * step
        sides.append(of())
        with torch.no_grad():
            weight[at] -= sign * step
    return float((sides[0] - sides[1]) / (2 * step))


class TestPolicyGradient:
    def test_it_steps_along_equation_3(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made, of = network(), batch(dones=(17,))
        rule = PolicyGradient(made, PolicyGradientSettings())
        found = gradients(rule, of, monkeypatch)
        ends = [18 if k < 18 else 40 for k in range(40)]
        gain = np.array([of.reward[k : ends[k]].sum() for k in range(40)])

        def objective() -> Any:
            return np.mean([np.log(chances(made, of, k)[of.action[k]]) * gain[k] for k in range(40)])

        for name, at in (("out", (2,)), ("features", (1, 3)), ("context", (0, 5))):
            assert float(found[f"actor.{name}"][at]) == pytest.approx(
                -difference(objective, made.actor[name], at), rel=0.02, abs=1e-3
            )

    def test_the_baseline_is_the_mean_of_past_updates_by_step(self) -> None:
        rule = PolicyGradient(network(), PolicyGradientSettings())
        assert (rule.baseline(4) == 0).all()
        one, two = batch(10, seed=1), batch(5, seed=2)
        rule.update(one, np.random.default_rng(0))
        rule.update(two, np.random.default_rng(0))
        first = np.cumsum(one.reward[::-1])[::-1]
        second = np.cumsum(two.reward[::-1])[::-1]
        known = [*((first[:5] + second) / 2), *first[5:]]
        assert rule.baseline(13) == pytest.approx([*known, known[-1], known[-1], known[-1]])

    def test_a_return_that_equals_its_baseline_teaches_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rule, of = PolicyGradient(network(), PolicyGradientSettings()), batch()
        rule.update(of, np.random.default_rng(0))
        found = gradients(rule, of, monkeypatch)
        assert all(float(found[f"actor.{name}"].abs().max()) < 1e-6 for name in ("out", "features", "hidden"))


class TestQLearning:
    @pytest.mark.parametrize("dueling", [False, True])
    def test_it_descends_the_squared_error_of_equation_4(self, dueling: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        made, of = network(), batch(dones=(9,))
        rule = QLearning(made, QLearningSettings(discount=0.9, dueling=dueling, minibatch=1000))
        found = gradients(rule, of, monkeypatch)

        def q(k: int) -> Any:
            scores = scored(made.scorer(), of.features[k, : of.count[k]], of.context[k])
            return scores - scores.mean() + all_values(made, of)[k] if dueling else scores

        scale = np.sqrt(np.square(of.reward[:39]).mean())
        new = [of.reward[k] / scale * 0.1 + (0 if k == 9 else 0.9 * q(k + 1).max()) for k in range(39)]

        def loss() -> Any:
            return np.mean([(new[k] - q(k)[of.action[k]]) ** 2 for k in range(39)])

        for name, at in (("out", (2,)), ("features", (1, 3))):
            assert float(found[f"actor.{name}"][at]) == pytest.approx(
                difference(loss, made.actor[name], at), rel=0.02, abs=1e-3
            )

    def test_exploration_decays_to_its_least(self) -> None:
        rule = QLearning(network(), QLearningSettings(decay=0.5, least=0.2))
        seen = []
        for _ in range(4):
            seen.append(rule.exploration)
            rule.update(batch(), np.random.default_rng(0))
        assert seen == [1.0, 0.5, 0.25, 0.2]

    def test_new_values_come_from_the_kept_network(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rule = QLearning(network(), QLearningSettings(target=3))
        first = {name: weight.clone() for name, weight in rule.network.state_dict().items()}
        for k in range(4):
            rule.update(batch(seed=k), np.random.default_rng(0))
            kept = rule.state()
            same = all((kept[f"target.{name}"] == weight.numpy()).all() for name, weight in first.items())
            assert same == (k < 3)

    def test_it_learns_which_candidate_pays(self) -> None:
        made = network()
        rule = QLearning(made, QLearningSettings(discount=0.5, learning_rate=0.01, passes=4, minibatch=128))
        for k in range(40):
            of = batch(300, seed=k)
            paid = of.features[np.arange(300), of.action, 0].astype(float)
            rule.update(of._replace(reward=paid), np.random.default_rng(k))
        assert picks_the_largest_first_feature(made) > 0.9


class TestPpo:
    def test_the_first_step_follows_the_advantages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made, of = network(), batch(dones=(9,))
        logs = np.array([np.log(chances(made, of, k)[of.action[k]]) for k in range(40)])
        of = of._replace(log_probability=logs)
        rule = Ppo(made, PpoSettings(discount=0.9, lam=0.8, passes=1, minibatch=1000, entropy=0.0, value=0.0))
        values, gain = all_values(made, of), np.empty(39)
        advantages(of.reward[:39], np.full(39, 0.9), of.done[:39], values[:39], values[39], 0.8, gain)
        found = gradients(rule, of, monkeypatch)
        gain = (gain - gain.mean()) / gain.std()

        def objective() -> Any:
            # Where nothing is clipped yet, the slope of the ratio is that of the logarithm.
            return np.mean([np.log(chances(made, of, k)[of.action[k]]) * gain[k] for k in range(39)])

        for name, at in (("out", (2,)), ("features", (1, 3))):
            assert float(found[f"actor.{name}"][at]) == pytest.approx(
                -difference(objective, made.actor[name], at), rel=0.02, abs=1e-3
            )

    def test_what_has_moved_far_enough_is_left_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made, of = network(), batch()
        # As if every action had been ten times less likely: all ratios with a gain are clipped, the others are not.
        logs = np.array([np.log(chances(made, of, k)[of.action[k]]) for k in range(40)]) - np.log(10)
        settings_ = PpoSettings(discount=0.0, lam=0.0, passes=1, minibatch=1000, entropy=0.0, value=0.0)
        only_gains = gradients(Ppo(made, settings_), of._replace(log_probability=logs), monkeypatch)
        gain = of.reward[:39] - all_values(made, of)[:39]
        gain = (gain - gain.mean()) / gain.std()

        def objective() -> Any:
            ratio = [np.exp(np.log(chances(made, of, k)[of.action[k]]) - logs[k]) for k in range(39)]
            return np.mean([min(r * g, np.clip(r, 0.8, 1.2) * g) for r, g in zip(ratio, gain, strict=True)])

        at = (1, 3)
        assert float(only_gains["actor.features"][at]) == pytest.approx(
            -difference(objective, made.actor["features"], at), rel=0.02, abs=1e-2
        )

    def test_it_learns_which_candidate_pays(self) -> None:
        made = ScorerNetwork(F, G, (8, 8), np.random.default_rng(0))
        rule = Ppo(made, PpoSettings(discount=0.5, lam=0.5, learning_rate=0.01, passes=4, minibatch=128))
        for k in range(15):
            of = batch(400, seed=k)
            actions = np.array(
                [np.random.default_rng([k, i]).choice(n, p=chances(made, of, i)) for i, n in enumerate(of.count)]
            )
            logs = np.array([np.log(chances(made, of, i)[a]) for i, a in enumerate(actions)])
            paid = of.features[np.arange(400), actions, 0].astype(float)
            rule.update(of._replace(action=actions, log_probability=logs, reward=paid), np.random.default_rng(k))
        assert picks_the_largest_first_feature(made) > 0.9


def picks_the_largest_first_feature(made: ScorerNetwork) -> float:
    of = batch(200, seed=99)
    best = all_scores(made, of).argmax(axis=1)
    first = np.where(np.arange(W) < of.count[:, None], np.nan_to_num(of.features[:, :, 0]), -np.inf)
    return float((best == first.argmax(axis=1)).mean())


RULES: list[Any] = [
    (PolicyGradient, PolicyGradientSettings(standardise=True, entropy=0.01)),
    (QLearning, QLearningSettings(target=2, passes=2, minibatch=16)),
    (Ppo, PpoSettings(minibatch=16)),
]


@pytest.mark.parametrize(("rule", "chosen"), RULES)
class TestEveryRule:
    def test_gradients_are_finite_and_every_weight_moves(self, rule: Any, chosen: Any) -> None:
        learner = rule(network(), chosen)
        before = {name: weight.clone() for name, weight in learner.network.state_dict().items()}
        figures = learner.update(batch(dones=(3, 38)), np.random.default_rng(0))
        assert np.isfinite(list(figures.values())).all()
        assert figures["gradient"] > 0
        for name, weight in learner.network.state_dict().items():
            assert torch.isfinite(weight).all()
            if rule is not PolicyGradient or name.startswith("actor."):
                assert not torch.equal(weight, before[name]), name

    def test_a_state_that_is_restored_gives_the_same_next_update(self, rule: Any, chosen: Any) -> None:
        one, other = rule(network(0), chosen), rule(network(5), chosen)
        for k in range(3):
            one.update(batch(seed=k), np.random.default_rng(k))
        other.restore(one.state())
        for learner in (one, other):
            learner.update(batch(50, seed=7), np.random.default_rng(7), 0.5)
        ours, theirs = one.state(), other.state()
        assert ours.keys() == theirs.keys()
        assert all((ours[name] == theirs[name]).all() for name in ours)
        assert one.exploration == other.exploration

    def test_weights_of_another_network_are_refused(self, rule: Any, chosen: Any) -> None:
        state = rule(network(), chosen).state()
        state["weights.actor.out"] = np.zeros(9, np.float32)
        with pytest.raises(RuntimeError, match="size mismatch"):
            rule(network(), chosen).restore(state)


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.sampled_from([0, 1, 2]))
def test_extreme_rewards_leave_weights_finite(seed: int, which: int) -> None:
    rule, chosen = RULES[which]
    of = batch(seed=seed)
    learner = rule(network(), chosen)
    figures = learner.update(of._replace(reward=of.reward * 1e9), np.random.default_rng(0))
    assert np.isfinite(figures["gradient"])
    assert all(torch.isfinite(weight).all() for weight in learner.network.parameters())
