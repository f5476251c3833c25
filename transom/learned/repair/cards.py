"""Which checkpoints a learned repair takes, and where."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, fields
from typing import Any

import msgspec

from transom.errors import DocumentError, SpecError
from transom.learned import checkpoints
from transom.learned.card_facts import keys, must, same, text, whole
from transom.learned.checkpoints import Card, Weights
from transom.learned.repair.candidates import CONTEXT, FEATURES
from transom.learned.repair.candidates import SCHEMA as CANDIDATES
from transom.learned.repair.forward import prepare
from transom.learned.repair.networks import NETWORKS, shapes
from transom.learned.repair.pool import CLUSTERS
from transom.learned.repair.process import ROWS, SCHEMAS
from transom.learned.repair.task import RepairTask
from transom.learned.repair.training_settings import CostTraining, Training
from transom.learned.scorer import scorer_weights
from transom.learned.training.command import training_command
from transom.models.allocation import Allocation
from transom.models.fat_tree import FatTree

OBSERVATIONS = {
    **{schema: {"rows": rows} for schema, rows in ROWS.items()},
    CANDIDATES: {"features": FEATURES, "context": CONTEXT},
}
"""What networks see, by the schema and the part that it is in."""


def read_card(model: str, schemas: Collection[str]) -> Card:
    """The card of a checkpoint of a repair.

    Parameters
    ----------
    model : the name of a checkpoint that comes with the package, or the path of a ``.safetensors`` file.
    schemas : the observations that it may be made for.

    Raises
    ------
    SpecError : there is no checkpoint of that name.
    DocumentError : the card cannot be read, or says that it is something else.
    """
    path = checkpoints.find(model)
    card = checkpoints.read_card(path)
    if card.component != "repair" or card.schema not in schemas:
        raise DocumentError(
            f"{path}: is part of {card.component!r}, for observations {card.schema!r}; wanted is a part of 'repair' "
            f"for {' or '.join(map(repr, schemas))}"
        )
    return card


def check(card: Card, weights: Weights) -> None:
    """Refuse a card of a repair that says something which weights or code contradict.

    Settings are those of a training, all of them, or those alone that a search needs.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    for name, value in card.cluster.items():
        whole(f"cluster.{name}", value)
    (_check_candidates if card.schema == CANDIDATES else _check_first_nodes)(card, weights)


def _check_first_nodes(card: Card, weights: Weights) -> None:
    """As :func:`check`, of a network that chooses first nodes."""
    must("network", card.network, card.network in NETWORKS, f"one of {', '.join(NETWORKS)}")
    rows = SCHEMAS[card.schema]
    if {name: array.shape for name, array in weights.items()} != shapes(card.network, rows):
        raise DocumentError(f"card: network is {card.network!r} with {rows} rows, and the weights are of another one")
    trained = {field.name for field in fields(Training)}
    if keys("settings", card.settings, ("largest",), (*trained, "largest", "task")):
        settings: Training = _settings(card, Training, "largest", "task")
        model = CLUSTERS[settings.cluster][0]
        same("settings.largest", card.settings["largest"], model.sizes[1], "the largest job of its cluster has")
        task = RepairTask(rows=rows, reward="reciprocal" if settings.reward == "reciprocal" else "cost")
        same("settings.task", card.settings["task"], asdict(task), "its settings make")
        same("settings.network", settings.network, card.network, "the card's network is")
        same("settings.rows", settings.rows, rows, "its schema has")
        tree = {"nodes": model.nodes, "leaf_nodes": model.leaf_nodes, "pod_nodes": model.pod_nodes}
        same("cluster", card.cluster, tree, f"that of settings.cluster {settings.cluster!r} is")
        update = settings.envs * settings.length
        whole_updates = f"a multiple of settings.envs * settings.length, {update}"
        must("decisions", card.decisions, card.decisions % update == 0, whole_updates)
        _check_training(card, settings, "nsa", ("network", "decisions", "seed"))
        text(
            "trained_on", card.trained_on, rf".* of {settings.streams} streams .*{settings.cluster}.*", "its settings'"
        )
    whole("settings.largest", card.settings["largest"])
    prepare(weights, rows)


def _check_candidates(card: Card, weights: Weights) -> None:
    """As :func:`check`, of a network that scores the cheapest starts."""
    same("network", card.network, "shared scorer", "its schema takes")
    found = scorer_weights(weights, len(FEATURES), len(CONTEXT))
    if len(found) != len(weights):
        raise DocumentError(f"its weights are not a scorer's alone: {', '.join(map(ascii, sorted(weights))):.200}")
    trained = {field.name for field in fields(CostTraining)}
    if keys("settings", card.settings, ("candidates",), trained):
        settings: CostTraining = _settings(card, CostTraining)
        hidden = found.bias.size, found.hidden_bias.size
        same("settings.hidden", settings.hidden, hidden, "the weights have")
        same("cluster", card.cluster, {}, "its training is for any:")
        _check_training(card, settings, "nsa-cost")
    whole("settings.candidates", card.settings["candidates"], 2)


def _settings(card: Card, kind: Any, *others: str) -> Any:
    """The settings of a training on a card, but for others that stand there too."""
    given = {name: value for name, value in card.settings.items() if name not in others}
    try:
        return msgspec.convert(given, kind)
    except (msgspec.ValidationError, SpecError) as error:
        raise DocumentError(f"card: settings: {error}") from None


def _check_training(card: Card, settings: Any, kind: str, always: Collection[str] = ("seed",)) -> None:
    same("seed", card.seed, settings.seed, "that of its settings is")
    if card.command.startswith("transom train"):
        wanted = training_command(kind, settings, card.name, always)
        same("command", card.command, wanted, "its settings and name make")


def unsuited(problem: Allocation, model: str, schemas: Collection[str], anywhere: bool) -> str | None:
    """Why a checkpoint is not for a problem, None if it is; ``anywhere``: its cluster does not matter.

    Raises
    ------
    SpecError, DocumentError : as of :func:`read_card`.
    """
    if problem.rule == "static":
        return "it solves the dynamic and the free rule, not static"
    if problem.not_plain:
        return problem.not_plain
    card = read_card(model, schemas)
    return None if anywhere else _misfit(card, problem.tree)


def _misfit(card: Card, tree: FatTree) -> str | None:
    """Why a checkpoint is not for this cluster, None if it is."""
    leaf_nodes, pod_nodes = tree.regular or (0, 0)
    here = {"nodes": tree.num_nodes, "leaf_nodes": leaf_nodes, "pod_nodes": pod_nodes}
    wrong = [
        f"{name} {value} and not {here.get(name)}" for name, value in card.cluster.items() if here.get(name) != value
    ]
    if not wrong:
        return None
    return (
        f"checkpoint {card.name!r} was trained for another cluster: {', '.join(wrong)}; "
        "anywhere=yes uses it nevertheless"
    )
