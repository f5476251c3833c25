"""What the card of a kernel policy must say."""

from __future__ import annotations

from transom.learned.card_facts import must
from transom.learned.checkpoints import Card, Weights
from transom.learned.kernel.scoring import HIDDEN, SCHEMA
from transom.learned.kernel.weights import read_weights

NETWORK = f"kernel-{'x'.join(map(str, HIDDEN))}"


def check(card: Card, weights: Weights) -> None:
    """Refuse a card of other observations, or whose weights are of another network.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    must("schema", card.schema, card.schema == SCHEMA, SCHEMA)
    read_weights(weights)
