"""``max_wait`` of policies that are no rules: who has waited longer goes first, and nobody else delays it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.amounts import numbers
from transom.adapters.rules.rlscheduler_protocol import compare, parse_entries
from transom.class_files import trust_files
from transom.errors import PolicyError, SpecError
from transom.learned.dras.agent.any_agent import AgentPolicy
from transom.learned.dras.process.process import AgentConfig
from transom.models import Cluster, FatTree, JobTable, Window
from transom.simulation import Decision, Policy, Schedule, make_policy, simulate
from transom.simulation.event_rules import parse_rules
from transom.simulation.output.verification import check_schedule
from transom.simulation.policies.by_name import with_max_wait
from transom.simulation.policies.clocks import clock_of
from transom.simulation.policies.max_wait import MaxWaitPolicy
from transom.traces import Workload, cut, read_swf

LUBLIN = "instances/workloads/lublin_5000.swf.gz"
KINDS = (
    "dras-pg:anywhere=yes", "dras-dql:anywhere=yes", "decima-pg:anywhere=yes", "kernel", "kernel:backfill=easy",
    "mars:min=5,median=9", "mars-learned", "random", "largest-first", "window:solver=dp", "optimization", "agent",
)  # fmt: skip


def worst(seen: Any) -> int:
    """An agent that takes the last place, whatever it sees."""
    return -1


def made(kind: str) -> Policy:
    if kind == "agent":
        return AgentPolicy(worst, AgentConfig(longest=86_400, window=8))
    return make_policy(kind)


def crowded(rng: np.random.Generator, resources: bool = False) -> Workload:
    """Jobs that come faster than they can run."""
    jobs = 60
    walltime = rng.integers(1, 60, jobs)
    rows = [np.arange(jobs) + 1, np.sort(rng.integers(0, 300, jobs)), rng.integers(1, 9, jobs), walltime]
    data = np.column_stack((*rows, np.full(jobs, -1), np.full(jobs, -1)))
    if resources:
        data = np.column_stack((data, rng.integers(0, 4, jobs)))
    cluster = Cluster(10, ("gpu",), (5,)) if resources else Cluster(10)
    return Workload("crowded", cluster, JobTable(data), np.maximum(1, walltime - rng.integers(0, 40, jobs)))


def begins(job: int, taken: list[tuple[int, np.ndarray]], capacity: np.ndarray, asks: np.ndarray, now: int) -> int:
    """When a job fits at the earliest, beside jobs that end by their limits."""
    for time in (now, *sorted(end for end, _ in taken)):
        if (asks[job] <= capacity - sum((amount for end, amount in taken if end > time), 0 * capacity)).all():
            return time
    raise AssertionError("every job fits on the empty machine")


def overtakings(schedule: Schedule, longest: int, backfills: bool) -> int:
    """Instants at which a job has waited too long and still waits; fails where another one that has not delays it."""
    jobs, start, end = schedule.jobs, schedule.start, schedule.end
    capacity = np.array([schedule.cluster.num_nodes, *schedule.cluster.capacities])
    asks, found = np.column_stack((jobs.nodes, jobs.demand)), 0
    for now in schedule.decisions["time"].tolist():
        late = [k for k in range(len(jobs)) if now - jobs.submit[k] > longest and start[k] >= now]
        taken = [
            (max(int(start[k] + jobs.walltime[k]), now + 1), asks[k])
            for k in range(len(jobs))
            if start[k] < now < end[k]
        ]
        first = None
        for k in late:  # by submission
            if start[k] != now:
                first = k
                break
            taken.append((now + int(jobs.walltime[k]), asks[k]))
        if first is None:
            continue
        found += 1
        promised = begins(first, taken, capacity, asks, now)
        assert promised > now, "it fits and waits"
        ahead = [k for k in range(len(jobs)) if start[k] == now and (k not in late or k > first)]
        assert backfills or not ahead
        taken += [(now + int(jobs.walltime[k]), asks[k]) for k in ahead]
        assert begins(first, taken, capacity, asks, now) == promised
    return found


@numbers(4, 40)
@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_delayed_by_a_job_that_is_not_overdue(kind: str, numbers: range) -> None:
    found = 0
    for seed in numbers:
        rng = np.random.default_rng(seed)
        workload = crowded(rng, seed % 2 == 1)
        longest = int(rng.integers(20, 120))
        schedule = simulate(workload, with_max_wait(made(kind), longest))
        assert check_schedule(workload, schedule) == []
        found += overtakings(schedule, longest, kind != "kernel")
    assert found > 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_bound_that_nobody_reaches_changes_nothing(kind: str) -> None:
    workload = crowded(np.random.default_rng(7))
    plain, bound = simulate(workload, made(kind), spec=kind), with_max_wait(made(kind), 10**9)
    assert simulate(workload, bound, spec=kind).start.tolist() == plain.start.tolist()


def test_what_fits_beside_the_overdue_job_starts() -> None:
    """Nine of ten nodes are free, and the overdue job needs all: of the others the short ones go, and one long one."""
    running = JobTable([(1, 0, 1, 100, -1, -1)])
    queue = JobTable([(2, 0, 10, 50, -1, -1), *((k, 90, 3, 10 if k < 6 else 99, -1, -1) for k in range(3, 8))])
    window = Window(95, Cluster(10), queue, running, [120], [9])
    said = with_max_wait(make_policy("largest-first"), 60).decide(window)
    assert (said.start, set(said.backfill)) == ((), {3, 4, 5})
    assert [(each.job, each.start) for each in said.reserve] == [(2, 120)]
    wide = JobTable([(2, 0, 7, 50, -1, -1), (3, 90, 2, 99, -1, -1), (4, 91, 2, 99, -1, -1), (5, 92, 1, 5, -1, -1)])
    window = Window(95, Cluster(10), wide, JobTable([(1, 0, 4, 100, -1, -1)]), [120], [6])
    assert with_max_wait(make_policy("largest-first"), 60).decide(window).backfill == (
        3,
        5,
    )  # 3 leaves too little for 4


def test_a_policy_may_state_nodes() -> None:
    class Last:
        """Starts what fits, on the highest idle nodes."""

        def decide(self, window: Window, /) -> Decision:
            assert window.idle is not None
            idle, nodes = window.idle.tolist(), {}
            for job in window.queue:
                if job.nodes <= len(idle):
                    nodes[job.id] = [idle.pop() for _ in range(job.nodes)]
            return Decision(start=tuple(nodes), nodes=nodes)

    plain = crowded(np.random.default_rng(3))
    workload = Workload(plain.name, Cluster(10, topology=FatTree.uniform(10, 5, 10)), plain.jobs, plain.runtime)
    schedule = simulate(workload, with_max_wait(Last(), 50))
    assert check_schedule(workload, schedule) == []
    assert overtakings(schedule, 50, True) > 5


def test_names_take_it_with_units_and_everything_else_of_the_policy_stays() -> None:
    bound = make_policy("dras-pg:max_wait=7d,anywhere=yes")
    assert isinstance(bound, MaxWaitPolicy)
    assert bound.seconds == 7 * 86_400
    workload = cut(read_swf(LUBLIN), 300, 600)
    for kind in ("mars:min=2,median=5,small=f4-easy,large=f1-easy", "kernel", "window:order=saf,solver=dp"):
        assert clock_of(f"{kind}{',' if ':' in kind else ':'}max_wait=9h") == clock_of(kind)
        plain, far = simulate(workload, kind), simulate(workload, with_max_wait(make_policy(kind), 10**9), spec=kind)
        assert far.start.tolist() == plain.start.tolist()


def test_class_files_take_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from transom.heuristics.priority_rules import Saf\n"
        "from transom.simulation import Decision, RulePolicy\n\n"
        "def rule(factor: float = 1.0):\n    return Saf()\n\n"
        "def backfilled():\n    return RulePolicy('saf', 'easy')\n\n"
        "class Mine:\n    order = 'saf'\n\n"
        "    def decide(self, window):\n        return RulePolicy('saf', 'easy').decide(window)\n\n"
        "def agent():\n"
        "    import gymnasium\n    from transom.learned.envs import make_policy\n"
        "    env = gymnasium.make('transom/Scheduling-v0', jobs=20)\n"
        "    return make_policy(lambda seen: 0, env)\n\n"
        "class Own:\n    def __init__(self, max_wait: int):\n        self.most = max_wait\n\n"
        "    def decide(self, window):\n        return Decision()\n"
    )
    trust_files(f"{tmp_path}/mine.py:rule")
    workload = cut(read_swf(LUBLIN), 0, 600)

    def start(spec: str) -> list[int]:
        found: list[int] = simulate(workload, spec).start.tolist()
        return found

    mine = f"{tmp_path}/mine.py"
    assert start(f"{mine}:rule:factor=2,max_wait=2h") == start("saf:max_wait=2h") != start("saf")
    assert start(f"{mine}:rule-easy:max_wait=2h") == start("saf-easy:max_wait=2h")
    assert start(f"{mine}:backfilled:max_wait=2h") == start("saf-easy:max_wait=2h")
    assert start(f"{mine}:Mine:max_wait=1000d") == start("saf-easy")
    assert start(f"{mine}:Mine:max_wait=2h") != start("saf-easy")
    own: Any = make_policy(f"{mine}:Own:max_wait=77")
    assert own.most == 77
    pytest.importorskip("gymnasium")
    assert start(f"{mine}:agent:max_wait=2h") != start(f"{mine}:agent")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("dras-pg:max_wait=soon", "dras-pg:max_wait=soon: max_wait: expected whole seconds, or a number with a unit"),
        ("kernel:max_wait=0", "max_wait must be from 1 to 1000000000 s, got 0"),
        ("slurm-backfill:max_wait=7d", r"does not go with SlurmBackfill: order=\[fcfs:max_wait=7d\]"),
        ("multisched:max_wait=7d", "does not go with MultiSched: bound=N"),
        ("nwp:max_wait=7d", "does not go with PeriodPolicy: those that have waited for most periods go first"),
    ],
)
def test_what_takes_no_bound_is_refused(spec: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        make_policy(spec)
    with pytest.raises(SpecError, match="set twice"):
        with_max_wait(make_policy("saf-easy:max_wait=60"), 60)


def test_a_choice_that_does_not_wait_is_told() -> None:
    class Wrong:
        def decide(self, window: Window, /) -> Decision:
            return Decision(start=(4711,))

    with pytest.raises(PolicyError, match="job 4711 is started but does not wait"):
        simulate(crowded(np.random.default_rng(1)), with_max_wait(Wrong(), 1))


def test_the_protocol_takes_it_under_textbook_events_alone() -> None:
    policies = ["kernel:max_wait=2h", "kernel", "fcfs:max_wait=2h"]
    rules: Any = parse_rules("rlscheduler:length=200,sequences=2,first=600")
    workload = cut(read_swf(LUBLIN), 0, 600)
    for backfill in ("none", "easy"):
        bound, plain, _ = compare(parse_entries(policies, backfill, True), workload, rules, True)
        assert bound["backfill"] == plain["backfill"] == backfill
        assert bound["bounded_slowdown"] != plain["bounded_slowdown"]
    with pytest.raises(SpecError, match="rlscheduler rules know no max_wait, not 'kernel:max_wait=2h'"):
        parse_entries(policies, "none", False)
