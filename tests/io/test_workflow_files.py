"""Workflows in files: our documents, WfFormat and DAX, and what is wrong with them in one line."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.models.test_workflow import DIAMOND
from transom import read_workflows
from transom.errors import DocumentError
from transom.io import decode, encode, read_documents, schema, write_documents
from transom.models import Workflow

LEAST = json.dumps({"format": "transom/workflow/1", "name": "w", "tasks": [{"name": "a", "runtime": 2}]})


@pytest.mark.parametrize("made", [DIAMOND, DIAMOND.on(4, {"memory": 9}), Workflow("empty", [], [])])
def test_documents_come_back(made: Workflow, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    assert decode(encode(made), "here") == made
    jsonschema.Draft202012Validator(schema("workflow")).validate(json.loads(encode(made)))
    write_documents(tmp_path / "w.jsonl.gz", [made, made])
    assert list(read_workflows(tmp_path / "w.jsonl.gz")) == [made, made]


def changed(**fields: Any) -> bytes:
    return json.dumps({**json.loads(LEAST), **fields}).encode()


def task(**fields: Any) -> dict[str, Any]:
    return {"name": "b", "runtime": 1, **fields}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (changed(tasks=[task(parents=["x"])]), "w.json: workflow: task 'b': its parent 'x' is no task"),
        (changed(tasks=[task(parents=["b"])]), "w.json: workflow: tasks wait for each other in a cycle: b -> b"),
        (changed(tasks=[task(runtime=-1)]), "w.json: workflow: task 'b': runtime must be a number >= 0, got -1"),
        (
            b'{"format": "transom/workflow/1", "name": "w", "tasks": [{"name": "b", "runtime": NaN}]}',
            "w.json: NaN is not a number (task 'b')",
        ),
        (
            b'{"format": "transom/workflow/1", "name": "w", "tasks": [{"name": "b", "runtime": Infinity}]}',
            "Infinity is not a number (task 'b')",
        ),
        (changed(tasks=[task(release=-1)]), "w.json: $.tasks[0].release: expected `int` >= 0, got -1 (task 'b')"),
        (changed(tasks=[{"name": "b"}]), "w.json: $.tasks[0]: object missing required field `runtime` (task 'b')"),
        (
            changed(tasks=[task(runtime="x")]),
            "w.json: $.tasks[0].runtime: expected `int | float`, got `str` (task 'b')",
        ),
        (changed(tasks=[task(nodes=0)]), "w.json: $.tasks[0].nodes: expected `int` >= 1, got 0 (task 'b')"),
        (
            changed(tasks=[task(demand={"gpu": 1})]),
            "task 'b': demand names 'gpu', which is no resource of the workflow",
        ),
        (changed(tasks=[task(nodes=4)], machine={"nodes": 2}), "task 'b' needs 4 of nodes, the machine has 2"),
        (changed(machine={"gpu": 2}), "machine: nodes are missing"),
    ],
)
def test_a_wrong_document(text: bytes, says: str) -> None:
    with pytest.raises(DocumentError) as caught:
        decode(text, "w.json")
    assert says in str(caught.value)


def test_a_demand_that_is_not_stated_is_none() -> None:
    (made,) = [decode(changed(resources=["gpu"], tasks=[task(), task(name="c", demand=[2])]), "w.json")]
    assert made.demands.tolist() == [[0], [2]]


def test_wfformat(root: Path) -> None:
    (made,) = read_workflows(root / "examples" / "wfformat.json")
    assert made.name == "survey"
    assert made.tasks[:2] == ("scan_ID01", "scan_ID02")
    assert made.nodes.tolist() == [2, 2, 1, 1, 1, 1, 1]
    assert made.resources == ("memory",)
    assert made.demands[:, 0].tolist() == [2 * 10**9] * 2 + [10**9] * 4 + [0]
    assert made.programs == ("scan", "scan", "refine", "refine", "refine", "refine", "report")
    assert made.edges.tolist() == [[0, 2], [0, 3], [1, 4], [1, 5], [2, 6], [3, 6], [4, 6], [5, 6]]
    assert made.critical_path() == pytest.approx(58.9 + 133.7 + 12)


OLD: dict[str, Any] = {
    "name": "old",
    "schemaVersion": "1.4",
    "workflow": {
        "makespanInSeconds": 9,
        "tasks": [
            {"name": "one", "id": "ID1", "runtimeInSeconds": 2.5, "cores": 2, "parents": [], "children": ["two"]},
            {"name": "two", "id": "ID2", "runtimeInSeconds": 1, "parents": ["one"], "category": "last"},
        ],
    },
}
OLDER = {
    "schemaVersion": "1.0",
    "workflow": {"jobs": [{"name": "x_7", "runtime": 3, "cores": 1.5, "memory": 7}, {"name": "y", "runtime": 1}]},
}


def test_older_forms() -> None:
    made = decode(json.dumps(OLD).encode(), "old.json")
    assert isinstance(made, Workflow)
    assert (made.tasks, made.programs, made.edges.tolist()) == (("ID1", "ID2"), ("ID1", "last"), [[0, 1]])
    assert (made.runtimes.tolist(), made.nodes.tolist()) == ([2.5, 1], [2, 1])
    oldest = decode(json.dumps(OLDER).encode(), "older.json")
    assert isinstance(oldest, Workflow)
    assert (oldest.tasks, oldest.programs, oldest.nodes.tolist()) == (("x_7", "y"), ("x", "y"), [2, 1])
    assert oldest.demands.tolist() == [[7000], [0]]


def without(path: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        del document["workflow"]["execution"]["tasks"][2][path]

    return change


def parent(name: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document["workflow"]["specification"]["tasks"][2]["parents"] = name

    return change


def runtime(value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document["workflow"]["execution"]["tasks"][2]["runtimeInSeconds"] = value

    return change


def bare(document: dict[str, Any]) -> None:
    del document["workflow"]["execution"]


def nothing(document: dict[str, Any]) -> None:
    document["workflow"]["specification"]["tasks"] = []


def nameless(document: dict[str, Any]) -> None:
    document["workflow"]["specification"]["tasks"][1] = {}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (without("runtimeInSeconds"), "task 'refine_ID03' states no runtime"),
        (bare, "task 'scan_ID01' states no runtime"),
        (parent(["none"]), "task 'refine_ID03': its parent 'none' is no task"),
        (parent(["report_ID07"]), "tasks wait for each other in a cycle: "),
        (parent("none"), "expected `array`, got `str`"),
        (runtime(-3), "task 'refine_ID03': runtime must be a number >= 0, got -3"),
        (runtime("3"), "expected `float | null`, got `str` (task 'refine_ID03')"),
        (runtime(math.nan), "NaN is not a number (task 'refine_ID03')"),
        (runtime(math.inf), "Infinity is not a number (task 'refine_ID03')"),
        (runtime(-math.inf), "Infinity is not a number (task 'refine_ID03')"),
        (runtime(1e300), "all tasks together run for 2**40 s or more"),
        (nothing, "it has no tasks"),
        (nameless, "a task has neither an id nor a name"),
    ],
)
def test_a_wrong_wfformat(change: Callable[[dict[str, Any]], None], says: str, root: Path, tmp_path: Path) -> None:
    document = json.loads((root / "examples" / "wfformat.json").read_text())
    change(document)
    file = tmp_path / "w.json"
    file.write_text(json.dumps(document))
    with pytest.raises(DocumentError) as caught:
        list(read_documents(file))
    assert str(caught.value).startswith(f"{file}: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_dax(root: Path, tmp_path: Path) -> None:
    file = root / "examples" / "diamond.dax"
    (made,) = read_workflows(file)
    assert (made.name, made.tasks) == ("diamond", ("a", "b", "c", "d"))
    assert (made.runtimes.tolist(), made.nodes.tolist()) == ([10.5, 60, 45.25, 5], [1, 1, 2, 1])
    assert made.programs == ("split", "work", "work", "join")
    assert made.edges.tolist() == [[0, 1], [0, 2], [1, 3], [2, 3]]
    packed = tmp_path / "w.xml.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert list(read_workflows(packed)) == [made]


JOB = '<job id="a" runtime="1"/>'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f'<adag>{JOB}<child ref="a"><parent ref="b"/></child></adag>', ":1: task 'a': its parent 'b' is no task"),
        (f'<adag>{JOB}<child ref="b"><parent ref="a"/></child></adag>', ":1: task 'a': its child 'b' is no task"),
        (f'<adag>{JOB}<child ref="a"><parent ref="a"/></child></adag>', ": workflow: tasks wait for each other"),
        ('<adag>\n<job id="a"/></adag>', ": task 'a' states no runtime"),
        ('<adag>\n<job id="a" runtime="soon"/></adag>', ":2: task 'a': runtime: expected a number, got str 'soon'"),
        ('<adag>\n<job id="a" runtime="nan"/></adag>', ":2: task 'a': runtime: expected a number, got str 'nan'"),
        ('<adag>\n<job id="a" runtime="Infinity"/></adag>', ":2: task 'a': runtime: expected a number, got str 'Inf"),
        ('<adag>\n<job id="a" runtime="-inf"/></adag>', ":2: task 'a': runtime: expected a number, got str '-inf'"),
        (
            '<adag><job id="a"><profile namespace="pegasus" key="runtime">NaN</profile></job></adag>',
            ":1: task 'a': runtime: expected a number, got str 'NaN'",
        ),
        ('<adag>\n<job id="a" runtime="-1"/></adag>', ": workflow: task 'a': runtime must be a number >= 0, got -1"),
        ('<adag><job id="a" runtime="1" numcores="0"/></adag>', ": workflow: task 'a': nodes must be >= 1, got 0"),
        (f"<adag>{JOB}\n{JOB}</adag>", ":2: task 'a' stands twice"),
        ('<adag><job runtime="1"/></adag>', ":1: <job> has no id"),
        ("<adag></adag>", ": it has no tasks"),
        ("<html></html>", ":1: holds <html>, expected <adag>"),
        (f"<adag>{JOB}", ":1: not XML: no element found"),
        ("tasks", ":1: not XML: syntax error"),
        ('<!DOCTYPE adag [<!ENTITY a SYSTEM "/etc/passwd">]><adag name="&a;"/>', ":1: a document type declaration"),
        ('<!DOCTYPE adag [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><adag name="&b;"/>', "declaration is not read"),
    ],
)
def test_a_wrong_dax(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "w.dax"
    file.write_text(text)
    with pytest.raises(DocumentError) as caught:
        list(read_documents(file))
    assert str(caught.value).startswith(f"{file}{says}") or says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.reference
def test_real_workflows(shared: Path) -> None:
    read = {path.name.partition(".")[0]: next(read_workflows(path)) for path in (shared / "workflows").iterdir()}
    sizes = {name: (len(each), len(each.edges), each.ticks) for name, each in read.items()}
    assert sizes == {
        "1000genome-chameleon-2ch-100k-001": (52, 76, 1000),
        "Epigenomics_24": (24, 27, 100),
        "HEFT_paper": (10, 15, 1),
        "Montage_25": (25, 45, 100),
        "blast-chameleon-large-001": (103, 300, 10**6),
        "blast-chameleon-small-001": (43, 120, 10**6),
        "bwa-chameleon-small-001": (104, 400, 10**6),
        "epigenomics-chameleon-hep-1seq-100k-001": (41, 48, 1000),
        "helloworld-forkjoin-10-chameleon": (10, 16, 1000),
        "montage-chameleon-2mass-005d-001": (58, 114, 1000),
    }
    assert {*read["Montage_25"].programs} >= {"mProjectPP", "mDiffFit", "mAdd"}
    assert read["HEFT_paper"].critical_path() == 66
    for each in read.values():
        assert decode(encode(each), "here") == each
