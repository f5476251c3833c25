"""What the card of a scorer of priorities must say."""

from __future__ import annotations

from transom.learned.card_facts import must
from transom.learned.checkpoints import Card, Weights
from transom.learned.priority.scorer import MACHINE, SCHEMA, TASK


def check(card: Card, weights: Weights) -> None:
    """Refuse a card of other observations, or whose weights are none of such a scorer.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    must("schema", card.schema, card.schema == SCHEMA, SCHEMA)
    shapes = {name: array.shape for name, array in weights.items()}
    wanted = {"task": (len(TASK),), "machine": (len(MACHINE),)}
    must("the shape of its weights", shapes, shapes == wanted, str(wanted))
