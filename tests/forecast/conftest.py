"""Fewer past questions, and a trace of jobs that use between a tenth of their walltimes and all of them."""

from __future__ import annotations

import numpy as np
import pytest

from transom.forecast import calibration
from transom.traces import Workload, cut, read_swf


@pytest.fixture(autouse=True)
def fewer_past_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace is small, and time is short."""
    monkeypatch.setattr(calibration, "_ASKED", 20)


@pytest.fixture(scope="session")
def workload() -> Workload:
    made = cut(read_swf("instances/workloads/lublin_5000.swf.gz"), 0, 500)
    used = np.random.default_rng(1).integers(1, 11, len(made))
    return Workload("made", made.cluster, made.jobs, np.maximum(made.jobs.walltime * used // 10, 1))
