"""Networks of DeepJS: compiled scores and gradients are those of plain numpy."""

from __future__ import annotations

import numpy as np
import pytest

from transom.learned.deepjs.network import (
    FEATURES,
    MEAN,
    NETWORKS,
    SCALE,
    Network,
    first_network,
    forward,
    gradient,
    named,
    network_of,
    room,
    scored,
)


def random_network(name: str, seed: int) -> Network:
    rng = np.random.default_rng(seed)
    made = first_network(name, rng)
    return Network(made.weights + rng.normal(0, 0.3, len(made.weights)).astype(np.float32), made.sizes)


def test_networks_and_features_are_those_of_the_paper_and_of_its_code() -> None:
    assert {name: len(random_network(name, 0).weights) for name in NETWORKS} == {"paper": 124, "code": 418}
    assert NETWORKS == {"paper": (6, 3, 9, 6, 1), "code": (6, 3, 9, 18, 9, 1)}
    assert FEATURES == ("free cpu", "free memory", "cpu", "memory", "duration", "waiting instances")
    assert np.allclose(MEAN, [0, 0, 0.65, 0.009, 74, 80.3])
    assert np.allclose(SCALE, [64, 1, 0.23, 0.005, 108, 643.5])


@pytest.mark.parametrize("name", NETWORKS)
def test_scores_are_those_of_plain_numpy(name: str) -> None:
    rng = np.random.default_rng(1)
    for seed in range(5):
        network = random_network(name, seed)
        inputs = rng.normal(0, 4, (37, 6)).astype(np.float32)  # some of them far into saturation
        values = room(network, 50)
        begin = forward(network, inputs, values, 37)
        assert np.allclose(values[begin : begin + 37], scored(network, inputs), atol=2e-6)
        begin = forward(network, inputs[36:], values, 1)  # the same, whatever stands beside it
        assert values[begin] == pytest.approx(scored(network, inputs[36:])[0], abs=2e-6)


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_differences(name: str) -> None:
    rng, network = np.random.default_rng(2), random_network(name, 3)
    inputs, worth = rng.normal(0, 1, (20, 6)).astype(np.float32), rng.normal(0, 1, 20).astype(np.float32)
    values = room(network, 20)
    forward(network, inputs, values, 20)
    slope = gradient(network, values, worth)
    for at in range(len(slope)):
        moved = [Network(network.weights.astype(np.float64), network.sizes) for _ in range(2)]
        for sign, each in zip((1, -1), moved, strict=True):
            each.weights[at] += sign * 1e-5
        up, down = (float(worth.astype(np.float64) @ scored(each, inputs)) for each in moved)
        assert slope[at] == pytest.approx((up - down) / 2e-5, rel=1e-3, abs=1e-4)


def test_weights_by_name_are_the_same_network() -> None:
    network = random_network("paper", 4)
    again = network_of("paper", named(network))
    assert np.array_equal(again.weights, network.weights)
    assert named(network)["layer-1"].shape == (6, 3)
