"""``transom protocol rlscheduler``: the field's sequences, published figures, and what is refused."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Ran
from transom.generate import generate_lublin
from transom.traces import write_swf

Transom = Callable[..., Ran]

STARTS = [1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085]
RULES = ("fcfs", "wfp3", "unicep", "sjf", "f1")
PUBLISHED = {
    ("lublin_256", "none"): (7273.77, 19753.53, 22274.74, 277.35, 258.37, 254.67),
    ("lublin_256", "easy"): (235.82, 133.87, 307.23, 73.31, 75.07, 58.64),
    ("SDSC-SP2-1998-4.2-cln", "none"): (1727.54, 3000.88, 1848.45, 2680.55, 1232.06, 466.44),
    ("SDSC-SP2-1998-4.2-cln", "easy"): (1595.12, 1083.12, 548.01, 2167.84, 1098.22, 397.82),
}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "small.swf.gz"
    write_swf(generate_lublin(300, 64, np.random.default_rng(1), load=1.1), path)
    return path


def small(*options: object) -> tuple[object, ...]:
    return ("--sequences", 3, "--length", 20, "--first", 300, *options)


@pytest.mark.reference
@pytest.mark.parametrize(("name", "backfill"), PUBLISHED)
def test_rules_have_the_published_figures(transom: Transom, shared: Path, name: str, backfill: str) -> None:
    path = shared / "traces" / f"{name}.swf.gz"
    policies = [word for rule in RULES for word in ("--policy", rule)]
    ran = transom(
        "protocol", "rlscheduler", path, *policies, "--rules", "rlscheduler:sign=published", "--backfill", backfill,
        "--json", "-q",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    *figures, learned = PUBLISHED[name, backfill]
    for line, rule, figure in zip(ran.lines, RULES, figures, strict=True):
        assert line["policy"] == line["spec"] == rule
        assert round(line["bounded_slowdown"], 2) == figure
        assert (line["trace"], line["rules"], line["backfill"]) == (str(path), "rlscheduler:sign=published", backfill)
        assert line["published"]["bounded_slowdown"] == figure
        assert line["published"]["learned"] == learned
        assert [each["start"] for each in line["sequences"]] == STARTS
        assert line["clock"] == ("trace" if rule == "f1" else None)


@pytest.mark.reference
@pytest.mark.parametrize("backfill", ["none", "easy"])
def test_every_sequence_is_that_of_the_reference_with_the_real_sign(
    transom: Transom, shared: Path, backfill: str
) -> None:
    expected: dict[str, list[list[float]]] = defaultdict(list)
    with open(shared / "reference" / "rlscheduler_means.csv", newline="") as file:
        for row in csv.DictReader(file):
            if (row["trace"], row["seq_len"], row["backfill"]) == ("SDSC-SP2", "1024", str(int(backfill == "easy"))):
                figures = [float(row[name]) for name in ("mean_bsld", "mean_wait", "util_makespan")]
                expected[row["policy"]].append(figures)
    names = {"wfp3": "WFP3_fixed", "unicep": "UNICEP_fixed", **{f"f{i}": f"F{i}" for i in (2, 3, 4)}}
    path = shared / "traces" / "SDSC-SP2-1998-4.2-cln.swf.gz"
    policies = [word for rule in names for word in ("--policy", rule)]
    ran = transom("protocol", "rlscheduler", path, *policies, "--backfill", backfill, "--json", "-q")
    assert ran.status == 0, ran.err
    for line in ran.lines:
        found = [[each[name] for name in ("bounded_slowdown", "wait", "utilisation")] for each in line["sequences"]]
        np.testing.assert_allclose(found, expected[names[line["policy"]]], rtol=1e-9)
        assert line["rules"] == "rlscheduler"


@pytest.mark.reference
def test_the_clock_of_f4_matters_under_textbook_events(transom: Transom, shared: Path) -> None:
    path = shared / "traces" / "lublin_256.swf.gz"
    ran = transom(
        "protocol", "rlscheduler", path, "--rules", "textbook", "--policy", "f4", "--policy", "own=f4:clock=sequence",
        "--policy", "saf", "--json", "-q",
    )  # fmt: skip
    assert [round(line["bounded_slowdown"], 2) for line in ran.lines] == [20.68, 280.56, 26.95]
    assert [line["clock"] for line in ran.lines] == ["trace", "sequence", None]
    assert [line["rules"] for line in ran.lines] == ["textbook"] * 3
    assert [line["published"] for line in ran.lines] == [None] * 3


@pytest.mark.parametrize("rules", ["rlscheduler", "textbook"])
def test_a_line_holds_means_medians_and_intervals_of_its_sequences(transom: Transom, trace: Path, rules: str) -> None:
    ran = transom(
        "protocol", "rlscheduler", trace, "--sequences", 7, "--length", 20, "--first", 300, "--seed", 4, "--rules",
        rules, "--policy", "sjf", "--policy", "greedy=largest-first", "--backfill", "easy", "--json", "-q",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    sjf, greedy = ran.lines
    for line in (sjf, greedy):
        for name in ("bounded_slowdown", "wait", "utilisation", "slowdown"):
            values = [each[name] for each in line["sequences"]]
            assert line[name] == pytest.approx(np.mean(values))
            assert line["medians"][name] == pytest.approx(np.median(values))
            assert line["intervals"][name] == pytest.approx([min(values), max(values)])  # all of seven values
            assert line["deviations"][name] == pytest.approx(np.std(values, ddof=1))
        assert {name: line[name] for name in ("protocol", "seed", "length", "first", "after")} == {
            "protocol": "rlscheduler", "seed": 4, "length": 20, "first": 300, "after": 0,
        }  # fmt: skip
        assert line["published"] is None
    assert (sjf["backfill"], greedy["backfill"]) == ("easy", "easy" if rules == "rlscheduler" else "own")
    # Backfilling does something, and so do the rules' own settings.
    none = transom("protocol", "rlscheduler", trace, *small("--rules", rules, "--policy", "sjf", "--json", "-q"))
    easy = transom(
        "protocol", "rlscheduler", trace, *small("--rules", rules, "--policy", "sjf", "--json", "-q"),
        "--backfill", "easy",
    )  # fmt: skip
    assert easy.lines[0]["wait"] < none.lines[0]["wait"]
    assert none.lines[0]["intervals"]["wait"] is None


def test_settings_of_the_rules_draw_the_same_sequences_as_options(transom: Transom, trace: Path) -> None:
    stated = "rlscheduler:sequences=3,length=20,first=200,after=100,seed=2"
    ran = transom("protocol", "rlscheduler", trace, "--rules", stated, "--policy", "sjf", "--json", "-q")
    options = ("--sequences", 3, "--length", 20, "--first", 200, "--after", 100, "--seed", 2)
    assert transom("protocol", "rlscheduler", trace, *options, "--policy", "sjf", "--json", "-q").lines == ran.lines
    assert all(100 <= each["start"] < 180 for each in ran.lines[0]["sequences"])


def test_the_table_says_rules_backfilling_and_clock(transom: Transom, trace: Path) -> None:
    ran = transom("protocol", "rlscheduler", trace, *small("--policy", "f1", "--policy", "own=f1:clock=sequence"))
    assert ran.status == 0
    assert "small under rlscheduler events, no backfilling: 3 sequences of 20 jobs (seed 1)" in ran.out
    assert "f1: submission times on the trace's clock (clock=trace)" in ran.out
    assert "own: submission times on a clock that starts with the jobs that are replayed" in ran.out
    assert "sequences of 20 jobs begin at" in ran.err
    ran = transom(
        "protocol", "rlscheduler", trace, *small("--rules", "textbook", "--backfill", "easy", "--policy", "f1")
    )
    assert "small under textbook events, EASY backfilling" in ran.out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--policy", "sjf-easy"), "is backfilled by --backfill here: --policy sjf --backfill easy"),
        (("--policy", "f4-easy:clock=sequence"), "--policy f4:clock=sequence --backfill easy"),
        (("--policy", "sjf-conservative"), "is backfilled by --backfill here, which knows none and easy"),
        (("--policy", "nwp"), "rlscheduler rules take no policy by period or with -conservative, got 'nwp'"),
        (("--policy", "sjf", "--policy", "sjf"), "two policies are called 'sjf'"),
        (("--policy", "sjf", "--rules", "cqsim"), "--rules cqsim: this protocol takes rlscheduler or textbook"),
        (("--policy", "sjf", "--rules", "rlscheduler:seed=3", "--seed", 3), "seed is stated by --seed"),
        (("--policy", "sjf", "--rules", "rlscheduler:backfill=easy"), "backfill is stated by --backfill"),
        (("--policy", "sjf", "--rules", "rlscheduler:unasked=3"), "which jobs ask for no time is found in the trace"),
        (("--policy", "sjf"), "sequences of 1024 need > 2049 jobs, got 300"),
        (("--policy", "sjf", "--backfill", "conservative"), "--backfill"),
    ],
)  # fmt: skip
def test_what_does_not_go_is_one_line(transom: Transom, trace: Path, options: tuple[object, ...], says: str) -> None:
    ran = transom("protocol", "rlscheduler", trace, *options)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err
    assert "Traceback" not in ran.err
