"""The decision maker of MARS: which policy decides follows from how many tasks wait."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from transom.errors import SpecError
from transom.heuristics.priority_rules import PriorityRule
from transom.models import Window
from transom.simulation.core.decision import Decision, Policy
from transom.simulation.core.site_order import clock_among, load_rule, site_order
from transom.simulation.policies.by_name import make_policy


@dataclass(slots=True)
class BySize:
    r"""Hand each decision to one of three policies, by the number :math:`\eta` of waiting jobs.

    Below ``min`` decides ``small``, below ``median`` ``medium``, else ``large``. Tasks of all workflows that wait are
    one batch: this is how followers are absorbed, and no node idles for their sake. More than ``max`` are cut into
    :math:`2^k` parts by submission, :math:`k = \lceil\log_2(\eta / max)\rceil`, and ``large`` sees the first part
    until it has started. Jobs that an earlier decision of another policy reserved nodes for keep no claim.

    Parameters
    ----------
    min, median, max : numbers of waiting jobs, 0 <= min <= median <= max, max > 0.
    small, medium, large : policies, without a period of their own.

    Raises
    ------
    SpecError : the numbers do not ascend, or a policy is unknown or decides by period.

    References
    ----------
    MARS, Algorithm 3, whose learner is any policy here: ``large=[kernel:model=FILE]``.
    """

    min: int = 128
    median: int = 512
    max: int = 20_000
    small: str = "sjf-easy"
    medium: str = "unicep-easy"
    large: str = "f1-easy"

    policies: tuple[Policy, ...] = field(init=False, repr=False)
    rules: tuple[PriorityRule, ...] = field(init=False, repr=False)
    _begins: tuple[int, ...] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not (0 <= self.min <= self.median <= self.max and self.max > 0):
            numbers = f"{self.min}, {self.median} and {self.max}"
            raise SpecError(f"mars: 0 <= min <= median <= max and max > 0 must hold, got {numbers}")
        self.policies = tuple(make_policy(spec) for spec in (self.small, self.medium, self.large))
        for spec, policy in zip((self.small, self.medium, self.large), self.policies, strict=True):
            if getattr(policy, "period", None) is not None:
                raise SpecError(f"mars: {spec!r} decides by period; it cannot take turns")
        self.rules = tuple(load_rule(getattr(policy, "order", "fcfs")) for policy in self.policies)

    def reset(self, rng: np.random.Generator) -> None:
        """Forget earlier replays; each policy draws from a generator of its own."""
        self._begins = None
        for policy, own in zip(self.policies, rng.spawn(len(self.policies)), strict=True):
            if (forget := getattr(policy, "reset", None)) is not None:
                forget(own)

    def see_clocks(self, trace: int, sequence: int) -> None:
        """Before a replay: when the clocks of rules begin, as in replays of these rules."""
        self._begins = tuple(clock_among(rule, trace, sequence) for rule in self.rules)

    def decide(self, window: Window, /) -> Decision:
        """Let the policy of this size decide over the queue in its own order."""
        if self._begins is None:  # asked outside of a replay of ours: clocks begin with what is seen first
            self._begins = (int(window.queue.submit.min(initial=window.now)),) * len(self.policies)
        waiting = len(window.queue)
        who = int(waiting >= self.min) + int(waiting >= self.median)
        queue = window.queue
        if waiting > self.max:
            parts = 1
            while parts * self.max < waiting:
                parts *= 2
            queue = queue.take(np.lexsort((queue.id, queue.submit))[: -(-waiting // parts)])
        queue = queue.take(site_order(self.rules[who], queue, window.now, self._begins[who]))
        seen = Window._trusted(
            window.now, window.cluster, queue, window.running, window.running_end, window.available, window.idle
        )
        said = self.policies[who].decide(seen)
        return replace(said, notes={"decided_by": who}) if isinstance(said, Decision) else said
