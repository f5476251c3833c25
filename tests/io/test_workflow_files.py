"""Workflows in files: our documents, WfFormat and DAX, and what is wrong with them in one line."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.models.test_workflow import DIAMOND
from transom import read_workflows
from transom.cli import run
from transom.errors import DocumentError
from transom.io import decode, encode, read_documents, schema, write_documents
from transom.io.workflows.file_links import APART, INFERRED
from transom.models import Workflow
from transom.reductions.joining import joined

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


BY_FILES: dict[str, list[dict[str, Any]]] = {
    "1.3": [
        {"name": "a", "runtime": 10, "files": [{"name": "x", "link": "output"}, {"name": "in", "link": "input"}]},
        {"name": "b", "runtime": 20, "files": [{"name": "x", "link": "Input"}, {"name": "y", "link": "output"}]},
        {"name": "c", "runtime": 5, "files": [{"name": "x", "link": "input"}, {"name": "y", "link": "input"}]},
    ],
    "1.4": [
        {"name": "a", "id": "1", "runtimeInSeconds": 10, "files": [{"name": "x", "path": "d/", "link": "output"}]},
        {
            "name": "b", "id": "2", "runtimeInSeconds": 20,
            "files": [{"name": "x", "path": "d/", "link": "input"}, {"name": "y", "sizeInBytes": 3, "link": "output"}],
        },
        {
            "name": "c", "id": "3", "runtimeInSeconds": 5,
            "files": [{"name": "x", "path": "d/", "link": "input"}, {"name": "y", "sizeInBytes": 3, "link": "input"}],
        },
    ],
    "1.5": [
        {"name": "a", "id": "a", "runtimeInSeconds": 10, "inputFiles": ["in"], "outputFiles": ["x"]},
        {"name": "b", "id": "b", "runtimeInSeconds": 20, "inputFiles": ["x"], "outputFiles": ["y"]},
        {"name": "c", "id": "c", "runtimeInSeconds": 5, "inputFiles": ["x", "y"], "outputFiles": []},
    ],
}  # fmt: skip


@pytest.mark.parametrize("version", BY_FILES)
def test_files_link_tasks_where_no_parents_are_declared(version: str) -> None:
    tasks = [{**each, "parents": [], "children": []} for each in BY_FILES[version]]
    whole = {"tasks": tasks}
    if version == "1.5":
        whole = {"specification": {"tasks": tasks, "files": [{"id": "x", "sizeInBytes": 1}]}}
    made = decode(json.dumps({"name": "w", "schemaVersion": version, "workflow": whole}).encode(), "w.json")
    assert isinstance(made, Workflow)
    assert (made.edges.tolist(), made.critical_path()) == ([[0, 1], [0, 2], [1, 2]], 35)
    assert dict(made.repairs) == {INFERRED: 3}
    tasks[2]["parents"] = [tasks[0].get("id", "a")]  # one link that is declared counts, and the files do not
    declared = decode(json.dumps({"workflow": whole}).encode(), "w.json")
    assert isinstance(declared, Workflow)
    assert (declared.edges.tolist(), dict(declared.repairs)) == ([[0, 2]], {})


def test_files_that_link_tasks_in_a_cycle_and_those_that_link_nothing() -> None:
    both = [
        {"name": "a", "runtime": 1, "inputFiles": ["y"], "outputFiles": ["x", "a"]},
        {"name": "b", "runtime": 1, "inputFiles": ["x"], "outputFiles": ["y"]},
    ]
    with pytest.raises(DocumentError) as caught:
        decode(json.dumps({"workflow": {"tasks": both}}).encode(), "w.json")
    says = "w.json: workflow: tasks wait for each other in a cycle: b -> a -> b (by their files: no parents or children"
    assert str(caught.value).startswith(says)
    both[0]["inputFiles"] = ["a"]  # its own
    both[1]["inputFiles"] = ["z"]
    apart = decode(json.dumps({"workflow": {"tasks": both}}).encode(), "w.json")
    assert isinstance(apart, Workflow)
    assert (apart.edges.tolist(), dict(apart.repairs)) == ([], {APART: 2})
    assert dict(joined([apart, apart]).repairs) == {APART: 4}
    with pytest.raises(DocumentError, match="a file of a task has neither an id nor a name"):
        decode(b'{"workflow": {"tasks": [{"name": "a", "runtime": 1, "files": [{"link": "input"}]}]}}', "w.json")


def test_files_link_the_jobs_of_a_dax_without_children(tmp_path: Path) -> None:
    file = tmp_path / "w.dax"
    file.write_text(
        '<adag name="w"><job id="a" runtime="10"><uses file="x" link="output"/></job>'
        '<job id="b" runtime="20"><uses name="x" link="inout"/></job>'
        '<job id="c" runtime="5"><uses name="x" link="input"/><uses name="e" link="none"/></job></adag>'
    )
    (made,) = read_workflows(file)
    assert made.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert dict(made.repairs) == {INFERRED: 3}
    file.write_text(file.read_text().replace("</adag>", '<child ref="c"><parent ref="a"/></child></adag>'))
    assert [each.edges.tolist() for each in read_workflows(file)] == [[[0, 2]]]


def test_inferred_links_are_counted_in_every_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "w.json"
    file.write_text(json.dumps({"name": "w", "workflow": {"tasks": BY_FILES["1.3"]}}))
    line, out = f"{file}: {INFERRED}: 3", tmp_path / "out.jsonl"
    options = ["--problem", "workflow", "--nodes", "4", "--solver", "heft"]
    assert run(["solve", str(file), *options, "--json", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["value"] == 35
    assert json.loads(printed.out)["repairs"] == {INFERRED: 3}
    assert line in printed.err
    assert run(["check", str(file), str(out), "--nodes", "4"]) == 0
    assert line in capsys.readouterr().err
    assert run(["simulate", str(file), "--nodes", "4", "--policy", "fcfs", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["repairs"] == {INFERRED: 3}
    assert f"{INFERRED}: 3" in printed.err


@pytest.mark.reference
def test_files_link_real_workflows_as_they_declare(shared: Path) -> None:
    for path in (shared / "workflows").glob("*.json.gz"):
        document = json.loads(gzip.decompress(path.read_bytes()))
        declared = decode(json.dumps(document).encode(), "w.json")
        for each in document["workflow"]["specification"]["tasks"]:
            each["parents"] = each["children"] = []
        inferred = decode(json.dumps(document).encode(), "w.json")
        assert isinstance(declared, Workflow)
        assert isinstance(inferred, Workflow)
        assert np.array_equal(declared.edges, inferred.edges)
        assert dict(inferred.repairs) == {INFERRED: len(declared.edges)}


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
