"""Which checkpoints a learned repair takes, and where."""

from __future__ import annotations

from collections.abc import Collection

from transom.errors import DocumentError
from transom.learned import checkpoints
from transom.learned.card_facts import must, whole
from transom.learned.checkpoints import Card, Weights
from transom.learned.repair.candidates import CONTEXT, FEATURES
from transom.learned.repair.candidates import SCHEMA as CANDIDATES
from transom.learned.repair.forward import prepare
from transom.learned.repair.networks import NETWORKS, shapes
from transom.learned.repair.process import SCHEMAS
from transom.learned.scorer import scorer_weights
from transom.models.allocation import Allocation
from transom.models.fat_tree import FatTree


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
    prepare(weights, rows)


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
