"""Both environments: what the checkers of the libraries ask, and that both see the same."""

from __future__ import annotations

import pytest

from transom.learned.repair.pool import CLUSTERS, WindowPool
from transom.learned.repair.task import RepairTask

pytest.importorskip("gymnasium")
pytest.importorskip("stable_baselines3")

from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as check_env_as_well

from transom.learned.repair.repair_env import RepairEnv


@pytest.fixture(scope="module")
def pool() -> WindowPool:
    model, cost = CLUSTERS["authors"]
    return WindowPool.generate(model, cost, seed=3, epochs=1, periods=25)


@pytest.mark.parametrize("rows", [4, 5])
@pytest.mark.filterwarnings("error")
def test_the_checkers_accept_it(pool: WindowPool, rows: int) -> None:
    check_env(RepairEnv(pool, RepairTask(rows=rows)), skip_render_check=True)
    check_env_as_well(RepairEnv(pool, RepairTask(rows=rows)), warn=False)
