"""Recipes: what they make does not depend on how many are made; what does not go is told."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transom.errors import SpecError, TransomError
from transom.generate import CLASSES, FAMILIES
from transom.generate.instance_generator import InstanceGenerator
from transom.generate.recipes import recipe, recipes, rooted
from transom.io import PeriodWindow
from transom.models import Allocation, ConstrainedPath, Joint, Knapsack, Placement, Selection, Window, Workflow
from transom.traces import Workload, write_swf

SMALL: dict[str, Any] = {"jobs": 300, "nodes": 64, "load": 0.9}
FRAGMENTED: dict[str, Any] = {
    "family": "fragmented",
    "nodes": 400,
    "k": 8,
    "idle": 120,
    "jobs": 6,
    "mean": 8,
    "cap": 30,
}

CASES: list[tuple[str, dict[str, Any], type, bool]] = [
    ("workload", {"jobs": 40}, Workload, False),
    ("window", {"workload": SMALL, "every": 7200, "minimum": 3}, Window, True),
    ("window", {"workload": SMALL, "every": 7200, "resources": "bb=[normal:load=0.9]"}, Window, True),
    ("knapsack", {"items": 20}, Knapsack, False),
    ("knapsack", {"class": ["circle", "subset-sum"], "items": 20, "ratio": 0.3}, Knapsack, False),
    ("knapsack", {"class": "circle", "capacity": 100_000, "items": 50}, Knapsack, False),
    ("knapsack", {"class": "windows", "items": 9, "windows": 4, "workload": SMALL}, Knapsack, True),
    ("selection", {"family": "all", "jobs": 8}, Selection, False),
    ("selection", {"workload": SMALL, "resources": "bb=[normal:load=0.9]", "jobs": 9, "every": 7200}, Selection, True),
    ("tjap", {"periods": 6}, Allocation, True),
    ("tjap", {"periods": 6, "form": "lines", "window": "code", "pod_nodes": 40}, PeriodWindow, True),
    ("tjap", FRAGMENTED, Allocation, False),
    ("tjap", {**FRAGMENTED, "law": "uniform", "problem": "free"} | {"mean": None}, Allocation, False),
    ("placement", {"tasks": 5, "maximal": True}, Placement, False),
    ("placement", {"family": "alibaba", "tasks": 9}, Placement, False),
    ("workflow", {"tasks": 5, "nodes": 2}, Workflow, False),
    ("joint", {"jobs": 5, "limited": 0.5, "mandatory": 1}, Joint, False),
    ("csp", {"length": 40, "arcs": 4}, ConstrainedPath, False),
    ("csp", {"allocations": {"periods": 6}}, ConstrainedPath, True),
    ("csp", {"allocations": FRAGMENTED}, ConstrainedPath, False),
]


def made(name: str, parameters: dict[str, Any]) -> InstanceGenerator:
    return recipe(name, {key: value for key, value in parameters.items() if value is not None})


def digests(found: Any) -> list[str]:
    return [each.digest() for each in found]


def test_every_recipe_is_tried() -> None:
    assert {name for name, *_ in CASES} == set(recipes())


@pytest.mark.parametrize(("name", "parameters", "kind", "sequential"), CASES)
def test_documents_do_not_depend_on_how_many_are_made(
    name: str, parameters: dict[str, Any], kind: type, sequential: bool
) -> None:
    maker = made(name, parameters)
    found = list(maker.make(3, 14))
    assert {type(each) for each in found} == {kind}
    assert maker.sequential is sequential
    wanted = digests(found)
    assert len(wanted) == len(set(wanted)) == 14
    assert digests(maker.make(3, 5)) == wanted[:5]
    assert digests(maker.make_from(3, 4, 6)) == wanted[4:10]
    assert not set(digests(maker.make(4, 5))) & set(wanted)
    # Units, made in any order, are the same documents.
    units = [digests(maker.block(3, number)) for number in (5, 4, 3, 2, 1)][::-1]
    together = [each for unit in units for each in unit]
    length = min(len(together), 14)
    assert together[:length] == wanted[:length]
    assert sequential or [len(unit) for unit in units] == [1] * 5


def test_several_classes_and_families_come_in_turn() -> None:
    each = {name: digests(recipe("knapsack", {"class": name, "items": 12}).make(1, 2)) for name in CLASSES}
    found = digests(recipe("knapsack", {"class": "all", "items": 12}).make(1, 2 * len(CLASSES)))
    assert found == [each[name][turn] for turn in (0, 1) for name in CLASSES]
    families = digests(recipe("selection", {"family": "all"}).make(1, len(FAMILIES)))
    assert families == [next(recipe("selection", {"family": name}).make(1, 1)).digest() for name in FAMILIES]


def test_a_series_begins_anew() -> None:
    found = list(recipe("knapsack", {"class": "subset-sum", "items": 40, "length": 3}).make(1, 5))
    for problem, quarter in zip(found, (1, 2, 3, 1, 2), strict=True):
        assert problem.capacity == max(int(problem.weights.sum()) * quarter // 4, int(problem.weights.max()))


def test_paths_are_those_of_the_allocations() -> None:
    allocations = recipe("tjap", FRAGMENTED).make(5, 3)
    for path, each in zip(recipe("csp", {"allocations": FRAGMENTED}).make(5, 3), allocations, strict=True):
        line = Allocation(each.tree, each.idle, each.sizes, "static", False, each.cost)
        assert path == ConstrainedPath.from_allocation(line)


def test_resources_of_epochs_are_drawn_apart(tmp_path: Path) -> None:
    windows = made("window", {"workload": SMALL, "resources": "bb=[normal:capacity=100,mean=20,deviation=9]"})
    first, second = (next(windows.block(1, number)) for number in (1, 2))
    assert first.cluster == second.cluster
    rows = min(len(first.queue), len(second.queue))
    assert not np.array_equal(first.queue.demand[:rows], second.queue.demand[:rows])


def test_a_trace_gives_one_epoch(tmp_path: Path) -> None:
    trace = tmp_path / "trace.swf"
    write_swf(next(recipe("workload", SMALL).make(1, 1)), trace)
    source = {"model": "trace", "like": str(trace), "jobs": 200, "start": 50}
    windows = recipe("window", {"workload": source, "every": 3600})
    assert windows.num_blocks == 1
    only = digests(windows.block(1, 1))
    assert digests(windows.make(1, 10_000)) == only
    (piece,) = recipe("workload", source).make(0, 3)
    assert len(piece) == 200
    weekly = recipe("workload", {"model": "weekly", "like": str(trace), "jobs": 50})
    assert len(set(digests(weekly.make(1, 3)))) == 3


def test_nothing_for_ever_is_reported() -> None:
    quiet = {"jobs": 20, "nodes": 512, "load": 0.01}
    with pytest.raises(SpecError, match="100 epochs in a row gave nothing"):
        list(islice(recipe("window", {"workload": quiet, "minimum": 19}).make(1, 1), 1))


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("knapsak", {}, "unknown recipe 'knapsak'; did you mean 'knapsack'?"),
        ("knapsack", {"itms": 5}, "unknown parameter of recipe 'knapsack': 'itms'; did you mean 'items'?"),
        ("knapsack", {"items": "5"}, "recipe 'knapsack': items: expected `int | null`, got `str`"),
        ("knapsack", {"items": 0}, "items: expected `int` >= 1"),
        ("knapsack", {"class": "circl"}, "unknown knapsack class 'circl'; did you mean 'circle'?"),
        ("knapsack", {"class": []}, "there is no class"),
        ("knapsack", {"ratio": 0.5, "length": 3}, "only one can be stated"),
        ("knapsack", {"ratio": 2.0}, "ratio must be from 0 to 1"),
        ("knapsack", {"series": "5"}, "expected h/H such as 50/100"),
        ("knapsack", {"capacity": 10**8, "range": 5}, "range does not go with capacity"),
        ("knapsack", {"class": "windows", "ratio": 0.5}, "unknown parameter of recipe 'knapsack': 'ratio'"),
        ("knapsack", {"class": "windows", "objective": "wai"}, "unknown objective 'wai'"),
        ("knapsack", {"class": "windows", "workload": {"jobs": 0}}, "workload.jobs: expected `int` >= 1"),
        ("selection", {"family": "tie"}, "unknown selection family 'tie'"),
        ("selection", {"objectives": "gpu"}, "unknown objective or resource 'gpu'"),
        ("selection", {"workload": {}, "objectives": "gpu"}, "unknown objective or resource 'gpu'"),
        ("selection", {"workload": {}, "policy": "foo"}, "unknown policy 'foo'"),
        ("selection", {"workload": {}, "resources": "bb"}, "resources 'bb'"),
        ("selection", {"workload": {"like": "a.swf"}}, "like does not go with model lublin"),
        ("tjap", {"family": "streams"}, "family: invalid enum value 'streams'"),
        ("tjap", {"gaps": [5]}, "gaps: expected `array` of length 2, got 1"),
        ("tjap", {"sizes": [1, 2000]}, "never fits into 1000"),
        ("tjap", {"problem": "dcas"}, "'scas-dp' cannot take dcas"),
        ("tjap", {"cost_model": "autors"}, "unknown cost model 'autors'"),
        ("tjap", {"k": 8, "pod_nodes": 4}, "pod_nodes does not go with k"),
        ("tjap", {**FRAGMENTED, "law": "uniform"}, "mean does not go with law uniform"),
        ("tjap", {**FRAGMENTED, "jobs": 500}, "500 jobs of 2 nodes are more than"),
        ("placement", {"family": "alibabb"}, "unknown placement family 'alibabb'; did you mean 'alibaba'"),
        ("placement", {"family": "alibaba", "largest": 3}, "largest does not go with the family alibaba"),
        ("placement", {"busy": 0.3}, "busy does not go with the family uniform"),
        ("placement", {"family": "alibaba", "busy": 1.5}, "busy from 0 to 1"),
        ("placement", {"tightness": -1.0}, "tightness and kinds must be > 0"),
        ("placement", {"objective": "size"}, "unknown objective of placements 'size'"),
        ("placement", {"like": "a.csv", "tasks": 3}, "unknown parameter of recipe 'placement': 'tasks'"),
        ("csp", {"density": 2.0}, "density must be from 0 to 1"),
        ("csp", {"allocations": {"gap": [1, 2]}}, "unknown parameter of recipe 'csp: allocations': 'gap'"),
        ("csp", {"allocations": {"form": "lines"}}, "form does not go with paths"),
        ("workload", {"model": "trace"}, "model trace needs like"),
        ("window", {"order": "fif"}, "unknown priority rule 'fif'"),
    ],
)
def test_what_does_not_go_is_reported_before_anything_is_made(name: str, parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(TransomError) as told:
        recipe(name, parameters)
    assert says in str(told.value)


def test_files_start_at_the_folder_of_a_plan() -> None:
    given = {"like": "a.swf", "items": 5, "workload": {"like": "/b.swf", "jobs": 3, "class": "like"}}
    assert rooted(given, Path("/plans")) == {
        "like": "/plans/a.swf", "items": 5, "workload": {"like": "/b.swf", "jobs": 3, "class": "like"},
    }  # fmt: skip
