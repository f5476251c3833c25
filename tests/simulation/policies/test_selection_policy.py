from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.selection_cases import true_front
from tests.simulation.workloads import workloads
from transom import registry
from transom.errors import PolicyError
from transom.models import Cluster, Job, Selection, Window
from transom.simulation import MODES, Reservation, make_policy, simulate
from transom.simulation.output.verification import check_schedule
from transom.simulation.policies.selection import SelectionPolicy
from transom.traces import TracedJob, Workload


class Enumeration:
    """Every subset of a few jobs: the whole front."""

    name, solves = "enumeration", Selection

    def supports(self, problem, /):
        return None

    def __call__(self, problem, budget, rng, /, start=None):
        subsets = np.array(np.meshgrid(*[[False, True]] * len(problem))).reshape(len(problem), -1).T
        budget.found(problem.front(subsets[problem.feasible(subsets)]))
        budget.prove(budget.value)


class Dice(Enumeration):
    """One feasible choice at random, by the generator that it is given."""

    def __call__(self, problem, budget, rng, /, start=None):
        chosen = np.zeros((1, len(problem)), bool)
        for job in rng.permutation(len(problem)):
            chosen[0, job] = rng.random() < 0.6
            chosen[0, job] &= problem.feasible(chosen)[0]
        budget.found(problem.front(chosen))


class Broken(Enumeration):
    def __call__(self, problem, budget, rng, /, start=None):
        raise RuntimeError("out of order")


