"""What the card of a checkpoint of MARS must say, given its weights and this code."""

from __future__ import annotations

from transom.errors import SpecError
from transom.learned.card_facts import keys, must, whole
from transom.learned.checkpoints import Card, Weights
from transom.learned.kernel.cards import NETWORK
from transom.learned.kernel.scoring import FEATURES
from transom.learned.kernel.weights import read_weights
from transom.simulation import make_policy

SCHEMA = "transom/mars/1"
"""Name and version of the observations."""

OBSERVATIONS = {SCHEMA: {"job": FEATURES}}
"""What the network sees of each job, by schema."""

LEARNERS = ("ppo", "actor-critic")
SLOTS = 512
"""The most jobs that a network may be shown."""

_SETTINGS = ("learner", "slots", "min", "median", "small", "medium", "large")


def check(card: Card, weights: Weights) -> None:
    """Refuse a card of MARS that says something which weights or code contradict.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    read_weights(weights)
    must("network", card.network, card.network == NETWORK, NETWORK)
    keys("cluster", card.cluster, ("nodes",))
    keys("settings", card.settings, _SETTINGS, (*_SETTINGS, "classes"))
    settings = card.settings
    classes = settings.get("classes", ["0"])
    must(
        "settings.classes",
        classes,
        isinstance(classes, list) and all(isinstance(each, str) for each in classes),
        "texts",
    )
    must("settings.learner", settings["learner"], settings["learner"] in LEARNERS, " or ".join(LEARNERS))
    whole("settings.slots", settings["slots"], 1, SLOTS)
    least = whole("settings.min", settings["min"], 0)
    whole("settings.median", settings["median"], least)
    for name in ("small", "medium", "large"):
        said = settings[name]
        must(f"settings.{name}", said, _is_rule(said) or (name == "large" and said == "learned"), "RULE-easy")


def _is_rule(said: object) -> bool:
    if not (isinstance(said, str) and said.partition(":")[0].endswith("-easy")):
        return False
    try:
        make_policy(said)
    except SpecError:
        return False
    return True
