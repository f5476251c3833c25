"""What a training of an agent is, besides its workloads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from transom import registry
from transom._system.settings import AtLeast, Natural, Positive, Several, check_settings
from transom.errors import SpecError
from transom.learned.dras.process.process import AgentConfig
from transom.learned.dras.process.rewards import parse_reward
from transom.learned.dras.training.policy_gradient import PolicyGradient, PolicyGradientSettings
from transom.learned.dras.training.ppo import Ppo, PpoSettings
from transom.learned.dras.training.q_learning import QLearning, QLearningSettings

_RULES = {
    "pg": (PolicyGradient, PolicyGradientSettings),
    "dql": (QLearning, QLearningSettings),
    "ppo": (Ppo, PpoSettings),
}


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """What a training is, besides its workloads.

    Parameters
    ----------
    agent : how weights are updated, with its settings, such as ``ppo:discount=0.99``.
    reward : what is rewarded, such as ``waiting:growth=0.5``.
    scheme : how the agent schedules.
    decisions : how many to learn from in all, >= 0; with 0 the first weights are the result.
    batch : decisions of an update, > 1.
    instances : instead, scheduling instances of an update, as in section III-C of the paper; 0: by decisions.
    validate_every : updates between two looks at the validation workloads, > 0.
    bound : 0: the best snapshot is the one with the highest sum of rewards. Else the one with the lowest mean waiting
        time among those under which nobody waits longer than so many times as long as under FCFS with EASY backfilling
        on any validation workload; where none is, the one that comes nearest.
    seed : of all random numbers.
    hidden : units of the two hidden layers.
    paper_size : whether to take the network of Table III, on the paper's state, instead of the shared encoder; then
        these are 4000 and 1000 units for Theta.

    Raises
    ------
    SpecError : a number is out of range, or the agent or the reward is unknown.
    """

    agent: str = "ppo"
    reward: str = "waiting"
    scheme: AgentConfig = field(default_factory=AgentConfig)
    decisions: Natural = 600_000
    batch: Several = 8192
    instances: Natural = 0
    validate_every: Positive = 5
    bound: AtLeast = 0.0
    seed: Natural = 0
    hidden: tuple[int, int] = (32, 32)
    paper_size: bool = False

    def __post_init__(self) -> None:
        check_settings("training", self)
        if len(self.hidden) != 2 or min(self.hidden) < 1:
            raise SpecError(f"training: two hidden layers of at least one unit are needed, got {self.hidden}")
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
    if name not in _RULES:
        raise registry.unknown("agent", name, _RULES)
    rule, settings = _RULES[name]
    return rule, registry.build(settings, name, given)


def agent_spec(text: str, learning_rate: float | None, discount: float | None) -> str:
    """The specification of an agent with what ``transom train dras`` has options of their own for.

    Parameters
    ----------
    text : of ``--agent``, without them.
    learning_rate, discount : of the options; None: as is usual for the agent.

    Raises
    ------
    SpecError : the text states what an option is for, or something by a name that is no longer used.
    """
    name, given = registry.parse(text)
    elsewhere = {"learning_rate": "--learning-rate", "discount": "--discount", "gamma": "--discount"}
    for key in given:
        if key in elsewhere:
            raise SpecError(f"--agent {text}: {key} is stated by {elsewhere[key]}")
        if key == "epochs":
            raise SpecError(f"--agent {text}: epochs is now passes")
    stated = {"learning_rate": learning_rate, "discount": discount}
    words = [f"{key}={value!r}" for key, value in stated.items() if value is not None]
    words += [text.partition(":")[2]] if given else []
    return f"{name}:{','.join(words)}" if words else name
