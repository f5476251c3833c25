"""Rows of sacct, squeue and tables of commas with more cells than columns: a text that holds the delimiter."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.amounts import numbers
from tests.traces.records.test_slurm_oddities import BASE, imported, job
from tests.traces.records.written import text
from transom.traces.records.delimited import field_of
from transom.traces.records.importing import Imported, ImportRules
from transom.traces.records.slurm import read_slurm
from transom.traces.records.surplus import Found, columns_of, fitted

MENDED = "delimiter inside a text: the line was put together again"
HEADER = (
    "Account|AdminComment|AllocCPUS|AllocNodes|AllocTRES|Cluster|Comment|Constraints|Container|Elapsed|ElapsedRaw|"
    "Eligible|End|ExitCode|Extra|Flags|Group|JobID|JobIDRaw|JobName|Layout|Licenses|NCPUS|NNodes|NodeList|Partition|QOS|"
    "Reason|ReqCPUS|ReqMem|ReqNodes|ReqTRES|Start|State|StdOut|Submit|SubmitLine|Suspended|SystemComment|Timelimit|"
    "TimelimitRaw|TRESUsageInAve|User|UID|WCKey|WorkDir"
)
WIDE = HEADER.split("|")
ROW = {
    "Account": "proj1", "AllocCPUS": "64", "AllocNodes": "2", "AllocTRES": "billing=64,cpu=64,gres/gpu=8,node=2",
    "Cluster": "c1", "Elapsed": "00:10:00", "ElapsedRaw": "600", "Eligible": "2026-03-02T08:00:00",
    "End": "2026-03-02T08:15:00", "ExitCode": "0:0", "Group": "domain users", "JobID": "7", "JobIDRaw": "7",
    "JobName": "sim", "Layout": "Block", "NCPUS": "64", "NNodes": "2", "NodeList": "n[1-2]", "Partition": "gpu",
    "QOS": "normal", "Reason": "None", "ReqCPUS": "64", "ReqMem": "100G", "ReqNodes": "2",
    "ReqTRES": "billing=64,cpu=64,node=2", "Start": "2026-03-02T08:05:00", "State": "COMPLETED", "StdOut": "/o/%j",
    "Submit": "2026-03-02T08:00:00", "SubmitLine": "sbatch job.sh", "Suspended": "00:00:00", "Timelimit": "01:00:00",
    "TimelimitRaw": "60", "User": "ada", "UID": "1000", "WCKey": "*", "WorkDir": "/home/ada",
}  # fmt: skip
FREE = (
    "AdminComment", "Comment", "Container", "Extra", "JobName", "Reason", "StdOut", "SubmitLine", "SystemComment",
    "WorkDir",
)  # fmt: skip
SYNTAX = ("Constraints", "Licenses")


def columns(names: Sequence[str]) -> tuple[dict[str, str], list[Any]]:
    """The name of the column that each field is read from, and the columns."""
    at = {field: name for name in reversed(names) if (field := field_of(name))}
    read = {name: field for field, name in at.items()}
    return at, columns_of([read.get(name, "") for name in names], names)


def placed(names: Sequence[str], row: dict[str, str], delimiter: str = "|") -> tuple[Found, dict[str, str]]:
    """What is found in the line of a row, and what is right."""
    at, made = columns(names)
    line = delimiter.join(row.get(name, "") for name in names)
    return fitted(line.split(delimiter), made, delimiter, {}), {field: row.get(name, "") for field, name in at.items()}


@pytest.mark.parametrize("name", [*FREE, *SYNTAX])
@pytest.mark.parametrize("value", ["a|b", "haswell|knl|x", "/a/b|c", "a1|b2|c3|d4"])
def test_any_text_may_hold_the_delimiter(name: str, value: str) -> None:
    if name in SYNTAX:
        value = value.replace("/", "")
    found, right = placed(WIDE, ROW | {name: value})
    assert found == Found(right)


@pytest.mark.parametrize("value", ["[haswell|knl]", "(a100|v100)&nvlink", "16c*2|32c*4", "x | y", "gpu&[rack1|rack2]"])
def test_constraints_have_a_syntax(value: str) -> None:
    found, right = placed(("JobID", "JobName", "User", "Constraints", "NNodes", "Submit"), ROW | {"Constraints": value})
    assert found.row == right


def test_several_texts_may_hold_it() -> None:
    texts = {"Comment": "a|b", "JobName": "x|y", "SubmitLine": "sbatch --wrap 'ls | wc'", "Constraints": "a|b"}
    found, right = placed(WIDE, ROW | texts)
    assert found == Found(right)


@numbers(200, 20_000)
def test_random_texts_are_placed_right_or_not_at_all(numbers: Sequence[int]) -> None:
    pieces = (
        "a",
        "",
        "64",
        "2",
        "foo bar",
        "00:10:00",
        "cpu=4",
        "n1",
        "COMPLETED",
        "gpu",
        "0:0",
        "2026-03-02T08:00:00",
    )
    right_ones = 0
    for seed in numbers:
        generator = random.Random(seed)
        names = [name for name in WIDE if name not in SYNTAX and generator.random() < 0.9]
        texts = {
            name: "|".join(generator.choices(pieces, k=generator.choice((2, 3, 5))))
            for name in generator.sample(FREE, generator.choice((1, 1, 2)))
        }
        found, right = placed(names, ROW | texts)
        right |= {"name": ""} if found.marked else {}
        assert found.row in (right, None)
        right_ones += found.row == right
    assert right_ones > 0.9 * len(numbers)


@pytest.mark.parametrize("delimiter", [",", "|"])
def test_the_syntax_of_lists_may_hold_it(delimiter: str) -> None:
    found, right = placed(WIDE, ROW | {"NodeList": "n[1,3]", "Group": "staff"}, delimiter)
    assert found.row == right


def test_sizes_must_agree() -> None:
    names = ("JobID", "JobName", "NCPUS", "NNodes", "Comment", "AllocTRES", "Submit", "State")
    row = {name: ROW[name] for name in names if name in ROW} | {"JobName": "a|4", "Comment": "1"}
    found, right = placed(names, row)
    assert found == Found(right)


def test_what_is_not_clear_is_refused_or_left_empty() -> None:
    sizes = ("JobID", "JobName", "NCPUS", "NNodes", "Comment", "Submit", "State")
    found, _ = placed(sizes, ROW | {"JobName": "a|4", "NNodes": "2", "NCPUS": "4", "Comment": "2"})
    assert found.row is None
    assert found.why.endswith("got 8: which text holds the delimiter is not clear, name and nnodes would differ")
    found, right = placed(("JobID", "JobName", "Comment", "NCPUS", "Submit", "State"), ROW | {"Comment": "b|c"})
    assert found == Found(right | {"name": ""}, marked="where the name ends is not clear, it is left empty")


def test_a_column_that_cannot_hold_it_is_said_to_be_wrong() -> None:
    found, _ = placed(("JobID", "Account", "NCPUS", "Submit"), ROW | {"Account": "a|b"})
    assert found.why == (
        "expected 4 fields as the header has, got 5, and no way to join some leaves each column as it should look"
    )


def test_many_delimiters_take_little_work() -> None:
    found, right = placed(WIDE, ROW | {"SubmitLine": "|".join("abc" * 80)})
    assert found == Found(right)
    assert placed(WIDE, ROW | {"Comment": "|" * 100_000})[0].why.endswith("more than 256 too many")
    names = ("JobID", *(f"JobName{i}|NCPUS".split("|")[i % 2] for i in range(20)), "Submit")
    at, made = columns([*names, "JobName"])
    assert fitted(["1"] * (len(names) + 200), made, "|", {}).row is None
    assert "ncpus" in at


TABLE = "JobID|JobName|User|Constraints|NNodes|NCPUS|Submit|Start|End|State\n"
TIMES = "2026-03-02T08:00:00|2026-03-02T08:05:00|2026-03-02T08:15:00|COMPLETED\n"


def table(folder: Path, *rows: str) -> Imported:
    """A table of a few columns, with the same times in each row."""
    (folder / "t").write_text(TABLE + "".join(f"{row}|{TIMES}" for row in rows))
    return read_slurm([str(folder / "t")], ImportRules(bad=0.5))


def test_alternatives_are_part_of_constraints(tmp_path: Path) -> None:
    trace = table(tmp_path, "2|a|ada|haswell|knl|4|128")
    assert trace.jobs.select("user_name", "name", "nodes", "cores").rows() == [("ada", "a", 4, 128)]
    assert trace.card.repairs == {
        MENDED: 1, "delimiter inside a text: taken for part of a list or of constraints": 1,
    }  # fmt: skip


def test_an_empty_alternative_is_none(tmp_path: Path) -> None:
    assert table(tmp_path, "2|a|b|ada||4|128").jobs.select("user_name", "name").rows() == [("ada", "a|b")]


def test_other_rows_tell_who_the_users_are(tmp_path: Path) -> None:
    trace = table(tmp_path, "1|x|ada|haswell|4|128", "2|a|b|ada|haswell|4|128", "3|a|ada|haswell|knl|4|128")
    assert trace.jobs.select("user_name", "name").rows() == [("ada", "x"), ("ada", "a|b"), ("ada", "a")]
    assert trace.card.repairs == {MENDED: 2}


def test_a_row_that_cannot_be_told_is_counted(tmp_path: Path) -> None:
    trace = table(tmp_path, "1|x|ada||4|128", "2|a|b|c|d e|4|128")
    assert trace.jobs["id"].to_list() == [1]
    assert trace.card.repairs == {"cannot be read, left out": 1}
    assert trace.findings.first == (
        f"{tmp_path}/t: line 3: expected 10 fields as the header has, got 11, and no way to join some leaves each "
        "column as it should look"
    )


@pytest.mark.parametrize("delimiter", [*"|;^~#!@&$\\/+*\t", "\x1e", "\x1f", "\x01", "§", "::", "@@", "||", "%%"])
def test_delimiters_that_users_choose(delimiter: str, tmp_path: Path) -> None:
    rows = [job(1), job(2, JobName="a b"), job(3, NodeList="n[1,3]")]
    (tmp_path / "t").write_text(text(rows, list(BASE), delimiter), newline="")
    assert read_slurm([str(tmp_path / "t")]).jobs.equals(imported(rows, tmp_path).jobs)


def test_a_table_of_commas_without_quotes(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(text([job(1), job(2)], list(BASE), ","))
    assert read_slurm([str(tmp_path / "t")]).jobs.equals(imported([job(1), job(2)], tmp_path).jobs)


@pytest.mark.parametrize("quoted", [True, False])
@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_tables_of_other_programs(quoted: bool, index: bool, delimiter: str, tmp_path: Path) -> None:
    import csv

    rows = [job(1), job(2, JobName='say "hi", you'), job(3, JobName="two\nlines"), job(4, JobName="a\tb;c,d")]
    with (tmp_path / "t").open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL)
        writer.writerow([*([""] if index else []), *BASE])
        writer.writerows([*([i] if index else []), *row.values()] for i, row in enumerate(rows))
    trace = read_slurm([str(tmp_path / "t")])
    assert trace.jobs["name"].to_list() == ["a", 'say "hi", you', "two lines", "a\tb;c,d"]
    assert (
        trace.jobs.drop("name", "id", "label")
        .unique()
        .equals(imported([job(1)], tmp_path).jobs.drop("name", "id", "label"))
    )
    assert trace.findings.records == 4


def test_a_text_in_quotes_that_is_too_long_is_refused(tmp_path: Path) -> None:
    rows = [job(1), job(2, JobName='"' + "x," * 100_000 + '"')]
    (tmp_path / "t").write_text(text(rows, list(BASE), ";"))
    trace = read_slurm([str(tmp_path / "t")], ImportRules(bad=0.5))
    assert trace.jobs["id"].to_list() == [1, 2]
    (tmp_path / "t").write_text(text([job(1), job(2, JobName='"' + "x;" * 100_000 + '"')], list(BASE), ";"))
    assert read_slurm([str(tmp_path / "t")], ImportRules(bad=0.5)).findings.first.endswith("more than 256 too many")


def test_quotes_in_the_output_of_sacct_are_part_of_a_text(tmp_path: Path) -> None:
    rows = [job(1, JobName='"a'), job(2, JobName='"b"'), job(3, JobName='"c|d"')]
    assert imported(rows, tmp_path).jobs["name"].to_list() == ['"a', '"b"', '"c|d"']
    (tmp_path / "t").write_text(text([job(1, JobName='6"'), job(2)], list(BASE), ","))
    assert read_slurm([str(tmp_path / "t")]).jobs["name"].to_list() == ['6"', "a"]
