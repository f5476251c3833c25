"""What the card of an agent of DeepJS must say."""

from __future__ import annotations

from transom.learned.card_facts import must
from transom.learned.checkpoints import Card, Weights
from transom.learned.deepjs.network import network_of

SCHEMA = "deepjs/1"


def check(card: Card, weights: Weights) -> None:
    """Refuse a card whose settings no agent can act by, or whose weights are of another network.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    must("schema", card.schema, card.schema == SCHEMA, SCHEMA)
    network_of(card.network, weights)
    greedy = card.settings.get("greedy")
    must("settings.greedy", greedy, type(greedy) is bool, "true or false")
