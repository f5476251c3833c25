"""What the card of an agent of DeepJS must say, given its weights and this code."""

from __future__ import annotations

from dataclasses import asdict

import msgspec

from transom.errors import DocumentError, SpecError
from transom.learned.card_facts import keys, must, same
from transom.learned.checkpoints import Card, Weights
from transom.learned.deepjs.network import FEATURES, network_of
from transom.learned.deepjs.settings import Training
from transom.learned.training.command import training_command

SCHEMA = "deepjs/1"
OBSERVATIONS = {SCHEMA: {"pair": FEATURES}}
"""What networks see, by the schema and the part of the weights."""


def check(card: Card, weights: Weights) -> None:
    """Refuse a card of DeepJS that says something which weights or code contradict.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    network_of(card.network, weights)
    same("cluster", card.cluster, {}, "an agent is for any:")
    keys("settings", card.settings, (*Training.__slots__, "greedy"))
    given = dict(card.settings)
    greedy = given.pop("greedy")
    must("settings.greedy", greedy, type(greedy) is bool, "true or false")
    try:
        settings = msgspec.convert(given, Training)
    except (msgspec.ValidationError, SpecError) as error:
        raise DocumentError(f"card: settings: {error}") from None
    same("settings", given, asdict(settings), "it would be")
    same("settings.network", settings.network, card.network, "the card's network is")
    same("seed", card.seed, settings.seed, "that of its settings is")
    if card.command.startswith("transom train"):
        stated = training_command("", settings, card.name).removeprefix("transom train ")
        must("command", card.command, card.command.endswith(stated), f"that of its settings and name: ...{stated}")
