"""Which checkpoints a learned repair takes, and where."""

from __future__ import annotations

from collections.abc import Collection

from transom.errors import DocumentError
from transom.learned import checkpoints
from transom.learned.checkpoints import Card
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


def positive(card: Card, name: str) -> int:
    """A whole number > 0 of a card's settings.

    Raises
    ------
    DocumentError : it is not there or is none.
    """
    value = card.settings.get(name)
    if type(value) is not int or value <= 0:
        raise DocumentError(
            f"checkpoint {card.name!r}: its card must state {name!r}, a whole number > 0, got {value!r}"
        )
    return value


def misfit(card: Card, tree: FatTree) -> str | None:
    """Why a checkpoint is not for this cluster, None if it is."""
    leaf_nodes, pod_nodes = tree.regular or (0, 0)
    here = {"nodes": tree.num_nodes, "leaf_nodes": leaf_nodes, "pod_nodes": pod_nodes}
    wrong = [f"{name} {here.get(name)}, not {value}" for name, value in card.cluster.items() if here.get(name) != value]
    if not wrong:
        return None
    return (
        f"checkpoint {card.name!r} was trained for another cluster, which this one is not: {', '.join(wrong)}; "
        "anywhere=yes uses it nevertheless"
    )
