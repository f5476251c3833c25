"""What the card of a checkpoint of MARS must say."""

from __future__ import annotations

from transom.errors import SpecError
from transom.learned.checkpoints import Card, Weights, must, whole
from transom.learned.kernel.weights import read_weights
from transom.simulation import make_policy

SCHEMA = "transom/mars/1"
"""Name and version of the observations."""

SLOTS = 512
"""The most jobs that a network may be shown."""


def check(card: Card, weights: Weights) -> None:
    """Refuse a card of other observations, whose weights are of another network, or by which nobody can decide.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    must("schema", card.schema, card.schema == SCHEMA, SCHEMA)
    read_weights(weights)
    settings = card.settings
    whole("settings.slots", settings.get("slots"), 1, SLOTS)
    whole("settings.median", settings.get("median"), whole("settings.min", settings.get("min"), 0))
    for name in ("small", "medium", "large"):
        said = settings.get(name)
        must(f"settings.{name}", said, _is_rule(said) or (name == "large" and said == "learned"), "RULE-easy")
    classes = settings.get("classes", [])
    known = isinstance(classes, list) and all(isinstance(each, str) for each in classes)
    must("settings.classes", classes, known, "a list of texts")


def _is_rule(said: object) -> bool:
    if not (isinstance(said, str) and said.partition(":")[0].endswith("-easy")):
        return False
    try:
        make_policy(said)
    except SpecError:
        return False
    return True
