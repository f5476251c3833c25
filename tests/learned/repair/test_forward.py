"""The compiled networks give what torch's give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transom.learned.checkpoints import Weights
from transom.learned.repair import forward as compiled
from transom.learned.repair.forward import forward, prepare, room
from transom.learned.repair.networks import NETWORKS, network, weights_of


def drawn(name: str, rows: int, seed: int) -> Weights:
    """Weights of a size at which no layer is nearly linear and none is saturated."""
    rng = np.random.default_rng(seed)
    shapes = {key: value.shape for key, value in weights_of(network(name, rows)).items()}
    return {
        key: rng.normal(scale=(2 / np.prod(shape[1:])) ** 0.5, size=shape).astype(np.float32)
        for key, shape in shapes.items()
    }


@pytest.mark.parametrize("rows", [5, 4])
@pytest.mark.parametrize("name", NETWORKS)
def test_they_score_as_torch_does(name: str, rows: int) -> None:
    torch = pytest.importorskip("torch")
    from tests.learned.repair.made import actor_with

    weights = drawn(name, rows, 3)
    made = prepare(weights, name, rows)
    actor, space = actor_with(name, rows, weights), room(made)
    rng = np.random.default_rng(4)
    for idle in (100, 37, 1):
        seen = rng.random((rows, 100), dtype=np.float32)
        seen[:, idle:] = 0
        batch = torch.from_numpy(seen[None] if name.startswith("cnn") else seen.reshape(1, -1))
        with torch.no_grad():
            expected = actor(batch).numpy()[0]
        got = forward(made, seen, space)
        assert got.shape == (100,)
        assert np.abs(expected).max() > 0.5
        assert got == pytest.approx(expected, abs=1e-4)


@settings(max_examples=50)
@given(st.lists(st.floats(-40, 40, width=32), min_size=1, max_size=20))
def test_the_tangent_is_exact_to_six_digits(values: list[float]) -> None:
    got = np.array(values, np.float32)
    compiled._tanh(got)
    assert got == pytest.approx(np.tanh(np.array(values)), rel=1e-6, abs=1e-6)
    assert np.abs(got).max() <= 1
