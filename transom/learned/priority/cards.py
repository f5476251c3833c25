"""What the card of a scorer of priorities must say, given its weights and this code."""

from __future__ import annotations

import msgspec

from transom.errors import DocumentError, SpecError
from transom.learned.card_facts import must, same
from transom.learned.checkpoints import Card, Weights
from transom.learned.priority.scorer import MACHINE, SCHEMA, TASK
from transom.learned.priority.settings import Training
from transom.learned.training.command import training_command

OBSERVATIONS = {SCHEMA: {"task": TASK, "machine": MACHINE}}
"""What scorers see, by the schema and the part of the weights."""


def check(card: Card, weights: Weights) -> None:
    """Refuse a card of a scorer that says something which weights or code contradict.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    shapes = {name: array.shape for name, array in weights.items()}
    if shapes != {"task": (len(TASK),), "machine": (len(MACHINE),)}:
        raise DocumentError(f"its weights are not those of a scorer of priorities: {shapes!a:.200}")
    same("network", card.network, "linear scorer", "its schema takes")
    same("cluster", card.cluster, {}, "a scorer is for any:")
    try:
        settings = msgspec.convert(card.settings, Training)
    except (msgspec.ValidationError, SpecError) as error:
        raise DocumentError(f"card: settings: {error}") from None
    same("settings", card.settings, {name: getattr(settings, name) for name in Training.__slots__}, "it would be")
    same("seed", card.seed, settings.seed, "that of its settings is")
    if card.command.startswith("transom train"):
        stated = training_command("", settings, card.name).removeprefix("transom train ")
        must("command", card.command, card.command.endswith(stated), f"that of its settings and name: ...{stated}")
    most = settings.generations * settings.population * settings.windows
    must("decisions", card.decisions, card.decisions <= most, f"at most generations x population x windows, {most}")
