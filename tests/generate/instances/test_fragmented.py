"""Large systems whose idle nodes are fragments: what is drawn keeps what is promised."""

from __future__ import annotations

import numpy as np
import pytest

from transom.errors import ModelError, SpecError
from transom.generate.instances.fragmented import Fragments, fragmented_allocation
from transom.models import AUTHORS

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("seed", range(5))
def test_the_named_family(seed: int) -> None:
    problem = fragmented_allocation(np.random.default_rng(seed))
    assert problem.tree.num_nodes == 20_000
    assert problem.tree.regular == (32, 512)
    assert len(problem.idle) == 5_000
    assert len(problem) == 50
    assert 2 <= problem.sizes.min() <= problem.sizes.max() <= 256
    assert problem.sizes.sum() <= 0.95 * 5_000
    assert 30 < np.median(problem.sizes) < 80
    assert (problem.rule, problem.wrap) == ("static", False)
    runs = 1 + int((np.diff(problem.idle) > 1).sum())
    assert 10 < runs < 100  # fragments, neither one block nor single nodes


def test_the_generator_alone_decides() -> None:
    a, b = (fragmented_allocation(np.random.default_rng(3)) for _ in range(2))
    assert a == b
    assert a != fragmented_allocation(np.random.default_rng(4))


@pytest.mark.parametrize("load", [0.2, 0.5, 1.0])
def test_demand_is_scaled_down_to_the_load(load: float) -> None:
    system = Fragments(mean=500.0, cap=2_000, load=load)
    problem = fragmented_allocation(np.random.default_rng(0), system, cost=AUTHORS, wrap=True)
    assert 0.95 * load <= problem.sizes.sum() / 5_000 <= load
    assert problem.wrap
    assert problem.cost == AUTHORS


def test_extremes() -> None:
    rng = np.random.default_rng(0)
    assert len(fragmented_allocation(rng, Fragments(jobs=0))) == 0
    small = Fragments(nodes=100, leaf_nodes=5, pod_nodes=20)
    whole = fragmented_allocation(rng, small._replace(idle=100, jobs=3, mean=5))
    assert whole.idle.tolist() == list(range(100))
    one = fragmented_allocation(rng, small._replace(idle=2, jobs=1, load=1.0, longest=1000))
    assert one.sizes.tolist() == [2]
    assert set(fragmented_allocation(rng, Fragments(spread=0.0)).sizes.tolist()) == {50}
    assert fragmented_allocation(rng, Fragments(spread=1e6)).sizes.max() <= 256


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"idle": 0}, "idle"),
        ({"idle": 20_001}, "idle"),
        ({"jobs": -1}, "jobs"),
        ({"cap": 1}, "cap"),
        ({"longest": 0}, "longest"),
        ({"mean": 0.0}, "mean"),
        ({"mean": float("nan")}, "mean"),
        ({"spread": -1.0}, "spread"),
        ({"load": 0.0}, "load"),
        ({"load": 1.1}, "load"),
        ({"jobs": 2_400}, "2400 jobs of 2 nodes"),
    ],
)
def test_numbers_out_of_range(given: dict[str, float], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        fragmented_allocation(np.random.default_rng(0), Fragments(**given))


def test_a_tree_that_is_none() -> None:
    with pytest.raises(ModelError, match="multiple"):
        fragmented_allocation(np.random.default_rng(0), Fragments(leaf_nodes=32, pod_nodes=100))
