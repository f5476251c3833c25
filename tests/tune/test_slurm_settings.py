"""Settings of a slurm.conf as policies, and policies as lines of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.simulation.plain_slurm import PlainJob
from tests.simulation.policies.test_slurm_limits import trace
from transom.errors import SpecError
from transom.simulation import make_policy, simulate
from transom.tune.slurm_settings import changed_text, lines_for, settings_of, slurm_families
from transom.tune.space import units_of

CONF = """# ours
PriorityType=priority/multifactor
PriorityWeightAge=500
SchedulerParameters=bf_continue,bf_interval=60
NodeName=n[0-9] CPUs=1
PartitionName=main Nodes=ALL Default=YES
"""
UNITS = units_of(1, 1, 1)


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "slurm.conf").write_text(CONF)
    return tmp_path / "slurm.conf"


def test_settings_stand_in_place_of_those_of_the_file(conf: Path, tmp_path: Path) -> None:
    jobs = [
        PlainJob(k + 1, k, nodes, 60, 60, amounts={"cpu": nodes, "mem": 0, "gpu": 0})
        for k, nodes in enumerate((10, 3, 8))
    ]
    path = trace(jobs, 10, tmp_path)
    stated = conf.with_name("stated.conf")
    stated.write_text(CONF.replace("PriorityWeightAge=500", "PriorityWeightJobSize=1000"))
    given = f"slurm-backfill:priority={conf},settings=[PriorityWeightAge=0,PriorityWeightJobSize=1000]"
    starts = [simulate(path, spec).start.tolist() for spec in (given, f"slurm-backfill:priority={stated}")]
    assert starts[0] == starts[1]
    assert starts[0] != simulate(path, f"slurm-backfill:priority={conf}").start.tolist()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("settings=[PriorityWeightAge=1]", "in place of those of priority=FILE, and there is none"),
        ("priority={conf},settings=PriorityWeightAge", "settings: expected NAME=VALUE, got 'PriorityWeightAge'"),
        ("priority={conf},settings=[PriorityAge=1]", "unknown setting of a slurm.conf 'PriorityAge'; did you mean"),
    ],
)
def test_wrong_settings_are_refused(conf: Path, settings: str, says: str) -> None:
    with pytest.raises(SpecError) as told:
        make_policy("slurm-backfill:" + settings.format(conf=conf))
    assert says in str(told.value)


def test_every_point_is_a_policy_with_lines(conf: Path) -> None:
    today = f"slurm-backfill:priority={conf},interval=60,completing=2"
    (family,) = slurm_families(today)
    assert {"priority_weight_age", "priority_favor_small", "interval", "window"} <= set(family.ranges)
    assert "priority_weight_fairshare" not in family.ranges  # there are no shares
    rng = np.random.default_rng(1)
    for _ in range(20):
        policy = family.spec(rng.random(len(family.ranges)), UNITS)
        make_policy(policy)
        assert "completing=[2]" in policy
        paste, diff = lines_for(policy, today)
        assert any(line.startswith("PriorityWeightAge=") for line in paste)
        assert "-PriorityWeightAge=500" in diff.splitlines()


def test_the_file_is_changed_in_its_places() -> None:
    policy = (
        "slurm-backfill:priority=x,interval=30,depth=200,queue=50,resolution=60,window=172800,"
        "settings=[PriorityWeightAge=7,PriorityFavorSmall=YES]"
    )
    assert settings_of(policy) == {
        "PriorityWeightAge": "7", "PriorityFavorSmall": "YES", "bf_interval": "30", "bf_max_job_test": "200",
        "default_queue_depth": "50", "bf_resolution": "60", "bf_window": "2880",
    }  # fmt: skip
    cycles = "bf_interval=30,bf_max_job_test=200,default_queue_depth=50,bf_resolution=60,bf_window=2880"
    expected = CONF.replace("PriorityWeightAge=500", "PriorityWeightAge=7")
    expected = expected.replace("bf_continue,bf_interval=60", f"bf_continue,{cycles}") + "PriorityFavorSmall=YES\n"
    assert changed_text(CONF, settings_of(policy)) == expected
    assert changed_text("", {"bf_interval": "30"}) == "SchedulerParameters=bf_interval=30\n"


def test_an_order_by_itself_stays(conf: Path) -> None:
    (family,) = slurm_families("slurm-backfill:order=saf")
    policy = family.spec([0.5] * len(family.ranges), UNITS)
    assert "order=[saf]" in policy
    assert lines_for(policy, "slurm-backfill:order=saf").diff == ""


def test_another_policy_has_no_such_settings() -> None:
    with pytest.raises(SpecError, match="--space slurm: state what is set today with --today"):
        slurm_families("fcfs-easy")
