"""What the explorer takes and refuses, and what it embeds."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.explorer.recordings import BEGIN, DAY, POLICIES, made_up, of_partitions, recorded, recorded_site
from tests.report.rows import EVIL, solves
from transom.bench.store.frame import to_frame
from transom.cli import run
from transom.errors import DocumentError
from transom.report.assembly import joined
from transom.report.explorer import page
from transom.report.explorer.compact import packed
from transom.report.explorer.page import explorer
from transom.simulation.runs import Run, replay
from transom.traces.outages import Outage, Outages


def unpacked(text: str) -> list[int]:
    values, value, left, bits = [], 0, 0, 0
    for byte in b64decode(text):
        left |= (byte & 127) << bits
        bits += 7
        if byte < 128:
            value += -(left + 1) // 2 if left % 2 else left // 2
            values.append(value)
            left, bits = 0, 0
    return values


@pytest.mark.fast
@given(st.lists(st.integers(1 - 2**51, 2**51 - 1)))
def test_numbers_survive(values: list[int]) -> None:
    assert unpacked(packed(np.array(values, np.int64))) == values


@pytest.mark.fast
def test_numbers_that_javascript_cannot_hold_are_refused() -> None:
    with pytest.raises(DocumentError, match="too large for a page"):
        packed(np.array([2**51]))


@pytest.mark.fast
def test_the_script_is_of_the_package_and_has_no_way_out() -> None:
    folder = Path(page.__file__).parent / "script"
    own = {name for name in page.SCRIPT if name.startswith("explorer/")}
    assert {f"explorer/script/{path.name}" for path in folder.iterdir()} == own
    script = joined(page.SCRIPT)
    assert set(re.findall(r"https?:[^\"]*", script)) == {"http://www.w3.org/2000/svg"}
    for way_out in ("fetch(", "XMLHttpRequest", "innerHTML", "eval(", "import(", "sendBeacon", "WebSocket"):
        assert way_out not in script


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("replays"), "--jitter", "60", "--repeats", "2")


def test_the_answer_is_that_of_simulate(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policies = [word for policy in POLICIES for word in ("--policy", policy)]
    arguments = ["simulate", str(out.parent / "trace.parquet"), *policies, "--out", str(out), "--no-figures", "--json"]
    assert run([*arguments, "--long-runs", "keep", "--jitter", "60", "--repeats", "2"]) == 0
    told = json.loads(capsys.readouterr().out)["answer"]
    assert run(["report", str(out), "-o", str(tmp_path / "page.html"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["jobs"], found["policies"]) == (400, list(POLICIES)), "in the order of simulate, not of the alphabet"
    assert found["answer"] == told
    assert told["repeats"] == 2
    assert set(told["policies"][0]["groups"]) == {"partition", "size", "group", "use"}
    text = (tmp_path / "page.html").read_text()
    assert "fcfs-easy would have" in text
    assert EVIL not in text, "names stand in it escaped"
    single = [str(out / "sjf-easy"), str(out / "fcfs-easy")]
    assert run(["report", *single, "-o", str(tmp_path / "page.html"), "--json", "--title", "Ours"]) == 0
    assert json.loads(capsys.readouterr().out)["policies"] == ["sjf-easy", "fcfs-easy"]
    assert "<title>Ours</title>" in (tmp_path / "page.html").read_text()


def test_groups_without_names_stand_by_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, out = tmp_path / "trace.swf", tmp_path / "out"
    job = "{0} {0} -1 5 1 -1 -1 1 9 -1 1 {0} {0} -1 -1 -1 -1 -1\n"
    trace.write_text("; MaxProcs: 1\n" + "".join(job.format(i) for i in range(1, 13)))
    policies = ["--policy", "fcfs", "--policy", "ljf"]
    assert run(["simulate", str(trace), *policies, "--out", str(out), "--no-figures", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["answer"]
    assert [each["name"] for each in told["policies"][0]["groups"]["group"]][1:10:8] == ["group 2", "group 10"]
    assert run(["report", str(out), "-o", str(tmp_path / "page.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answer"] == told


def test_the_same_recordings_give_the_same_bytes(out: Path) -> None:
    assert explorer([out]).html == explorer([out]).html


def test_recordings_hold_the_names_of_the_trace(out: Path) -> None:
    rows = pl.read_parquet(out / "fcfs-easy" / "jobs.parquet")
    assert {"partition", "group", "name", "user_name"} <= set(rows.columns)
    assert set(rows["partition"]) == {EVIL, "small"}
    assert run(["check", str(out.parent / "trace.parquet"), str(out), "--long-runs", "keep"]) == 0


def test_what_does_not_go_together_is_one_line(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "store"
    store.mkdir()
    to_frame(solves(1, 1, (1.0,))).write_parquet(store / "rows.parquet")
    trace, other, twice = out.parent / "trace.parquet", tmp_path / "other", tmp_path / "twice"
    assert run(["simulate", str(trace), "--jobs", "50", "--policy", "x=fcfs", "--out", str(other), "--no-figures"]) == 0
    twice.mkdir()
    (twice / "fcfs-easy").symlink_to(out / "fcfs-easy")
    broken = tmp_path / "broken" / "a"
    broken.mkdir(parents=True)
    (broken / "jobs.parquet").write_bytes(b"PAR1 no PAR1")
    capsys.readouterr()
    target = ["-o", str(tmp_path / "page.html")]
    for arguments, says in (
        ([str(out), str(store)], "holds replays"),
        ([str(out), str(other)], "replays another workload"),
        ([str(out), str(twice)], "a second policy 'fcfs-easy'"),
        ([str(broken.parent)], "jobs.parquet"),
        ([str(out), "--figures", str(tmp_path / "f")], "--figures is for results of the bench"),
        ([str(out), "--library", str(tmp_path / "f")], "--library is for results of the bench"),
    ):
        assert run(["report", *arguments, *target]) == 2, says
        error = capsys.readouterr().err
        assert says in error
        assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "page.html").exists()


def embedded(path: Path) -> dict[str, Any]:
    """The data that a page embeds."""
    text = path.read_text().partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    return json.loads(text)


def test_partitions_outages_and_the_clock_are_in_the_page(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    assert run(["report", str(recorded_site(tmp_path)), "-o", str(target), "-q"]) == 0
    data, jobs = embedded(target), of_partitions().jobs
    assert data["epoch"] == BEGIN
    assert [(each["name"], each["partition"], each["capacity"]) for each in data["resources"]] == [
        ("partition_small", "small", 16), ("partition_large", "large", 40), ("gpu", None, 40),
    ]  # fmt: skip
    assert [unpacked(each["demand"]) for each in data["resources"]] == jobs.demand.T.tolist()
    assert data["refused"] == ""
    assert data["without"] == ""
    assert [(each["kind"], each["ranges"]) for each in data["outages"]["rows"]] == [
        ("maintenance", [[10, 29]]), ("failure", [[0, 2]]),
    ]  # fmt: skip
    outages = data["policies"][0]["outages"]
    kinds, _, begins, ends, firsts, lasts = map(unpacked, outages["columns"])
    rows = zip((outages["kinds"][kind] for kind in kinds), begins, ends, firsts, lasts, strict=True)
    begin = int(jobs.submit[40])
    assert sorted(rows) == [
        ("failure", begin + 2 * DAY, begin + 3 * DAY, 0, 2), ("maintenance", begin, begin + DAY, 10, 29),
    ]  # fmt: skip
    assert unpacked(outages["out"][1])[:2] == [20, 0]
    assert len(pl.read_parquet(tmp_path / "out" / "fcfs-easy" / "attempts.parquet")), "some jobs start twice"
    order = np.array(unpacked(data["policies"][0]["order"])) + np.arange(len(jobs))
    assert sorted(order) == list(range(len(jobs)))
    assert "Times are in UTC." in target.read_text()


def test_what_the_page_does_not_replay_of_outages_is_said(tmp_path: Path) -> None:
    plain, known = made_up(60), Outage("maintenance", 0, DAY, 8)
    drained = Outages((known, Outage("drain", 0, DAY, 8)), mtbf=10_000 * DAY, mttr=60)
    replay(plain, Run("fcfs-easy", "fcfs-easy", outages=drained), tmp_path / "out")
    assert run(["report", str(tmp_path / "out"), "-o", str(tmp_path / "page.html"), "-q"]) == 0
    data = embedded(tmp_path / "page.html")
    assert [each["number"] for each in data["outages"]["rows"]] == [8]
    assert data["without"] == "The page's replay leaves out drains and failures drawn by a law."
    replay(plain, Run("sjf-easy", "sjf-easy", outages=Outages((known,))), tmp_path / "out")
    assert run(["report", str(tmp_path / "out"), "-o", str(tmp_path / "page.html"), "-q"]) == 0
    data = embedded(tmp_path / "page.html")
    assert data["outages"] is None
    assert "the recorded replays do not state the same ones" in data["without"]


def test_a_trace_without_a_begin_has_no_dates(out: Path, tmp_path: Path) -> None:
    assert run(["report", str(out), "-o", str(tmp_path / "page.html"), "-q"]) == 0
    data = embedded(tmp_path / "page.html")
    assert (data["epoch"], data["resources"], data["without"], data["outages"]) == (None, [], "", None)
    assert data["policies"][0]["outages"] is None
    assert "Times count from the first submission." in (tmp_path / "page.html").read_text()


def test_what_the_log_states_stands_beside_policies(tmp_path: Path) -> None:
    plain = of_partitions()
    started = np.where(np.arange(len(plain)) % 9 == 0, -1, plain.jobs.submit + 600)
    workload = replace(plain, origin=replace(plain.origin, started=started))
    schedule, _ = replay(workload, Run("fcfs-easy", "fcfs-easy"), tmp_path / "out")
    assert run(["report", str(tmp_path / "out"), "-o", str(tmp_path / "page.html"), "-q"]) == 0
    assert unpacked(embedded(tmp_path / "page.html")["logged"]) == np.where(started < 0, -1, 600).tolist()
    page = (tmp_path / "page.html").read_text()
    replayed = schedule.wait[started >= 0].mean()
    assert '<tr><th scope="row">as logged</th><td class="number">' in page
    assert f"misses the logged mean wait by {abs(replayed - 600) / 600 * 100:,.0f} % (" in page
