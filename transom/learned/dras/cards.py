"""What the card of an agent must say, given its weights and this code."""

from __future__ import annotations

from transom.errors import DocumentError, SpecError
from transom.learned.card_facts import keys, must, same, whole
from transom.learned.checkpoints import Card, Weights
from transom.learned.dras.card_command import check_command
from transom.learned.dras.networks.paper_scorer import SCHEMA as PAPER_SCHEMA
from transom.learned.dras.networks.paper_scorer import PaperShape
from transom.learned.dras.process.features import CONTEXT, FEATURES, SCHEMA
from transom.learned.dras.process.paper_state import JOB, NODE
from transom.learned.dras.process.process import RANGES, AgentConfig
from transom.learned.dras.process.rewards import parse_reward
from transom.learned.dras.updates.settings import rule_of
from transom.learned.scorer import scorer_weights

OBSERVATIONS = {
    SCHEMA: {"features": FEATURES, "context": CONTEXT},
    PAPER_SCHEMA: {"job": JOB, "node": NODE},
}
"""What networks see, by the schema and the part that it is in."""

_CRITIC = ("features", "context", "bias", "pooled", "pooled_context", "pooled_bias", "out", "offset")


def check(card: Card, weights: Weights) -> None:
    """Refuse a card of an agent that says something which weights or code contradict.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    keys("cluster", card.cluster, ("nodes",))
    nodes = whole("cluster.nodes", card.cluster["nodes"], 1, 10**9)
    keys("settings", card.settings, (*RANGES, "agent", "reward", "batch"), (*RANGES, "agent", "reward"))
    scheme = scheme_of(card)
    if "batch" in card.settings:
        whole("settings.batch", card.settings["batch"], 2, 10**9)
    agent = _agent(card)
    must("settings.reward", card.settings["reward"], _is_reward(card.settings["reward"]), "a reward")
    if "after_decisions" in card.scores:
        least, most = card.scores["after_decisions"], card.decisions
        must("scores.after_decisions", least, 0 <= least <= most, f"from 0 to decisions, {most}")
    check_command(card)
    if card.schema == SCHEMA:
        same("network", card.network, _compact(weights), "the weights are")
    elif card.schema == PAPER_SCHEMA:
        shape = paper_shape(card, weights)
        same("network", card.network, "paper-dql" if agent == "dql" else "paper-pg", "its agent takes")
        found = {name: array.shape for name, array in weights.items()}
        if found != shape.shapes():
            raise DocumentError(
                f"card: cluster.nodes is {nodes} and settings.window {scheme.window}, which is not what the weights "
                f"of {card.network} are made for"
            )
    else:
        raise DocumentError(f"card: schema is {card.schema!a:.60}, and agents see {SCHEMA!r} or {PAPER_SCHEMA!r}")


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


def _agent(card: Card) -> str:
    agent = card.settings["agent"]
    try:
        rule_of(str(agent))
    except SpecError as error:
        raise DocumentError(f"card: settings.agent: {error}") from None
    must("settings.agent", agent, isinstance(agent, str), "a specification")
    return str(agent).partition(":")[0]


def _is_reward(said: object) -> bool:
    try:
        parse_reward(str(said))
    except SpecError:
        return False
    return isinstance(said, str)


def _compact(weights: Weights) -> str:
    """The name of the shared encoder in some weights."""
    actor = scorer_weights(weights, len(FEATURES), len(CONTEXT))
    first, second = actor.bias.size, actor.hidden_bias.size
    critic = {name: array.shape for name, array in weights.items() if not name.startswith("actor.")}
    f, g = len(FEATURES), len(CONTEXT)
    shapes = [(f, first), (g, first), (first,), (first, second), (g, second), (second,), (second,), (1,)]
    wanted = {f"critic.{name}": shape for name, shape in zip(_CRITIC, shapes, strict=True)}
    if critic and critic != wanted:
        text = ", ".join(map(ascii, sorted(critic)))
        raise DocumentError(f"its weights beside the actor's are not a critic's: {text:.200}")
    return f"scorer-{first}x{second}"
