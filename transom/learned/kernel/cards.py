"""What the card of a kernel policy must say, given its weights and this code."""

from __future__ import annotations

from transom.learned.card_facts import keys, must, same
from transom.learned.checkpoints import Card, Weights
from transom.learned.kernel.scoring import FEATURES, HIDDEN, SCHEMA, SLOTS
from transom.learned.kernel.weights import read_weights

OBSERVATIONS = {SCHEMA: {"job": FEATURES}}
"""What the network sees of each job, by schema."""

NETWORK = f"kernel-{'x'.join(map(str, HIDDEN))}"


def check(card: Card, weights: Weights) -> None:
    """Refuse a card of a kernel policy that says something which weights or code contradict.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    read_weights(weights)
    same("network", card.network, NETWORK, "the weights are")
    keys("cluster", card.cluster, ("nodes",))
    keys("settings", card.settings, ("backfill", "slots"))
    same("settings.slots", card.settings["slots"], SLOTS, "this version scores")
    must("settings.backfill", card.settings["backfill"], card.settings["backfill"] in ("none", "easy"), "none or easy")
