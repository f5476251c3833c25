from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.errors import DocumentError
from transom.learned.scorer import ScorerWeights, highest, sample, score, scored, scorer_weights, softmax


def weights(rng: np.random.Generator, features: int = 7, context: int = 3, hidden: int = 8) -> ScorerWeights:
    shapes = [(features, hidden), (context, hidden), (hidden,), (hidden, hidden), (hidden,), (hidden,)]
    return ScorerWeights(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))


def test_it_computes_the_formula() -> None:
    rng = np.random.default_rng(0)
    made = weights(rng)
    features, context = rng.normal(size=(20, 7)).astype(np.float32), rng.normal(size=3).astype(np.float32)
    scores = np.full(20, np.nan, np.float32)
    score(made, features, context, 17, scores)
    assert scores[:17] == pytest.approx(scored(made, features, context)[:17], rel=1e-4, abs=1e-4)
    assert np.isnan(scores[17:]).all()


@pytest.mark.parametrize(
    ("name", "made", "message"),
    [
        (
            "actor.out",
            None,
            "'bias', 'context', 'features', 'hidden', 'hidden_bias'; wanted: features, context",
        ),
        ("actor.else", np.zeros(3, np.float32), "not the weights of a scorer: 'bias', 'context', 'else'"),
        ("actor.features", np.zeros((6, 8), np.float32), r"shapes \[\(6, 8\), .*, not \[\(7, 8\)"),
        ("actor.bias", np.float32(1), "its weights have shapes"),
        ("actor.hidden_bias", np.zeros((1, 8), np.float32), "its weights have shapes"),
    ],
)
def test_weights_of_something_else_are_refused(name: str, made: Any, message: str) -> None:
    good = {f"actor.{field}": array for field, array in weights(np.random.default_rng(2))._asdict().items()}
    found = scorer_weights({**good, "critic.bias": np.zeros(1, np.float32)}, 7, 3)
    assert all(np.array_equal(one, other) for one, other in zip(found, good.values(), strict=True))
    changed = {**good, name: made}
    with pytest.raises(DocumentError, match=message):
        scorer_weights({key: array for key, array in changed.items() if array is not None}, 7, 3)


def test_the_order_of_candidates_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    made = weights(rng)
    features, context = rng.normal(size=(9, 7)).astype(np.float32), rng.normal(size=3).astype(np.float32)
    order = rng.permutation(9)
    scores, permuted = np.empty(9, np.float32), np.empty(9, np.float32)
    score(made, features, context, 9, scores)
    score(made, np.ascontiguousarray(features[order]), context, 9, permuted)
    assert (permuted == scores[order]).all()


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=8), st.integers(0, 2**32))
def test_what_lies_beyond_the_count_is_never_drawn(values: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = np.array([*values, 1e6], np.float32)
    chances = np.full(len(scores), 7.0)
    softmax(scores, len(values), chances)
    assert chances[: len(values)].sum() == pytest.approx(1)
    assert all(sample(rng, chances, len(values)) < len(values) for _ in range(20))
    assert highest(scores, len(values)) == int(np.argmax(scores[:-1]))
