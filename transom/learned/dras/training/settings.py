"""What a training of an agent is, besides its workloads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from transom import registry
from transom._system.settings import AtLeast, Natural, Positive, Several, check_settings, setting
from transom.errors import SpecError
from transom.learned.dras.process.process import AgentConfig
from transom.learned.dras.process.rewards import parse_reward
from transom.learned.dras.training.policy_gradient import PolicyGradient, PolicyGradientSettings
from transom.learned.dras.training.ppo import Ppo, PpoSettings
from transom.learned.dras.training.q_learning import QLearning, QLearningSettings
from transom.learned.training.settings import Seed

RULES = {
    "pg": (PolicyGradient, PolicyGradientSettings),
    "dql": (QLearning, QLearningSettings),
    "ppo": (Ppo, PpoSettings),
}
"""The ways of updating an agent and their settings, by name."""


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """What a training is, besides its workloads.

    ``scheme`` is how the agent schedules; ``agent`` may state settings, such as ``ppo:discount=0.99``. Updates by
    ``instances`` are as in section III-C of the paper. Without a ``bound`` the best snapshot is the one with the
    highest sum of rewards; with one, that with the lowest mean waiting time among those under which nobody waits longer
    than so many times as long as under FCFS with EASY backfilling on any validation workload, and where none is, the
    one that comes nearest. ``paper_size`` networks read the paper's state instead of the shared encoder.

    Raises
    ------
    SpecError : a number is out of range, or the agent or the reward is unknown.
    """

    agent: Annotated[
        str,
        setting(
            "Learning algorithm: pg (equation 3), dql (equation 4) or ppo, with settings such as "
            "ppo:passes=2,entropy=0.01."
        ),
    ] = "ppo"
    reward: Annotated[
        str,
        setting("Reward: waiting, waiting:growth=G, slowdown, capability (equation 1) or capacity (equation 2)."),
    ] = "waiting"
    scheme: AgentConfig = field(default_factory=AgentConfig)
    decisions: Annotated[Natural, setting("Number of decisions to learn from. 0 writes the untrained network.")] = (
        600_000
    )
    batch: Annotated[Several, setting("Number of decisions of an update.")] = 8192
    instances: Annotated[
        Natural, setting("Update after N scheduling instances instead of a batch. In the paper 10.")
    ] = 0
    validate_every: Annotated[
        Positive, setting("Number of updates between two validations. Each also saves the state.")
    ] = 5
    bound: Annotated[
        AtLeast,
        setting("Choose by the mean wait within X times the longest wait of FCFS+EASY."),
    ] = 0.0
    seed: Seed = 0
    hidden: Annotated[
        tuple[Positive, Positive], setting("Units of the two hidden layers; with paper_size 4000,1000.", "H,K")
    ] = (32, 32)
    paper_size: Annotated[bool, setting("Use the network of Table III and the state of the paper. Slow.")] = False

    def __post_init__(self) -> None:
        check_settings("training", self)
        parse_reward(self.reward)
        rule, chosen = rule_of(self.agent)
        if self.paper_size and (rule.needs_critic or getattr(chosen, "dueling", False)):
            raise SpecError(f"{self.agent}: the paper's networks have no critic; take pg or dql:dueling=no")


def rule_of(spec: str) -> tuple[Any, Any]:
    """The class that updates weights and its settings, by the specification of an agent.

    Raises
    ------
    SpecError : there is no such agent, or a setting does not fit.
    """
    name, given = registry.parse(spec)
    if name not in RULES:
        raise registry.unknown("agent", name, RULES)
    rule, settings = RULES[name]
    return rule, registry.build(settings, name, given)
