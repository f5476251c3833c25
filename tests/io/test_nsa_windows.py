"""Lines of a topology-aware stream: told by their keys, read as they are meant, errors with file and line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transom.errors import DocumentError, ModelError
from transom.io import PeriodWindow, decode, encode, read_documents, write_documents
from transom.models import AUTHORS, FatTree

LINE: dict[str, Any] = {
    "epoch": 1, "period": 7, "nodes": 16, "leaf_nodes": 2, "pod_nodes": 4, "idle": [9, 0, 1, 2, 3],
    "jobs": [{"id": 4, "nodes": 3}, {"id": 9, "nodes": 1}],
}  # fmt: skip


def read(**changes: Any) -> PeriodWindow:
    told = {key: value for key, value in {**LINE, **changes}.items() if value is not ...}
    window = decode(json.dumps(told).encode(), "w.jsonl:3")
    assert isinstance(window, PeriodWindow)
    return window


def test_a_line_is_read() -> None:
    window = read()
    assert (window.epoch, window.period) == (1, 7)
    assert window.tree == FatTree.uniform(16, 2, 4)
    assert window.idle.tolist() == [0, 1, 2, 3, 9]  # Q is ascending
    assert window.ids.tolist() == [4, 9]
    assert window.allocated.tolist() == [4]
    problem = window.allocation("dynamic", False, AUTHORS)
    assert (problem.rule, problem.wrap, problem.cost) == ("dynamic", False, AUTHORS)
    assert problem.sizes.tolist() == [3]
    assert problem.idle.tolist() == window.idle.tolist()
    knapsack = window.knapsack()
    assert (knapsack.values.tolist(), knapsack.capacity) == ([3, 1], 5)
    assert read(epoch=..., period=...).period is None


def test_lines_come_back(tmp_path: Path) -> None:
    for window in (read(), read(epoch=..., period=...), read(idle=[], jobs=[])):
        assert decode(encode(window), "w") == window
    told = json.loads(encode(read(idle=[1])))
    assert list(told) == ["epoch", "period", "nodes", "leaf_nodes", "pod_nodes", "idle", "jobs"]
    assert told["jobs"] == LINE["jobs"]
    path = tmp_path / "stream.jsonl.gz"
    assert write_documents(path, [read(), read(period=8)]) == 2
    assert [window.period for _, window in read_documents(path)] == [7, 8]


def test_more_asked_than_idle_is_infeasible() -> None:
    assert read(jobs=[{"id": 1, "nodes": 4}, {"id": 2, "nodes": 2}]).allocation().trivial() == "infeasible"
    fits = read(jobs=[{"id": 1, "nodes": 4}, {"id": 2, "nodes": 1}]).allocation()
    assert fits.trivial() is None
    # The jobs of several nodes would fit, and the one-node jobs would be forgotten.
    with pytest.raises(ModelError, match="ask for 6 nodes, 2 of them for one-node jobs, but 5 are idle"):
        read(jobs=[{"id": 1, "nodes": 4}, {"id": 2, "nodes": 1}, {"id": 3, "nodes": 1}]).allocation()
    assert read(jobs=[]).allocation().trivial() is not None
    whole = read(idle=list(range(16)), jobs=[{"id": 1, "nodes": 16}])
    assert whole.allocation().sizes.tolist() == [16]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"idle": [0, 3, 3, 4]}, "idle node 3: this id stands 2 times"),
    ({"idle": [0, 16]}, "idle node 16 is outside the tree of 16 nodes, 0 to 15"),
    ({"idle": [-1, 0]}, "idle node -1 is outside the tree"),
    ({"idle": ["a"]}, r"\$.idle\[0\]: expected `int`, got `str`"),
    ({"idle": [2**70]}, "expected integers of 64 bits"),
    ({"jobs": [{"id": 4, "nodes": 3}, {"id": 4, "nodes": 2}]}, "job 4: this id stands 2 times"),
    ({"jobs": [{"id": 4, "nodes": 0}]}, "job 4 asks for 0 nodes; it must be > 0"),
    ({"jobs": [{"id": 4, "nodes": -3}]}, "job 4 asks for -3 nodes; it must be > 0"),
    ({"jobs": [{"id": 4, "nodes": 2.5}]}, r"\$.jobs\[0\].nodes: expected `int`, got `float`"),
    ({"jobs": [{"id": 4}]}, r"\$.jobs\[0\]: object missing required field `nodes`"),
    ({"jobs": [{"id": 4, "nodes": 3, "submit": 1}]}, r"\$.jobs\[0\]: object contains unknown field `submit`"),
    ({"leaf_nodes": 3}, "pod_nodes must be a multiple of leaf_nodes, got 4 and 3"),
    ({"leaf_nodes": 0}, "leaf_nodes and pod_nodes must be > 0, got 16, 0 and 4"),
    ({"nodes": -1}, "must be > 0, got -1, 2 and 4"),
    ({"nodes": 10**12}, r"\$.nodes: expected `int` <= 10000000"),
    ({"leaf_nodes": ...}, "missing required field `leaf_nodes`"),
    ({"nodes": ...}, "missing required field `nodes`"),
    ({"idle": ...}, "missing required field `idle`"),
    ({"jobs": ...}, "missing required field `jobs`"),
    ({"rule": "free"}, "unknown field `rule`"),
    ({"period": "7"}, r"\$.period: expected `int \| null`, got `str`"),
]


@pytest.mark.parametrize(("changes", "condition"), WRONG, ids=range(len(WRONG)))
def test_wrong_lines_are_named(changes: dict[str, Any], condition: str) -> None:
    with pytest.raises(DocumentError, match=condition) as caught:
        read(**changes)
    assert str(caught.value).startswith("w.jsonl:3: ")
    assert "\n" not in str(caught.value)


def test_lines_are_reported_by_their_keys() -> None:
    with pytest.raises(DocumentError, match='"format" is missing'):
        decode(b'{"nodes": 3, "values": [1]}', "x")
    with pytest.raises(DocumentError, match="missing required field `nodes`"):
        decode(b'{"idle": [3]}', "x")


def test_only_regular_trees_have_lines() -> None:
    with pytest.raises(ModelError, match="can only state a regular tree"):
        PeriodWindow(FatTree([0, 1, 0], [0, 0, 0]), np.array([0]), np.array([1]), np.array([2]))


@pytest.mark.reference
@pytest.mark.parametrize(
    ("name", "windows", "pod_nodes"),
    [("paper_epochs_1-5", 462, 100), ("code_epochs_1-5", 467, 40), ("table_epoch_1", 91, 40)],
)
def test_the_reference_streams(shared: Path, name: str, windows: int, pod_nodes: int) -> None:
    path = shared / "instances" / f"nsa_{name}.jsonl.gz"
    found = [window for _, window in read_documents(path)]
    assert len(found) == windows
    lines = gzip.decompress(path.read_bytes()).splitlines()
    for window, line in zip(found, lines, strict=True):
        assert isinstance(window, PeriodWindow)
        assert json.loads(encode(window)) == json.loads(line)
        assert window.tree.regular == (10, pod_nodes)
        assert 1 <= len(window.allocation()) <= 5
    # Seq. places the jobs one after the other; facts of the stream: 99,136 a period of the table's epoch.
    if name == "table_epoch_1":
        total = 0.0
        for window in found:
            assert isinstance(window, PeriodWindow)
            problem = window.allocation("static", False, AUTHORS)
            total += problem.value(problem.from_starts(problem.sizes.cumsum() - problem.sizes))
        assert total / 100 == pytest.approx(99_136, abs=1)
