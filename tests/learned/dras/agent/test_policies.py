from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.learned.dras.checkpoint_cases import compact, drawn, paper
from tests.simulation.workloads import workloads
from transom.errors import DocumentError, SpecError
from transom.learned.checkpoints import Checkpoint, save
from transom.learned.dras.agent.agents import Floats
from transom.learned.dras.agent.policies import LearnedPolicy
from transom.learned.dras.process import features
from transom.learned.dras.process.features import SCHEMA
from transom.learned.dras.process.paper_scorer import SCHEMA as PAPER_SCHEMA
from transom.learned.dras.process.paper_scorer import PaperShape
from transom.learned.dras.process.process import AgentConfig, begin, candidates_of
from transom.learned.dras.process.state_from_window import state_from_window
from transom.learned.dras.training.collect import replay
from transom.learned.scorer import ScorerWeights
from transom.models import Cluster, FatTree, Job, JobTable, Window
from transom.rng import stream
from transom.simulation import Schedule, make_policy, simulate
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.output.verification import check_nodes, check_schedule
from transom.simulation.runs import parse_runs
from transom.simulation.runs import replay as recorded
from transom.traces import TracedJob, Workload, read_swf


def window_by_window(policy: LearnedPolicy) -> LearnedPolicy:
    """The same without its compiled replay."""
    policy.run = None
    return policy


def assert_equal(one: Schedule, other: Schedule) -> None:
    """Two schedules are the same, down to the log of decisions."""
    for name in ("start", "end", "mode", "order"):
        assert (getattr(one, name) == getattr(other, name)).all(), name
    assert one.decisions.keys() == other.decisions.keys()
    for name, column in one.decisions.items():
        assert (column == other.decisions[name]).all(), name


SCHEMES = st.builds(
    AgentConfig,
    levels=st.sampled_from([1, 2]),
    window=st.sampled_from([1, 3, 50]),
    head=st.sampled_from([0, 1]),
    keep=st.sampled_from([0, 1]),
    longest=st.just(20),
)


@settings(max_examples=80)
@given(
    workloads(max_jobs=14, resources=1, dependencies=True, overrun=True),
    SCHEMES,
    st.integers(0, 2**32),
    st.sampled_from([0.0, -1.0, 0.4]),
)
def test_a_policy_decides_as_the_compiled_replay(
    workload: Workload, scheme: AgentConfig, seed: int, epsilon: float
) -> None:
    weights = drawn(seed)
    policy = LearnedPolicy(compact(weights, scheme, 8), epsilon)
    whole = simulate(workload, policy, seed=3)
    assert check_schedule(workload, whole) == []
    assert_equal(whole, simulate(workload, window_by_window(policy), seed=3))
    if epsilon == 0:
        assert_equal(whole, replay(workload, scheme, weights))


