"""What the card of a repair must say."""

from __future__ import annotations

from transom.errors import DocumentError
from transom.learned.checkpoints import Card, Weights, must, whole
from transom.learned.repair.candidates import CONTEXT, FEATURES
from transom.learned.repair.candidates import SCHEMA as CANDIDATES
from transom.learned.repair.networks import NETWORKS, shapes
from transom.learned.repair.process import SCHEMAS
from transom.learned.scorer import scorer_weights


def check(card: Card, weights: Weights) -> None:
    """Refuse a card of other observations, whose weights are of another network, or by which no search can go.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    for name, value in card.cluster.items():
        whole(f"cluster.{name}", value)
    if card.schema == CANDIDATES:
        if len(scorer_weights(weights, len(FEATURES), len(CONTEXT))) != len(weights):
            raise DocumentError(f"its weights are not a scorer's alone: {', '.join(map(ascii, sorted(weights))):.200}")
        whole("settings.candidates", card.settings.get("candidates"), 2)
        return
    must("schema", card.schema, card.schema in SCHEMAS, " or ".join((*SCHEMAS, CANDIDATES)))
    must("network", card.network, card.network in NETWORKS, f"one of {', '.join(NETWORKS)}")
    rows = SCHEMAS[card.schema]
    if {name: array.shape for name, array in weights.items()} != shapes(card.network, rows):
        raise DocumentError(f"card: network is {card.network!r} with {rows} rows, and the weights are of another one")
    whole("settings.largest", card.settings.get("largest"))
