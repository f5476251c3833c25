"""What the card of an agent must say."""

from __future__ import annotations

from transom.errors import DocumentError
from transom.learned.checkpoints import Card, Weights, must, whole
from transom.learned.dras.process.features import CONTEXT, FEATURES, SCHEMA
from transom.learned.dras.process.paper_scorer import SCHEMA as PAPER_SCHEMA
from transom.learned.dras.process.paper_scorer import PaperShape
from transom.learned.dras.process.process import RANGES, AgentConfig
from transom.learned.scorer import scorer_weights

_CRITIC = ("features", "context", "bias", "pooled", "pooled_context", "pooled_bias", "out", "offset")


def check(card: Card, weights: Weights) -> None:
    """Refuse a card of other observations, whose weights are of another network, or by which no agent can act.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    nodes, scheme = whole("cluster.nodes", card.cluster.get("nodes"), 1, 10**9), scheme_of(card)
    must("schema", card.schema, card.schema in (SCHEMA, PAPER_SCHEMA), f"{SCHEMA} or {PAPER_SCHEMA}")
    if card.schema == SCHEMA:
        _check_compact(weights)
    elif {name: array.shape for name, array in weights.items()} != paper_shape(card, weights).shapes():
        raise DocumentError(
            f"card: cluster.nodes is {nodes} and settings.window {scheme.window}, which is not what the weights "
            f"of {card.network} are made for"
        )


def scheme_of(card: Card) -> AgentConfig:
    """How the agent of a card schedules.

    Raises
    ------
    DocumentError : its settings lack a number, or one is out of range.
    """
    return AgentConfig(
        **{name: whole(f"settings.{name}", card.settings.get(name), *ends) for name, ends in RANGES.items()}
    )


def paper_shape(card: Card, weights: Weights) -> PaperShape:
    """Sizes of the network of Table III that a card speaks of.

    Raises
    ------
    DocumentError : its network is none of Table III, or the weights hold no second layer.
    """
    must("network", card.network, card.network in ("paper-pg", "paper-dql"), "paper-pg or paper-dql")
    second = weights.get("second")
    if second is None or second.ndim != 2:
        raise DocumentError(f"card: network is {card.network!r}, and the weights have no second layer")
    kind = "dql" if card.network == "paper-dql" else "pg"
    return PaperShape(kind, card.cluster.get("nodes", 0), scheme_of(card).window, *second.shape)  # type: ignore[arg-type]


def _check_compact(weights: Weights) -> None:
    """Refuse weights that are none of a shared encoder, perhaps with its critic."""
    actor = scorer_weights(weights, len(FEATURES), len(CONTEXT))
    first, second = actor.bias.size, actor.hidden_bias.size
    critic = {name: array.shape for name, array in weights.items() if not name.startswith("actor.")}
    f, g = len(FEATURES), len(CONTEXT)
    shapes = [(f, first), (g, first), (first,), (first, second), (g, second), (second,), (second,), (1,)]
    wanted = {f"critic.{name}": shape for name, shape in zip(_CRITIC, shapes, strict=True)}
    if critic and critic != wanted:
        text = ", ".join(map(ascii, sorted(critic)))
        raise DocumentError(f"its weights beside the actor's are not a critic's: {text:.200}")
