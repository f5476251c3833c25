"""Several workflows as one problem."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.workflow_cases import random_window
from transom import Stop, check, solve
from transom.errors import ModelError
from transom.io import read_workflows, write_documents
from transom.models import Workflow
from transom.reductions.joining import joined

PAIR = Workflow("pair", ("a", "b"), (3, 2.5), ((0, 1),), submit=10)
WIDE = Workflow("wide", ("a", "b"), (4, 4), nodes=(2, 1), submit=14, resources=("memory",), demands=((1,), (2,)))


def test_names_releases_edges_and_resources() -> None:
    window = joined([PAIR, WIDE, PAIR])
    assert window.tasks == ("pair/a", "pair/b", "wide/a", "wide/b", "pair#2/a", "pair#2/b")
    assert (window.submit, window.releases.tolist()) == (10, [0, 0, 4, 4, 0, 0])
    assert window.edges.tolist() == [[0, 1], [4, 5]]
    assert (window.resources, window.demands[:, 0].tolist()) == (("memory",), [0, 0, 1, 2, 0, 0])
    assert window.programs == ("a", "b", "a", "b", "a", "b")
    assert window.critical_path() == 8
    on = joined([PAIR.on(3), WIDE.on(3, {"memory": 2})])
    assert on.machine is not None
    assert on.machine.tolist() == [3, 2]


def test_a_window_by_hand() -> None:
    # On two nodes pair/a and pair/b run from 0 to 5.5; wide/a needs both of them, wide/b one, from 4 on.
    result = solve(joined([PAIR, WIDE]).on(2), "auto", Stop(seconds=10))
    assert (result.status, result.value) == ("optimal", 12)


def test_starts_before_the_release_are_found() -> None:
    window = joined([PAIR, WIDE]).on(9)
    early = np.array([0, 3, 3, 4]) * window.ticks
    assert window.violations(early) == ["task 'wide/a' starts at 3 s, it is released at 4 s"]
    assert window.violations(np.array([0, 3, 4, 4]) * window.ticks) == []
    assert len(window.violations(np.zeros(4, np.int64))) == 3


def test_documents_keep_releases(tmp_path: Path) -> None:
    window = random_window(np.random.default_rng(3), 7)
    assert window.releases.any()
    write_documents(tmp_path / "window.json", [window])
    assert next(read_workflows(tmp_path / "window.json")) == window


def test_large_windows_are_solved_by_every_rule() -> None:
    rng = np.random.default_rng(11)
    problem = random_window(rng, 60)
    for solver in ("local-search", "heft", "longest-path", "lpt", "shortest-first"):
        result = solve(problem, solver, Stop(iterations=20))
        assert result.error is None
        assert check(problem, result) == []


def test_what_cannot_be_joined() -> None:
    with pytest.raises(ModelError, match="none to join"):
        joined([])
    with pytest.raises(ModelError, match="'wide': its machine is another one than that of 'pair'"):
        joined([PAIR.on(3), WIDE.on(4)])
    with pytest.raises(ModelError, match="'wide': its machine"):
        joined([PAIR.on(3), WIDE])
    with pytest.raises(ModelError, match="task 'a': release must be >= 0"):
        replace(PAIR, releases=(-1, 0))
