"""Slurm's multifactor priorities: computed by hand from Slurm's documentation, and in a replay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.simulation import plain_fair_share
from tests.simulation.plain_slurm import PlainJob
from tests.simulation.policies.test_slurm_limits import trace
from transom.errors import SpecError, TraceError
from transom.simulation import make_policy, simulate
from transom.simulation.core.events import END, NOW, START
from transom.simulation.core.replay import Replay
from transom.simulation.passes.fair_share import Shares, classic, fair_tree
from transom.simulation.passes.slurm_priority import Priorities, note_starts, order_by_priority, priority_at
from transom.simulation.policies.slurm_priority import shares_of, slurm_priorities
from transom.traces.job_facts import JobFacts, Kind, job_facts
from transom.traces.records.slurm_text.limits import Association
from transom.traces.records.slurm_text.priority import read_priority_terms

CONF = """
PriorityType=priority/multifactor
NodeName=n[0-9] CPUs=4 RealMemory=4096 Gres=gpu:1
PartitionName=main Nodes=ALL Default=YES PriorityJobFactor=10
PartitionName=fast Nodes=n[0-4] PriorityJobFactor=40
"""


def priorities(conf: str, folder: Path, *jobs: tuple[int, int, int, int, int, str]) -> Priorities:
    """Of jobs of (nodes, cores, memory, GPUs, limit, partition), submitted at 0 s."""
    (folder / "slurm.conf").write_text(CONF + conf)
    names = list(dict.fromkeys(each[-1] for each in jobs))
    facts = JobFacts(
        tuple(Kind("ann", "a", "", name) for name in names),
        np.array([names.index(each[-1]) for each in jobs]),
        np.array([(1, each[1], each[2], each[0], each[3]) for each in jobs]),
    )
    walltime = np.array([each[4] for each in jobs])
    return slurm_priorities(
        read_priority_terms(str(folder / "slurm.conf")), facts, np.zeros_like(walltime), walltime, {}, {}
    )


@pytest.mark.parametrize(
    ("conf", "at", "expected"),
    [
        # Two of ten nodes and 8 of 40 cores; one node and 2 cores.
        ("PriorityWeightJobSize=1000", 0, [200, 75]),
        ("PriorityWeightJobSize=1000\nPriorityFavorSmall=YES", 0, [800, 925]),
        # Cores over minutes over the cores of the machine: 8 / 60 / 40, 4 (a node's) / 30 / 40.
        ("PriorityWeightJobSize=1000000\nPriorityFlags=SMALL_RELATIVE_TO_TIME", 0, [3333, 3333]),
        ("PriorityWeightAge=1000\nPriorityMaxAge=1-0", 43200, [500, 500]),
        ("PriorityWeightAge=1000\nPriorityMaxAge=1-0", 200000, [1000, 1000]),
        ("PriorityWeightPartition=1000", 0, [250, 1000]),
        # 8 of 40 cores and 1 of 10 GPUs in main; 2 of 20 and none of 5 in fast.
        ("PriorityWeightTRES=CPU=1000,GRES/gpu=3000", 0, [500, 100]),
        ("PriorityWeightAge=1", 0, [1, 1]),  # 0 is for held jobs
    ],
)
def test_factors_are_those_of_the_documentation(tmp_path: Path, conf: str, at: int, expected: list[int]) -> None:
    made = priorities(conf, tmp_path, (2, 8, 2048, 1, 3600, "main"), (1, 2, 1024, 0, 1800, "fast"))
    assert [priority_at(made, job, at) for job in range(2)] == expected


def test_billing_is_a_sum_of_weighted_amounts_or_the_largest(tmp_path: Path) -> None:
    conf = "PartitionName=billed Nodes=ALL TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=2.0\n"
    job = (1, 4, 65536, 1, 60, "billed")
    # Slurm's example: 1 x 4 cores, 0.25 x 64 GiB, 2 x 1 GPU.
    assert priorities(conf, tmp_path, job).billing.tolist() == [22.0]
    assert priorities(conf + "PriorityFlags=MAX_TRES\n", tmp_path, job).billing.tolist() == [16.0]
    assert priorities("", tmp_path, (1, 4, 65536, 1, 60, "main")).billing.tolist() == [4.0]


def tree(*rows: tuple[str, str, str, int, float]) -> Shares:
    """Shares of associations of (account, user, parent, share, use); accounts add up what is below."""

    def below(account: str) -> float:
        own = sum(use for a, u, _, _, use in rows if u and a == account)
        return own + sum(below(a) for a, u, p, _, _ in rows if not u and p == account)

    made = shares_of({(a, u, ""): Association(a, u, parent=p, share=s) for a, u, p, s, _ in rows})
    made.usage[:] = [use if u else below(a) for a, u, _, _, use in rows]
    return made


def test_classic_fair_share_of_a_tree() -> None:
    made = tree(
        ("a", "", "root", 40, 0), ("b", "", "root", 60, 0), ("c", "", "a", 30, 0), ("d", "", "a", 10, 0),
        ("c", "u1", "", 1, 20), ("d", "u2", "", 1, 25), ("b", "u3", "", 1, 55),
    )  # fmt: skip
    # a: U 0.45, S 0.4; c: U 0.2 + 0.25 x 0.75, S 0.3; d: U 0.25 + 0.2 x 0.25, S 0.1; b: U 0.55, S 0.6.
    expected = [2 ** -(0.3875 / 0.3), 2 ** -(0.3 / 0.1), 2 ** -(0.55 / 0.6)]
    classic(made, 1)
    assert made.factor.tolist() == pytest.approx([0, 0, 0, 0, *expected])
    classic(made, 2)
    assert made.factor.tolist() == pytest.approx([0, 0, 0, 0, *(each**0.5 for each in expected)])


def test_fair_tree_ranks_accounts_before_the_users_in_them() -> None:
    rows = [
        ("a", "", "root", 40, 0.0), ("b", "", "root", 30, 0.0), ("c", "", "root", 30, 0.0),
        ("a", "u1", "", 1, 90.0), ("a", "u2", "", 1, 10.0), ("b", "u3", "", 1, 30.0), ("b", "u4", "", 1, 30.0),
        ("c", "u5", "", 1, 1.0), ("c", "u6", "", 0, 0.0),
    ]  # fmt: skip
    made = tree(*rows)
    # Levels: c 0.3 / (1/161), b 0.3 / (60/161), a 0.4 / (100/161); u3 and u4 are tied.
    assert ranks(made) == [0, 0, 0, 1, 2, 4, 4, 6, 5]
    # Nobody has used anything: accounts are merged, and all users with shares have one rank.
    made.usage[:] = 0
    assert ranks(made) == [0, 0, 0, 6, 6, 6, 6, 6, 1]
    # A user beside an account of the same level has the rank of the account's best user.
    beside = tree(("root", "u", "", 1, 5.0), ("a", "", "root", 1, 0), ("a", "v", "", 1, 4.0), ("a", "w", "", 1, 1.0))
    assert ranks(beside) == [3, 0, 1, 3]


def ranks(made: Shares) -> list[int]:
    fair_tree(made)
    return [round(each * sum(made.user)) for each in made.factor]


def test_fair_shares_of_any_tree_are_those_of_a_plain_replay() -> None:
    rng = np.random.default_rng(2)
    for _ in range(150):
        accounts = [f"a{i}" for i in range(int(rng.integers(1, 8)))]
        rows = [
            (name, "", str(rng.choice(["root", *accounts[:i]])), int(rng.integers(0, 3)), 0.0)
            for i, name in enumerate(accounts)
        ]
        for i in range(int(rng.integers(1, 12))):
            used = float(rng.choice([0, 0, 1, 2, rng.random()]))
            rows.append((str(rng.choice(["root", *accounts])), f"u{i}", "", int(rng.integers(0, 3)), used))
        rows = [rows[i] for i in rng.permutation(len(rows))]
        made = tree(*rows)
        known = {(a, u, ""): Association(a, u, parent=p, share=s) for a, u, p, s, _ in rows}
        for _ in range(2):  # the second time in the order of the first
            usage = dict(zip(known, made.usage.tolist(), strict=True))
            fair_tree(made)
            expected = plain_fair_share.fair_tree(known, plain_fair_share.children_of(known), usage)
            assert made.factor.tolist() == [expected.get(key, 0.0) for key in known]
            classic(made, 2)
            expected = plain_fair_share.classic(known, plain_fair_share.children_of(known), usage, 2)
            assert made.factor.tolist() == pytest.approx([expected.get(key, 0.0) for key in known])
            made.usage[:] = np.where(rng.random(len(made.usage)) < 0.3, 0.0, made.usage * rng.random(len(made.usage)))


FAIR = "PriorityWeightFairshare=1000\nPriorityCalcPeriod=1\nPriorityDecayHalfLife=1-0\n"


@pytest.mark.parametrize(("flags", "order"), [("", [1, 4, 2, 3]), ("PriorityFlags=NO_FAIR_TREE\n", [1, 4, 2, 3])])
def test_who_has_used_the_machine_waits_for_who_has_not(tmp_path: Path, flags: str, order: list[int]) -> None:
    amounts = {"jobs": 1, "cpu": 40, "mem": 100, "node": 10, "gpu": 0}
    users = ("ann", "ann", "ann", "eve")
    jobs = [PlainJob(i, i, 10, 300, 300, user, "law", "normal", amounts) for i, user in enumerate(users, 1)]
    workload = trace(jobs, 10, tmp_path)
    (tmp_path / "slurm.conf").write_text(CONF + FAIR + flags)
    (tmp_path / "assoc.txt").write_text("Account|User|Share\nroot||1\nlaw||1\nlaw|ann|1\nlaw|eve|1\n")
    files = f"assoc={tmp_path / 'assoc.txt'},priority={tmp_path / 'slurm.conf'}"
    schedule = simulate(workload, f"slurm-backfill:{files}")
    assert schedule.jobs.id[np.argsort(schedule.start)].tolist() == order
    assert simulate(workload, "slurm-backfill").start.tolist() == [1, 301, 601, 901]
    assert make_policy(f"slurm-backfill:{files}").digest != make_policy("slurm-backfill").digest


def test_use_decays_by_half_in_a_half_life(tmp_path: Path) -> None:
    amounts = {"jobs": 1, "cpu": 4, "mem": 100, "node": 1, "gpu": 0}
    jobs = [
        PlainJob(1, 0, 10, 600, 600, "ann", "law", "", amounts),
        PlainJob(2, 1, 10, 600, 60, "eve", "law", "", amounts),
    ]
    jobs.append(PlainJob(3, 87000, 10, 60, 60, "ann", "law", "", amounts))
    workload = trace(jobs, 10, tmp_path)
    (tmp_path / "slurm.conf").write_text(CONF + FAIR)
    terms = read_priority_terms(str(tmp_path / "slurm.conf"))
    key = ("law", "ann", "")
    associations = {each: Association(*each, parent="root" if not each[1] else "") for each in (("law", "", ""), key)}
    made = slurm_priorities(terms, job_facts(workload), workload.jobs.submit, workload.jobs.walltime, associations, {})
    replay = Replay(workload, "fcfs")
    replay.advance()
    state = replay.state
    order_by_priority(state, made)
    note_starts(state, made, np.array([0]), 1)
    state.jobs[0, [START, END]] = 0, 600
    state.at[NOW] = 600
    order_by_priority(state, made)
    used = dict(zip(associations, made.shares.usage, strict=True))
    assert used[key] == pytest.approx(2400, rel=0.01)
    state.at[NOW] = 600 + 86400
    order_by_priority(state, made)
    used = dict(zip(associations, made.shares.usage, strict=True))
    assert used[key] == pytest.approx(1200, rel=0.01)
    assert used["law", "", ""] == pytest.approx(1200, rel=0.01)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CONF.replace("multifactor", "basic"), "PriorityType: expected priority/multifactor, got priority/basic"),
        (CONF + "PriorityFlags=DEPTH_OBLIVIOUS\n", "PriorityFlags: DEPTH_OBLIVIOUS is not modelled"),
        (CONF + "PriorityWeightAge=many\n", "PriorityWeightAge: 'many' is no whole number"),
        (CONF + "PriorityMaxAge=long\n", "PriorityMaxAge: 'long' is no time"),
        (CONF + "PriorityWeightTRES=cpu=1,license/x=2\n", "PriorityWeightTRES: 'license/x=2' is not modelled"),
        (CONF + "PriorityWeightAssoc=5\n", "PriorityWeightAssoc is not modelled"),
        (CONF + "PriorityUsageResetPeriod=DAILY\n", "PriorityUsageResetPeriod is not modelled"),
        ("PriorityType=priority/multifactor\nPartitionName=a\n", "names no nodes"),
    ],
)
def test_settings_that_no_replay_knows_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "slurm.conf").write_text(text)
    with pytest.raises(TraceError, match=f"slurm.conf: {words}"):
        make_policy(f"slurm-backfill:priority={tmp_path / 'slurm.conf'}")


@pytest.mark.parametrize("weight", ["Fairshare", "QOS"])
def test_a_weight_needs_what_it_weighs(tmp_path: Path, weight: str) -> None:
    (tmp_path / "slurm.conf").write_text(CONF + f"PriorityWeight{weight}=5\n")
    workload = trace([PlainJob(1, 0, 1, 9, 9, "ann", "a", "", {"cpu": 1, "mem": 1, "gpu": 0})], 10, tmp_path)
    with pytest.raises(SpecError, match=f"PriorityWeight{weight} needs"):
        simulate(workload, f"slurm-backfill:priority={tmp_path / 'slurm.conf'}")
    with pytest.raises(SpecError, match="does not go with priority"):
        make_policy(f"slurm-backfill:order=sjf,priority={tmp_path / 'slurm.conf'}")
