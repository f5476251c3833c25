"""A policy in the real AccaSim, where it is installed."""

from __future__ import annotations

import collections
import collections.abc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transom.errors import SpecError
from transom.generate import generate_lublin
from transom.simulation import simulate
from transom.traces import write_swf

pytest.importorskip("sortedcontainers")


@pytest.fixture(scope="module")
def accasim() -> Iterator[Any]:
    """AccaSim, with the name that it takes from a place that Python 3.10 closed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collections, "Mapping", collections.abc.Mapping, raising=False)
        yield pytest.importorskip("accasim.base.simulator_class", reason="AccaSim is not installed")


def played(accasim: Any, folder: Path, policy: str, jobs: int, nodes: int) -> tuple[dict[int, int], dict[int, int]]:
    """The starts in AccaSim, and those of a replay."""
    from accasim.base.additional_data import AdditionalData

    from transom.adapters.accasim import Dispatcher

    workload = generate_lublin(jobs, nodes, np.random.default_rng(7), load=0.9)
    write_swf(workload, folder / "jobs.swf")
    system = {"groups": {"nodes": {"core": 1, "mem": 10**9}}, "resources": {"nodes": nodes}, "start_time": 0}
    system["equivalence"] = {"processor": {"core": 1}}
    (folder / "system.json").write_text(json.dumps(system))
    started: dict[int, int] = {}

    class Starts(AdditionalData):  # type: ignore[misc]
        def nothing(self, *_: Any, **__: Any) -> None: ...

        exec_before_submission = exec_after_submission = exec_before_completion = nothing
        exec_before_dispatching = exec_after_dispatching = stop = nothing

        def exec_after_completion(self, jobs: Any) -> None:
            started.update({int(job.id): int(job.start_time) for job in jobs})

    quiet = dict.fromkeys(("scheduling_output", "pprint_output", "statistics_output", "show_statistics"), False)
    simulator = accasim.Simulator(
        str(folder / "jobs.swf"),
        str(folder / "system.json"),
        Dispatcher(policy),
        additional_data=[Starts],
        RESULTS_FOLDER_PATH=str(folder),
        **quiet,
    )
    simulator.start_simulation()
    schedule = simulate(workload, policy)
    return started, dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))


@pytest.mark.parametrize(("policy", "jobs"), [("fcfs-easy", 2000), ("saf-easy", 300), ("fcfs-conservative", 300)])
def test_starts_equal_those_of_a_replay(accasim: Any, tmp_path: Path, policy: str, jobs: int) -> None:
    started, wanted = played(accasim, tmp_path, policy, jobs, 128)
    assert started == wanted


def test_a_policy_sets_timers(accasim: Any, tmp_path: Path) -> None:
    started, wanted = played(accasim, tmp_path, "slurm-backfill:interval=300", 100, 16)
    assert started == wanted


def test_an_unknown_policy_is_an_error_at_once(accasim: Any) -> None:
    from transom.adapters.accasim import Dispatcher

    with pytest.raises(SpecError, match="unknown policy"):
        Dispatcher("fcfs-eazy")
