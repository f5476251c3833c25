"""Plans: strict reading, absolute paths, stable digests; tasks and their keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.bench.plan.plan import Plan, parse_plan, read_plan, suites
from transom.bench.plan.task import FAILED, Row, Task
from transom.bench.store.frame import JSON_COLUMNS, schema, to_frame
from transom.errors import DocumentError, SpecError
from transom.stop import Stop

SET = '[[instances]]\nfiles = ["a.jsonl"]\n'
TASK = Task(
    set="windows",
    label="a.jsonl:1",
    document=msgspec.Raw(b'{"format":"transom/knapsack/1"}'),
    instance="0" * 32,
    problem="knapsack",
    name="annealing",
    spec="sa:steps=10",
    stop=Stop(seconds=1),
    seed=3,
)
ROW = Row(
    key=TASK.key(),
    set="windows",
    label="a.jsonl:1",
    instance="0" * 32,
    problem="knapsack",
    name="annealing",
    spec="sa:steps=10",
    stop=Stop(seconds=1.0, iterations=5),
    seed=3,
    threads=1,
    sense="max",
    size=7,
    outcome="ok",
    value=5,
    bound=None,
    curve=((0.25, 3.0, None), (0.5, 5.0, 9.0)),
    wall=1.25,
    parameters={"steps": 10, "notes": {"chose": "dp"}},
)


def plan(text: str) -> Plan:
    return parse_plan(text, "plan.toml", Path("/somewhere"))


def test_a_plan_is_read_with_its_defaults() -> None:
    read = plan(SET)
    assert read.instances[0].files == ("/somewhere/a.jsonl",)
    assert read.stops() == (Stop(seconds=1.0),)
    assert (read.solvers, read.seeds, read.threads) == (("auto",), (0,), (1,))


def test_budgets_in_seconds_come_before_the_others() -> None:
    read = plan("seconds = [0.1, 5]\nbudgets = [{iterations = 10, target = 3.5}]\n" + SET)
    assert read.stops() == (Stop(seconds=0.1), Stop(seconds=5.0), Stop(iterations=10, target=3.5))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "nothing to do"),
        ("seconds = 1\n" + SET, "seconds"),
        ("seconds = [0]\n" + SET, "seconds[0]"),
        ("seeds = [-1]\n" + SET, "seeds[0]"),
        ("seeds = []\n" + SET, "seeds"),
        ("threads = [0]\n" + SET, "threads[0]"),
        ("sedes = [1]\n" + SET, "sedes"),
        ("grace = nan\n" + SET, "grace"),
        ("seconds = [inf]\n" + SET, "seconds"),
        ('format = "transom/plan/2"\n' + SET, "transom/plan/2"),
        ("budgets = [{gap = -1}]\n" + SET, "gap"),
        (f"seeds = [{2**63}]\n" + SET, f"seeds must be <= {2**63 - 1}"),
        (f"threads = [{2**64}]\n" + SET, "threads must be"),
        ("budgets = [{target = -inf}]\n" + SET, "target must be finite"),
        ("budgets = [{iterations = 5, gap = inf}]\n" + SET, "gap must be finite"),
        (f"budgets = [{{iterations = {10**400}}}]\n" + SET, "budget"),
        (f"budgets = [{{stall = {2**63}}}]\n" + SET, "stall must be <="),
        ("budgets = [{seconds = 1e9}]\n" + SET, "seconds must be <= 100000000"),
        ("[[instances]]\n", "instances[0]"),
        ('[[instances]]\nfiles = ["a"]\ngenerate = "knapsack"\n', "instances[0]"),
        ('[[traces]]\nfile = "a.swf"\n', "policies"),
        ('[[traces]]\npolicies = ["fcfs"]\n', "traces[0]"),
        (SET + SET, "two sets are called 'a'"),
        ("name = [\n", "not TOML"),
    ],
)
def test_what_is_wrong_is_reported_with_file_and_place(text: str, words: str) -> None:
    with pytest.raises(DocumentError) as error:
        plan(text)
    assert str(error.value).startswith("plan.toml: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_two_solvers_of_one_label_are_refused() -> None:
    with pytest.raises(SpecError, match="LABEL=SPEC"):
        plan('solvers = ["sa", "sa=sa:steps=5"]\n' + SET)
    assert plan('solvers = ["sa", "sa:steps=5"]\n' + SET).solvers == ("sa", "sa:steps=5")


def test_files_that_cannot_be_read_and_unknown_suites(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"no\.toml: cannot be read"):
        read_plan(tmp_path / "no.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DocumentError, match="not a text file"):
        read_plan(tmp_path / "bytes.toml")
    with pytest.raises(SpecError, match=r"did you mean 'smoke'\?"):
        read_plan("smok")


@pytest.mark.parametrize("name", suites())
def test_every_suite_is_a_valid_plan_that_says_what_it_is(name: str) -> None:
    suite = read_plan(name)
    assert suite.name == name
    assert suite.description


def test_paths_start_at_the_folder_of_the_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('[[instances]]\nfiles = ["sets/a.jsonl", "/abs/b.jsonl"]\n')
    assert read_plan(tmp_path / "plan.toml").instances[0].files == (str(tmp_path / "sets/a.jsonl"), "/abs/b.jsonl")


def test_the_digest_depends_on_everything_that_a_plan_says() -> None:
    texts = [SET, "seeds = [1]\n" + SET, "grace = 1\n" + SET, SET + "take = 3\n", 'name = "x"\n' + SET]
    assert len({plan(text).digest() for text in texts}) == len(texts)
    assert plan(SET).digest() == plan(SET).digest()


def test_a_key_depends_on_what_decides_the_result_alone() -> None:
    key = TASK.key()
    same = [("grace", 1.0), ("memory", 1), ("limit", 5.0), ("name", "other"), ("label", "b"), ("set", "other")]
    for name, value in same:
        assert msgspec.structs.replace(TASK, **{name: value}).key() == key, name
    others = [("seed", 4), ("spec", "sa:steps=11"), ("instance", "1" * 32), ("threads", 2), ("problem", "selection")]
    for name, value in others:
        assert msgspec.structs.replace(TASK, **{name: value}).key() != key, name
    for stop in (Stop(seconds=2), Stop(), Stop(seconds=1, iterations=1), Stop(iterations=1)):
        assert msgspec.structs.replace(TASK, stop=stop).key() != key


def test_tasks_and_rows_survive_the_way_to_a_worker() -> None:
    task = msgspec.json.decode(msgspec.json.encode(TASK), type=Task)
    assert task.key() == TASK.key()
    assert bytes(task.document) == bytes(TASK.document)
    assert msgspec.json.decode(msgspec.json.encode(ROW), type=Row) == ROW


@given(st.integers(0, 10**6).map(lambda x: x / 1000).filter(bool))
def test_a_budget_is_the_same_budget_as_an_integer(seconds: float) -> None:
    whole = float(int(seconds)) or 1.0
    as_int, as_float = (
        msgspec.structs.replace(TASK, stop=replace(TASK.stop, seconds=x)).key() for x in (int(whole), whole)
    )
    assert as_int == as_float


def test_the_end_of_a_run_is_its_budget_or_limit_and_the_grace() -> None:
    assert TASK.seconds == 1.0 + TASK.grace
    assert msgspec.structs.replace(TASK, stop=Stop(iterations=5), limit=10.0).seconds == 10.0 + TASK.grace


def test_a_table_holds_every_fact_of_its_rows() -> None:
    frame = to_frame([ROW, msgspec.structs.replace(ROW, curve=(), value=None, wall=None)])
    assert dict(frame.schema) == schema()
    first, second = frame.rows(named=True)
    assert first["curve"] == [
        {"seconds": 0.25, "value": 3.0, "bound": None},
        {"seconds": 0.5, "value": 5.0, "bound": 9.0},
    ]
    assert (first["budget_seconds"], first["budget_iterations"], first["budget_gap"]) == (1.0, 5, None)
    assert first["value"] == 5.0
    assert second["value"] is None
    assert second["curve"] == []
    for name in JSON_COLUMNS:
        assert msgspec.json.decode(first[name]) == getattr(ROW, name)
    assert dict(to_frame([]).schema) == schema()


def test_overshoot_is_measured_against_the_budget_in_seconds() -> None:
    assert ROW.overshoot == 0.25
    assert msgspec.structs.replace(ROW, stop=Stop(iterations=3)).overshoot is None
    assert msgspec.structs.replace(ROW, wall=None).overshoot is None
    assert "ok" not in FAILED