@pytest.mark.reference
@pytest.mark.parametrize("head", [0, 1])
def test_a_policy_replays_a_real_trace_as_the_compiled_replay(shared: Path, head: int) -> None:
    workload = read_swf(shared / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz").take(np.arange(3000))
    weights, scheme = drawn(11), AgentConfig(head=head, longest=14_400)
    policy = LearnedPolicy(compact(weights, scheme, workload.cluster.num_nodes))
    whole = simulate(workload, policy)
    assert_equal(whole, simulate(workload, window_by_window(policy)))
    assert_equal(whole, replay(workload, scheme, weights))
    assert {READY, RESERVED, BACKFILLED} == set(whole.mode.tolist())


def test_a_replay_begins_without_the_reservation_of_the_one_before() -> None:
    policy = window_by_window(LearnedPolicy(compact(drawn(0), AgentConfig(), 8)))
    first, second = Job(id=1, submit=0, nodes=8, walltime=9), Job(id=2, submit=0, nodes=8, walltime=5)
    running = Job(id=3, submit=0, nodes=4, walltime=20)
    none = JobTable.of([])
    queue = JobTable.of([first, second])
    busy = Window(1, Cluster(8), queue, JobTable.of([running]), [20], [4])
    (reserved,) = policy.decide(busy).reserve
    idle = Window(2, Cluster(8), queue, none, [], [8])
    # The reservation is kept, whatever the network says of the two ...
    assert policy.decide(idle).start == (reserved.job,)
    # ... and forgotten before another replay.
    policy.decide(busy)
    policy.reset(stream(0))
    fresh = LearnedPolicy(compact(drawn(0), AgentConfig(), 8))
    assert policy.decide(idle) == fresh.decide(idle)
    workload = waiting_for_one()
    policy.decide(busy)
    assert_equal(simulate(workload, policy), simulate(workload, fresh))


def test_the_kept_reservation_comes_before_better_jobs() -> None:
    # Scores fall with the size: of those that came together the smallest is selected. The large job is the head and
    # holds the reservation from 1 s on, so that those that come later and would delay it wait.
    weights = ScorerWeights(*(np.zeros_like(array) for array in drawn(0)))
    weights.features[features.FEATURES.index("size")] = 1
    weights.hidden[:] = 1
    weights.out[:] = -1
    workload = waiting_for_one()
    kept = simulate(workload, LearnedPolicy(compact(weights, AgentConfig(keep=1), 8)))
    anew = simulate(workload, LearnedPolicy(compact(weights, AgentConfig(keep=0), 8)))
    assert kept.start.tolist() == [0, 10, 20, 20]
    assert kept.mode[1] == RESERVED
    assert anew.start[1] > 10


def waiting_for_one() -> Workload:
    """On 8 nodes: one job of 6 runs, one of 8 waits, and then come two of 3 that are longer than the first has left."""
    rows = [(1, 0, 6, 10), (2, 1, 8, 10), (3, 2, 3, 10), (4, 3, 3, 10)]
    jobs = [TracedJob(Job(id=i, submit=at, nodes=n, walltime=t), t) for i, at, n, t in rows]
    return Workload.of(jobs, Cluster(8), "four")


@settings(max_examples=25)
@given(workloads(max_jobs=14, resources=1), SCHEMES, st.sampled_from(["pg", "dql"]), st.integers(0, 99))
def test_networks_of_table_iii_decide_as_torch_does(
    workload: Workload, scheme: AgentConfig, agent: Literal["pg", "dql"], seed: int
) -> None:
    torch = pytest.importorskip("torch")
    from transom.learned.dras.training.paper_network import PaperNetwork

    checkpoint = paper(PaperShape(agent, 8, scheme.window, 6, 5), scheme, seed)
    policy = LearnedPolicy(checkpoint)
    assert policy.run is None
    schedule = simulate(workload, policy)
    assert check_schedule(workload, schedule) == []
    network = PaperNetwork(PaperShape(agent, 8, scheme.window, 6, 5))
    network.load_state_dict({name: torch.from_numpy(array) for name, array in checkpoint.weights.items()})
    seen: list[int] = []

    class InTorch:
        observe = policy._agent.observe

        def score(self, features: Floats, context: Floats, count: int) -> Floats:
            seen.append(count)
            with torch.no_grad():
                given = torch.from_numpy(features)[None], torch.from_numpy(context)[None], torch.tensor([count])
                scores: Floats = network(*given)[0, :count].numpy()
            return scores

    policy._agent = InTorch()
    assert_equal(schedule, simulate(workload, policy))
    assert all(1 < count <= scheme.window for count in seen)


def test_what_a_network_of_table_iii_sees() -> None:
    scheme = AgentConfig(window=3, longest=100)
    agent = LearnedPolicy(paper(PaperShape("pg", 8, 3, 4, 4), scheme))._agent
    queue = JobTable.of([Job(id=5, submit=0, nodes=2, walltime=50), Job(id=6, submit=10, nodes=8, walltime=100)])
    running = JobTable.of([Job(id=1, submit=0, nodes=3, walltime=30), Job(id=2, submit=0, nodes=2, walltime=60)])
    window = Window(20, Cluster(8), queue, running, [30, 60], [3])
    state, decision_state = state_from_window(window, scheme)
    begin(state, decision_state, scheme)
    assert candidates_of(state, decision_state, scheme) == 2
    rows, nodes = agent.observe(state, decision_state, 8)
    assert rows == pytest.approx(np.array([[0.25, 0.5, 0, 0.2], [1, 1, 0, 0.1], [0, 0, 0, 0]]))
    assert nodes.reshape(-1, 2) == pytest.approx(np.array([[1, 0]] * 3 + [[0, 0.1]] * 3 + [[0, 0.4]] * 2))


POLICIES = (("dras-pg", "ppo:discount=0.99", 2), ("dras-dql", "dql", 2), ("decima-pg", "pg", 1))


def stated(agent: str, levels: int, nodes: int) -> Checkpoint:
    """A checkpoint that says that it was trained so."""
    scheme = AgentConfig(levels=levels)
    return compact(drawn(0), scheme, nodes, settings={**scheme._asdict(), "agent": agent, "reward": "waiting"})


@pytest.mark.parametrize(("name", "agent", "levels"), POLICIES)
def test_a_policy_takes_what_was_trained_for_it(tmp_path: Path, name: str, agent: str, levels: int) -> None:
    path = tmp_path / "any.safetensors"
    for other, of, on in POLICIES:
        save(path, stated(of, on, 8))
        if other == name:
            assert len(simulate(waiting_for_one(), f"{name}:model={path}")) == 4
            continue
        with pytest.raises(DocumentError) as caught:
            make_policy(f"{name}:model={path}")
        rule = of.partition(":")[0]
        assert str(caught.value).startswith(
            f"checkpoint 'drawn': was trained by '{rule}' on {on} level(s); this policy"
        )


def test_another_machine_is_refused_unless_asked_for(tmp_path: Path) -> None:
    workload = waiting_for_one()
    for name, agent, levels in POLICIES:
        path = tmp_path / f"{name}.safetensors"
        save(path, stated(agent, levels, 16))
        with pytest.raises(DocumentError) as caught:
            simulate(workload, f"{name}:model={path}")
        cure = "anywhere=yes uses it all the same"
        refused = "was made for a cluster with nodes = 16, and this has 8"
        assert str(caught.value) == f"checkpoint 'drawn': {refused}; {cure}"
        schedule = simulate(workload, f"{name}:model={path},anywhere=yes")
        assert check_schedule(workload, schedule) == []
    with pytest.raises(DocumentError, match="nodes = 16, and this has 8; anywhere=yes uses it all the same"):
        window_by_window(LearnedPolicy(compact(drawn(0), AgentConfig(), 16))).decide(
            Window(0, Cluster(8), JobTable.of([]), JobTable.of([]), [], [8])
        )
    with pytest.raises(SpecError, match="an input for every node"):
        LearnedPolicy(paper(PaperShape("dql", 16, 50, 4, 4), AgentConfig()), anywhere=True)


STATED = {"agent": "pg", "reward": "waiting", **AgentConfig()._asdict()}


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"schema": "dras-compact/0"}, "schema must be dras-compact/1 or dras-paper/1, got 'dras-compact/0'"),
        ({"settings": {}}, "settings.levels must be a whole number from 1 to 2, got None"),
        ({"settings": {**STATED, "window": 0}}, "settings.window must be a whole number from 1 to 1000, got 0"),
        ({"settings": {**STATED, "window": 1001}}, "settings.window must be a whole number from 1 to 1000, got 1001"),
        ({"settings": {**STATED, "keep": "yes"}}, "settings.keep must be a whole number from 0 to 1, got 'yes'"),
        ({"settings": {**STATED, "keep": True}}, "settings.keep must be a whole number from 0 to 1, got True"),
        ({"settings": {**STATED, "longest": 1.5}}, "settings.longest must be a whole number from 1 to 1000000000, got"),
        ({"cluster": {"nodes": 0}}, "cluster.nodes must be a whole number from 1 to 1000000000, got 0"),
    ],
)
def test_cards_that_do_not_fit_are_refused(stated: dict[str, Any], message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        LearnedPolicy(compact(drawn(0), AgentConfig(), 8, **stated))
    assert str(caught.value).startswith(f"checkpoint 'drawn': card: {message}")


def test_weights_that_do_not_fit_are_refused() -> None:
    weights = drawn(0)
    for changed, message in (
        (weights._replace(features=weights.features[1:]), "its weights have shapes"),
        (weights._replace(bias=weights.bias[None]), "its weights have shapes"),
        (weights._replace(out=weights.out[1:]), "its weights have shapes"),
        (weights._replace(bias=weights.bias[0]), "its weights have shapes"),
    ):
        with pytest.raises(DocumentError, match=message):
            LearnedPolicy(compact(changed, AgentConfig(), 8))
    with pytest.raises(DocumentError, match="not the weights of a scorer: none"):
        LearnedPolicy(paper(PaperShape("pg", 8, 50, 4, 4), AgentConfig(), schema=SCHEMA))
    with pytest.raises(DocumentError, match="network is 'paper-pg', and the weights have no second layer"):
        LearnedPolicy(compact(drawn(0), AgentConfig(), 8, schema=PAPER_SCHEMA, network="paper-pg"))
    for network in ("paper-ppo", "scorer"):
        with pytest.raises(DocumentError, match="network must be paper-pg or paper-dql, got"):
            LearnedPolicy(paper(PaperShape("pg", 8, 50, 4, 4), AgentConfig(), network=network))
    with pytest.raises(DocumentError, match=r"cluster.nodes is 9 and settings.window 50, which is not"):
        LearnedPolicy(paper(PaperShape("pg", 8, 50, 4, 4), AgentConfig(), cluster={"nodes": 9}))
    arrays = {f"actor.{name}": array for name, array in weights._asdict().items()}
    odd = Checkpoint({**arrays, "critic.out": np.zeros(6, np.float32)}, compact(weights, AgentConfig(), 8).card)
    with pytest.raises(DocumentError, match=r"its weights beside the actor's are not a critic's: 'critic\.out'"):
        LearnedPolicy(odd)


def test_a_kept_replay_is_not_that_of_other_weights(tmp_path: Path) -> None:
    path, workload = tmp_path / "a.safetensors", waiting_for_one()
    save(path, compact(drawn(0), AgentConfig(), 8))
    for seed, kept in ((0, False), (0, True), (1, False)):
        save(path, compact(drawn(seed), AgentConfig(), 8))
        (run,) = parse_runs([f"dras-pg:model={path}"])  # which loads the weights
        assert recorded(workload, run, tmp_path / "out")[1] is kept


def test_settings_of_learning_are_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "any.safetensors"
    save(path, compact(drawn(0), AgentConfig(), 8))
    for setting in ("instances=5", "learning_rate=0.1", "reward=slowdown"):
        with pytest.raises(SpecError, match="instances, learning_rate and reward are about learning: adapt=yes"):
            make_policy(f"dras-pg:model={path},{setting}")


@pytest.mark.parametrize("levels", [1, 2])
def test_a_job_that_no_nodes_in_service_can_hold_is_no_obstacle(levels: int) -> None:
    # One node of 8 is out of service. The wide job is the only one that may be selected first.
    queue = JobTable.of([Job(id=1, submit=0, nodes=8, walltime=9), Job(id=3, submit=0, nodes=2, walltime=9)])
    window = Window(1, Cluster(8), queue, JobTable.of([Job(id=2, submit=0, nodes=4, walltime=9)]), [9], [3])
    decision = LearnedPolicy(compact(drawn(0), AgentConfig(levels=levels, head=1, window=2), 8)).decide(window)
    assert decision.start + decision.backfill == (3,)


def test_nodes_are_placed_after_a_whole_replay() -> None:
    tree = FatTree.uniform(8, 2, 4)
    workload = replace(waiting_for_one(), cluster=Cluster(8, topology=tree))
    policy = LearnedPolicy(compact(drawn(0), AgentConfig(), 8))
    whole = simulate(workload, policy)
    single = simulate(workload, window_by_window(policy))
    assert_equal(whole, single)
    assert whole.spread == single.spread is not None
    assert whole.runs is not None
    assert check_nodes(whole, whole.runs) == []