@pytest.fixture(autouse=True)
def _solvers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the solvers above under names of their own."""
    real = registry.make

    def make(group, spec, problem=None):
        mine = {"enumeration": Enumeration, "dice": Dice, "broken": Broken}
        return mine[spec]() if group == registry.SOLVERS and spec in mine else real(group, spec, problem)

    monkeypatch.setattr(registry, "make", make)


EXACT = {"solver": "enumeration", "seconds": None}


def machine(*rows: tuple[int, ...], capacity: int = 10) -> Workload:
    """A workload on 8 nodes and a burst buffer from (id, submit, nodes, buffer, walltime[, runtime])."""
    jobs = [TracedJob(Job(id_, at, n, w, (bb,)), *(rest or [w])) for id_, at, n, bb, w, *rest in rows]
    return Workload.of(jobs, Cluster(8, ("bb",), (capacity,)))


class Recording(SelectionPolicy):
    """Keeps every window with its decision."""

    def decide(self, window, /):
        decision = SelectionPolicy.decide(self, window)
        self.seen.append((window, decision))
        return decision

    def __init__(self, **settings: object) -> None:
        SelectionPolicy.__init__(self, **settings)
        self.seen: list[tuple] = []


def check_promises(workload: Workload, schedule, policy: Recording) -> None:
    """No promise is given up, gets later or is broken, and nobody is passed over more often than the bound allows."""
    start = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
    promised: dict[int, int] = {}
    passed: dict[int, int] = {}
    for window, decision in policy.seen:
        queue = window.queue.id.tolist()
        gone = {*decision.start, *decision.backfill}
        held = {each.job: each.start for each in decision.reserve}
        assert all(begin > window.now for begin in held.values())
        for job, begin in promised.items():
            if start[job] > window.now:
                assert held[job] <= begin
            else:
                assert start[job] <= begin
        last = max((place for place, job in enumerate(queue) if job in gone), default=0)
        for job in queue[:last]:
            if job not in gone:
                passed[job] = passed.get(job, 0) + 1
        for job in queue:
            if job in held and job not in promised:
                assert passed[job] == policy.bound, "promised by the pass that passes it over for the last time"
            if job not in gone and passed.get(job, 0) >= policy.bound:
                assert job in held
        stayed = [job for job in promised if job in held]
        assert list(held)[: len(stayed)] == stayed, "they queue in the order in which they were made"
        check_places(window, gone, held)
        promised = held


def check_places(window: Window, gone: set[int], held: dict[int, int]) -> None:
    """Second by second: all that runs or is promised fits, and nobody could be promised an earlier start."""
    by_id = {job.id: job for job in [*window.queue, *window.running]}
    capacity = np.array([window.cluster.num_nodes, *window.cluster.capacities])
    ends = dict(zip(window.running.id.tolist(), window.running_end.tolist(), strict=True))
    spans = {job: (window.now, end) for job, end in ends.items()}
    spans |= {job: (window.now, window.now + by_id[job].walltime) for job in gone}
    spans |= {job: (begin, begin + by_id[job].walltime) for job, begin in held.items()}
    used = np.zeros((max((end for _, end in spans.values()), default=window.now) - window.now, len(capacity)), int)
    for job, (begin, end) in spans.items():
        used[begin - window.now : end - window.now] += (by_id[job].nodes, *by_id[job].demand)
    assert (used <= capacity).all()
    for job, begin in held.items():
        asks, length = np.array((by_id[job].nodes, *by_id[job].demand)), by_id[job].walltime
        others = used.copy()
        others[begin - window.now : begin - window.now + length] -= asks
        for earlier in range(begin - window.now):
            assert (others[earlier : earlier + length] + asks > capacity).any()


@settings(max_examples=150)
@given(
    workloads(max_jobs=25, exact=True, resources=2, dependencies=True),
    st.integers(1, 5),
    st.integers(1, 3),
    st.sampled_from(["fcfs", "sjf", "wfp3"]),
)
def test_promises_are_kept_with_exact_walltimes(workload: Workload, size: int, bound: int, order: str) -> None:
    policy = Recording(size=size, bound=bound, order=order, rule="weighted", **EXACT)
    schedule = simulate(workload, policy)
    assert check_schedule(workload, schedule) == []
    check_promises(workload, schedule, policy)


@settings(max_examples=150)
@given(
    workloads(max_jobs=25, resources=2),
    st.one_of(st.none(), st.floats(0.05, 1)),
    st.integers(1, 3),
    st.integers(0, 100),
    st.booleans(),
)
def test_promises_are_kept_when_jobs_end_early(
    workload: Workload, k: float | None, bound: int, seed: int, backfill: bool
) -> None:
    policy = Recording(k=k, bound=bound, solver="dice", seconds=None, backfill=backfill)
    schedule = simulate(workload, policy, seed=seed)
    assert check_schedule(workload, schedule) == []
    check_promises(workload, schedule, policy)


@settings(max_examples=60)
@given(workloads(max_jobs=15, resources=1), st.integers(1, 4), st.data())
def test_jobs_that_outrun_their_walltime_break_promises_but_stall_nothing(
    workload: Workload, bound: int, data: st.DataObject
) -> None:
    longer = data.draw(st.lists(st.integers(0, 9), min_size=len(workload), max_size=len(workload)))
    workload = replace(workload, runtime=workload.runtime + np.array(longer))
    schedule = simulate(workload, Recording(bound=bound, **EXACT))
    assert check_schedule(workload, schedule) == []


@settings(max_examples=60)
@given(workloads(max_jobs=12, resources=2), st.sampled_from(["trade-off", "knee", "lexicographic:order=r1"]))
def test_what_starts_is_a_point_of_the_front(workload: Workload, rule: str) -> None:
    policy = Recording(k=1, bound=None, rule=rule, **EXACT)
    schedule = simulate(workload, policy)
    assert check_schedule(workload, schedule) == []
    for window, decision in policy.seen:
        problem = Selection.from_window(window)
        chosen = np.isin(window.queue.id, decision.start)[None, :]
        assert problem.feasible(chosen).all()
        front = problem.front(chosen)
        assert np.array_equal(front.selections, chosen), "nothing that fits is left waiting"
        assert tuple(front.values[0].tolist()) in true_front(problem)
    decisions = schedule.decisions
    asked = decisions["points"] > 0
    assert (decisions["status"] == np.where(asked, "optimal", "none")).all()
    assert (asked == (decisions["started"] > 0)).all()
    assert (decisions["window"] == decisions["queued"]).all()
    assert not decisions["promised"].any()
    assert not decisions["cut"].any()


@settings(max_examples=40)
@given(workloads(max_jobs=15, resources=1), st.sampled_from(["fcfs", "sjf", "wfp3"]))
def test_the_knob_at_0_is_the_plain_order(workload: Workload, order: str) -> None:
    schedule = simulate(workload, SelectionPolicy(k=0, order=order, bound=1, **EXACT))
    assert np.array_equal(schedule.start, simulate(workload, order).start)
    assert set(schedule.decisions["status"].tolist()) == {"order"}
    assert not schedule.decisions["window"].any()


@pytest.mark.parametrize(("given", "window"), [({"k": 0.25}, 3), ({"k": 1}, 10), ({"k": 0.01}, 1), ({"size": 4}, 4)])
def test_the_window_is_a_share_of_the_queue_or_so_many_jobs(given: dict, window: int) -> None:
    workload = machine(*((i, 0, 8 if i % 2 else 9 - i, 1, 5) for i in range(1, 9)), (9, 0, 1, 1, 5), (10, 0, 2, 1, 5))
    schedule = simulate(workload, SelectionPolicy(**given, **EXACT))
    assert schedule.decisions["window"][0] == window


def test_a_job_that_is_passed_over_too_often_is_promised_its_start() -> None:
    # At 2 job 3 starts and passes job 2 over, which then waits for both, until 22. At 10 job 4 would run beside job 3
    # until 40: barred; job 5 may, it leaves job 2 its six nodes, and passes job 4 over.
    workload = machine((1, 0, 4, 0, 10), (2, 1, 6, 0, 5), (3, 2, 4, 0, 20), (4, 3, 4, 0, 30), (5, 4, 2, 0, 30))
    policy = Recording(bound=1, **EXACT)
    schedule = simulate(workload, policy)
    assert schedule.start.tolist() == [0, 22, 2, 27, 10]
    assert [(window.now, decision.reserve) for window, decision in policy.seen] == [
        (0, ()),
        (1, ()),
        (2, (Reservation(2, 22),)),
        (3, (Reservation(2, 22),)),
        (4, (Reservation(2, 22),)),
        (10, (Reservation(2, 22), Reservation(4, 27))),
        (22, (Reservation(4, 27),)),
        (27, ()),
    ]
    assert [MODES[mode] for mode in schedule.mode] == ["ready", "reserved", "ready", "reserved", "backfilled"]
    assert schedule.decisions["promised"].tolist() == [0, 0, 1, 1, 1, 2, 1, 0]
    assert schedule.decisions["barred"].tolist() == [0, 0, 0, 0, 0, 1, 0, 0]
    assert schedule.decisions["pruned"].tolist() == [0, 1, 1, 1, 2, 0, 0, 0]
    assert schedule.decisions["reserved_job"].tolist() == [-1, -1, 2, 2, 2, 2, 4, -1]
    unbound = simulate(workload, SelectionPolicy(bound=None, **EXACT))
    assert unbound.start.tolist() == [0, 40, 2, 10, 22]
    twice = simulate(workload, SelectionPolicy(bound=2, **EXACT))
    assert twice.start.tolist() == [0, 40, 2, 10, 22]  # passed over by jobs 3 and 4, it is promised the end of job 4


def test_a_promise_holds_for_the_burst_buffer_too() -> None:
    # Job 2 waits for the buffer of job 1; job 4 would take it away at 10, but not what job 2 leaves of it.
    workload = machine((1, 0, 1, 8, 10), (2, 1, 1, 7, 10), (3, 2, 1, 2, 5), (4, 3, 1, 4, 50), (5, 3, 1, 3, 50))
    schedule = simulate(workload, SelectionPolicy(bound=1, order="fcfs", rule="lexicographic", **EXACT))
    assert schedule.start.tolist() == [0, 10, 2, 20, 10]
    assert schedule.decisions["reserved_start"].tolist()[:3] == [-1, -1, 10]


def test_a_choice_that_would_delay_a_promise_is_cut_and_counted() -> None:
    # Job 2 is promised its six nodes at 10; each of jobs 4 and 5 leaves them, both do not.
    workload = machine((1, 0, 3, 0, 10), (2, 1, 6, 0, 5), (3, 1, 1, 0, 2), (4, 2, 2, 0, 90), (5, 2, 2, 0, 90))
    policy = Recording(bound=1, **EXACT)
    schedule = simulate(workload, policy)
    assert schedule.start.tolist() == [0, 10, 1, 2, 15]
    assert [(window.now, decision.notes["cut"]) for window, decision in policy.seen] == [
        (0, 0), (1, 0), (2, 1), (3, 0), (10, 0), (15, 0),
    ]  # fmt: skip


def test_several_promises_queue_in_order_and_move_forward_when_jobs_end_early() -> None:
    # Jobs 2 and 3 need the whole machine: promised 20 and 25 when job 4 overtakes them. Job 1 ends at 8, not at 20.
    workload = machine((1, 0, 7, 0, 20, 8), (2, 1, 8, 0, 5), (3, 1, 8, 0, 5), (4, 2, 1, 0, 3))
    policy = Recording(bound=1, **EXACT)
    schedule = simulate(workload, policy)
    assert schedule.start.tolist() == [0, 8, 13, 2]
    assert [(window.now, decision.reserve) for window, decision in policy.seen[2:]] == [
        (2, (Reservation(2, 20), Reservation(3, 25))),
        (5, (Reservation(2, 20), Reservation(3, 25))),
        (8, (Reservation(3, 13),)),
        (13, ()),
    ]


@pytest.mark.parametrize(("given", "plain"), [({"size": 1}, [0, 10, 20, 40]), ({"k": 0}, [0, 10, 10, 20])])
def test_jobs_behind_the_window_are_backfilled_on_request(given: dict, plain: list[int]) -> None:
    # The window holds one job at a time, or none.
    workload = machine((1, 0, 5, 0, 10), (2, 1, 5, 0, 10), (3, 2, 3, 0, 20), (4, 3, 1, 0, 4))
    assert simulate(workload, SelectionPolicy(**given, **EXACT)).start.tolist() == plain
    schedule = simulate(workload, SelectionPolicy(**given, bound=1, backfill=True, **EXACT))
    assert schedule.start.tolist() == [0, 10, 2, 20]
    assert schedule.decisions["reserved_start"].tolist()[2] == 10


def test_jobs_may_be_worth_their_wait() -> None:
    # Of two jobs for the whole machine the one that has waited is worth more.
    workload = machine((1, 0, 8, 0, 10), (2, 1, 8, 0, 10), (3, 9, 8, 1, 10))
    by_nodes = simulate(workload, SelectionPolicy(rule="lexicographic", **EXACT))
    by_wait = simulate(workload, SelectionPolicy(objectives="wait/nodes", rule="lexicographic", **EXACT))
    assert by_nodes.start.tolist() == [0, 20, 10]
    assert by_wait.start.tolist() == [0, 10, 20]


def test_the_same_seed_gives_the_same_schedule() -> None:
    rng = np.random.default_rng(1)
    rows = ((i, int(rng.integers(60)), int(rng.integers(1, 9)), int(rng.integers(9)), 9) for i in range(1, 60))
    workload = machine(*rows)
    spec = "selection:solver=dice,seconds=none,iterations=50"
    one, two, other = (simulate(workload, spec, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(one.start, two.start)
    assert not np.array_equal(one.start, other.start)


def test_a_solver_that_fails_is_an_error() -> None:
    workload = machine((1, 0, 5, 0, 10), (2, 0, 6, 0, 10))
    with pytest.raises(PolicyError, match="at 0 s: solver 'broken' failed: RuntimeError: out of order"):
        simulate(workload, "selection:solver=broken")


@pytest.mark.parametrize(
    ("spec", "solver", "k", "rule"),
    [
        ("multisched", "multisched:ga=[nsga2],exhaustive=10", 0.2, "trade-off"),
        (
            "multisched:k=none,size=7,ga=[bbsched-ga:generations=9,mutation=0.1],exhaustive=0,rule=knee",
            "multisched:ga=[bbsched-ga:generations=9,mutation=0.1],exhaustive=0",
            None,
            "knee",
        ),
        ("bbsched", "bbsched-ga:prune=no", None, "2x"),
        ("weighted", "weighted", 0.2, "trade-off"),
        ("weighted:weights=1/2", "weighted:weights=1/2", 0.2, "trade-off"),
        ("constrained", "constrained:objective=nodes", 0.2, "trade-off"),
        ("dot-product:k=0.5", "dot-product", 0.5, "trade-off"),
    ],
)
def test_methods_of_the_poster(spec: str, solver: str, k: float | None, rule: str) -> None:
    policy = make_policy(spec)
    assert isinstance(policy, SelectionPolicy)
    assert (policy.solver, policy.k, policy.rule) == (solver, k, rule)


@pytest.mark.parametrize(
    "spec",
    [
        "selection:solver=pareto-dp,bound=2,seconds=none",
        "selection:solver=exhaustive,k=0.5,bound=2,seconds=none,rule=knee",
        "selection:solver=epsilon,objectives=nodes/wait,bound=2,seconds=none,rule=2x",
        "selection:solver=nsga2,size=9,bound=2,seconds=none,iterations=3",
        "multisched:bound=2,seconds=none,iterations=3,exhaustive=4",
        "bbsched:bound=2,seconds=none,iterations=9",
        "weighted:bound=2,seconds=none",
        "constrained:bound=2,seconds=none",
        "dot-product:bound=2",
    ],
)
def test_every_method_keeps_promises_and_repeats_itself(spec: str) -> None:
    rng = np.random.default_rng(7)
    rows = (
        (i, i // 2, int(rng.integers(1, 9)), int(rng.integers(11)), int(walltime), int(rng.integers(1, walltime + 1)))
        for i, walltime in enumerate(rng.integers(1, 9, 60), 1)
    )
    workload = machine(*rows)
    made = make_policy(spec)
    assert isinstance(made, SelectionPolicy)
    stated = {each.name: getattr(made, each.name) for each in fields(SelectionPolicy) if each.init}
    policy = Recording(**stated)
    schedule = simulate(workload, policy, seed=2)
    assert check_schedule(workload, schedule) == []
    check_promises(workload, schedule, policy)
    assert schedule.decisions["promised"].any()
    again = simulate(workload, Recording(**stated), seed=2)
    assert np.array_equal(again.start, schedule.start)


@pytest.mark.parametrize("name", ["multisched", "bbsched", "weighted", "constrained", "dot-product"])
@pytest.mark.parametrize("parameter", ["k=0.5", "size=9", "order=sjf", "objectives=nodes", "bound=none"])
def test_methods_of_the_poster_by_name(name: str, parameter: str) -> None:
    policy = make_policy(f"{name}:{parameter}")
    key, value = parameter.split("=")
    assert isinstance(policy, SelectionPolicy)
    assert str(getattr(policy, key)).lower() == value


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("selection:size=0", "size must be > 0"),
        ("multisched:size=9,k=0.5", "state one of them"),
        ("selection:k=1.5", "k must be from 0 to 1"),
        ("selection:k=-0.1", "k must be from 0 to 1"),
        ("selection:bound=0", "bound must be > 0 or none"),
        ("selection:solver=gurobi", "unknown solver 'gurobi'"),
        ("selection:solver=dp", "solver 'dp' does not solve selections"),
        ("selection:rule=best", "unknown decision rule 'best'"),
        ("selection:order=lifo", "unknown priority rule 'lifo'"),
        ("selection:solver=enumeration,objectives=nodes/gpus", "unknown objective or resource 'gpus'"),
        ("selection:width=3", "no parameter 'width'"),
        ("multisched:ga=moga", "unknown solver 'moga'"),
        ("selection:seconds=-1", "seconds must be > 0"),
    ],
)
def test_bad_settings_are_refused(spec: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        simulate(machine((1, 0, 8, 1, 1), (2, 0, 8, 1, 1)), spec)
