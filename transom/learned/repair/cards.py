"""Which checkpoints a learned repair takes, and where."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from transom.errors import DocumentError
from transom.learned import checkpoints
from transom.learned.checkpoints import Card
from transom.models.allocation import Allocation
from transom.models.fat_tree import FatTree

_MOST = 1_000_000


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


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Say of which file it is that something in it does not fit."""
    try:
        yield
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from None


def positive(card: Card, name: str) -> int:
    """A whole number of a card's settings, > 0 and at most a million.

    Raises
    ------
    DocumentError : it is not there or is none.
    """
    value = card.settings.get(name)
    if type(value) is not int or not 0 < value <= _MOST:
        raise DocumentError(f"its card must state {name!r}, a whole number from 1 to {_MOST}, got {value!a:.40}")
    return value


def unsuited(problem: Allocation, model: str, schemas: Collection[str], anywhere: bool) -> str | None:
    """Why a checkpoint is not for a problem, None if it is; ``anywhere``: its cluster does not matter.

    Raises
    ------
    SpecError, DocumentError : as of :func:`read_card`.
    """
    if problem.rule == "static":
        return "it solves the dynamic and the free rule, not static"
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
