"""Who gains and who loses: the facts against a recount from the recorded jobs, and the wording."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from transom.cli import run
from transom.models import Cluster, Job, JobTable
from transom.simulation.output.answer import Repetition, compare
from transom.simulation.output.as_logged import ReplayError, WaitError
from transom.simulation.output.job_groups import groupings
from transom.simulation.output.sentences import answer
from transom.traces import read_swf
from transom.traces.origin import Origin


def replay(mean: float, longest: float = 7200.0, users: dict[str, float] | None = None, **groups: Any) -> Repetition:
    waits = dict(groups) if users is None else {**groups, "user": {name: (1, wait) for name, wait in users.items()}}
    return Repetition({"mean_wait": mean, "median_wait": mean / 2, "max_wait": longest}, waits)


def said(*replays: Repetition, copies: Any = (), jitter: int = 0) -> list[str]:
    return answer([f"p{i}" for i in range(len(replays))], replays, copies, jitter).sentences


@pytest.mark.fast
def test_the_sentence_of_a_gain() -> None:
    users = {str(i): 10.0 for i in range(310)}
    longer = {**users, **{str(i): 20.0 for i in range(12)}}
    assert said(replay(29520, 148 * 3600, users), replay(17280, 210 * 3600, longer)) == [
        "p1 instead of p0 would have cut the mean wait by 41 % (8.2 h to 4.8 h); 12 of 310 users would have waited "
        "longer; the longest wait would have grown from 6.2 d to 8.8 d."
    ]


@pytest.mark.fast
@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ((3600, 7200), (4320, 3600), "raised the mean wait by 20 % (60 min to 72 min); the longest wait would have "
         "shrunk from 2 h to 1 h"),
        ((3600, 7200), (3600, 7200), "left the mean wait as it is (60 min); the longest wait would have stayed at 2 h"),
        ((0, 0), (30, 30), "raised the mean wait from 0 s to 30 s; the longest wait would have grown from 0 s to 30 s"),
        ((36000, 7200), (35700, 7199), "left the mean wait about the same (10.0 h to 9.9 h); the longest wait would "
         "have stayed about the same, 2.0 h"),
        ((36000, 7200), (36, 7200), "cut the mean wait by more than 99 % (10 h to 36 s)"),
    ],
)  # fmt: skip
def test_growth_shrinkage_and_equality(before: tuple[int, int], after: tuple[int, int], words: str) -> None:
    (first, second) = said(replay(*before), replay(*after))
    assert words in first
    assert second == "The trace does not say whose jobs these are."


@pytest.mark.fast
@pytest.mark.parametrize(
    ("after", "words"),
    [
        ({"1": 5.0, "2": 5.0}, "none of 2 users would have waited longer"),
        ({"1": 15.0, "2": 15.0}, "all 2 users would have waited longer"),
        ({"1": 15.0, "2": 5.0}, "1 of 2 users would have waited longer"),
    ],
)
def test_numbers_of_users(after: dict[str, float], words: str) -> None:
    assert words in said(replay(10, users={"1": 10.0, "2": 10.0}), replay(10, users=after))[0]
    told = said(replay(10, users={"1": 10.0}), replay(10, users={"1": 10.0}))[0]
    assert "; the only user would not have waited longer; " in told


@pytest.mark.fast
@pytest.mark.parametrize("users", [None, {"1": 0.0}])
def test_that_nobody_waits_is_said_once(users: dict[str, float] | None) -> None:
    idle = replay(0, 0, users)
    assert said(idle, copies=[[idle, idle]], jitter=60) == ["Under p0 no job would have waited."]
    copies = [[idle, idle], [idle, idle]]
    assert said(idle, idle, copies=copies, jitter=60) == ["Under p1 as under p0 no job would have waited."]
    copies = [[idle, idle], [idle, replay(1, 2, users)]]
    told = said(idle, idle, copies=copies, jitter=60)
    assert told[0].startswith("p1 instead of p0 would have left the mean wait as it is (0 s")
    assert told[-1].startswith("In brackets: ")


@pytest.mark.fast
def test_one_policy_gets_plain_figures() -> None:
    assert said(replay(7200, 36000, {"1": 1.0, "2": 14399.0})) == [
        "Under p0 the mean wait would have been 2 h, the median 60 min and the longest 10 h; 1 of 2 users would have "
        "waited longer than the mean."
    ]
    assert answer(["p0"], [replay(1.0)]).facts["policies"] == []
    one = said(replay(7200), copies=[[replay(7000), replay(7400)]], jitter=60)
    assert one[0].startswith("Under p0 the mean wait would have been 2 h (1.9 h to 2.1 h), ")


@pytest.mark.fast
@pytest.mark.parametrize(
    ("means", "words"),
    [
        ((90, 60), "cut the mean wait by 40 % (100 s to 60 s; 10 to 40 %)"),
        ((60, 60), "cut the mean wait by 40 % (100 s to 60 s; 40 %)"),
        ((99, 103), "left the mean wait about the same (100 s to 60 s; from 1 % less to 3 % more)"),
        ((110, 120), "left the mean wait about the same (100 s to 60 s; 10 to 20 % more)"),
    ],
)
def test_ranges_are_of_differences_copy_by_copy(means: tuple[int, int], words: str) -> None:
    copies = [[replay(100), replay(100)], [replay(each) for each in means]]
    told = said(replay(100), replay(60), copies=copies, jitter=60)
    assert words in told[0]
    assert told[-1] == "In brackets: the range over 2 further replays with submissions moved by up to 60 s."


@pytest.mark.fast
def test_a_group_counts_only_if_all_copies_agree() -> None:
    before = replay(10, size={"1 node": (5, 100.0), "2-4 nodes": (2, 100.0), "5-8 nodes": (1, 100.0)})
    after = replay(10, size={"1 node": (5, 50.0), "2-4 nodes": (2, 150.0), "5-8 nodes": (1, 101.0)})
    other = replay(10, size={"1 node": (5, 60.0), "2-4 nodes": (2, 190.0), "5-8 nodes": (1, 99.0)})
    assert said(before, after)[1] == (
        "By size of the job, of 3 classes 1 would have waited less and 2 longer; greatest gain: 1 node (5 jobs, mean "
        "wait 100 s to 50 s); greatest loss: 2-4 nodes (2 jobs, mean wait 1.7 min to 2.5 min)."
    )
    assert (
        "1 would have waited less, 1 longer and 1 about the same"
        in said(before, after, copies=[[before], [other]], jitter=5)[1]
    )
    (found,) = [each for each in compare("p", before, after, [(before, other)]).groups["size"] if each.jobs == 2]
    assert (found.change.difference, found.change.lowest, found.change.highest) == (50.0, 90.0, 90.0)


@pytest.mark.fast
def test_a_change_within_noise_is_about_the_same() -> None:
    before = replay(4000, users={"1": 4363.0, "2": 0.0}, partition={"batch": (9, 4363.0), "debug": (1, 50.0)})
    after = replay(3000, users={"1": 4361.1, "2": 0.9}, partition={"batch": (9, 4361.1), "debug": (1, 40.0)})
    told = said(before, after)
    assert "; none of 2 users would have waited longer; " in told[0]
    assert told[1].startswith(
        "By partition, of 2 partitions 1 would have waited less, none longer and 1 about the same;"
    )
    (found,) = answer(["a", "b"], [before, after]).facts["policies"]
    assert found["users"] == {"known": 2, "longer": 0, "shorter": 0, "same": 2, "fewest": None, "most": None}


@pytest.mark.fast
def test_a_change_within_the_error_of_the_replay_says_nothing_about_the_cluster() -> None:
    before = replay(3600, partition={"batch": (5, 3600.0), "debug": (5, 3600.0), "big": (1, 3600.0)})
    after = replay(3240, partition={"batch": (5, 3240.0), "debug": (5, 3240.0), "big": (1, 3240.0)})
    partitions = {"batch": WaitError(5, 1000.0, 1050.0, 50.0), "debug": WaitError(5, 1000.0, 1500.0, 500.0)}

    def told(replayed: float, logged: float = 4000.0, missed: float | None = None) -> list[str]:
        of = WaitError(10, logged, replayed, abs(replayed - logged) if missed is None else missed)
        error = ReplayError("today", of, partitions)
        return answer(["old", "new"], [before, after], error=error).sentences

    close = told(3800.0)
    assert close[0].startswith(
        "new instead of old would have cut the mean wait by 10 % (60 min to 54 min; replay error 5 %);"
    )
    assert close[1] == (
        "The replay of today misses the logged mean wait by 5 % (67 min logged, 63 min replayed): differences below "
        "5 % say nothing about this cluster."
    )
    assert (
        "of 3 partitions 2 would have waited less, none longer and 1 about the same; greatest gain: batch" in close[2]
    )
    far = told(8000.0)
    assert far[0].startswith("This replay does not stand for the machine. The replay of today misses ")
    assert "changed the mean wait by less than this replay errs (60 min to 54 min; replay error 100 %)" in far[1]
    assert "of 3 partitions 1 would have waited less, none longer and 2 about the same" in far[2]
    assert "differences below 1 % say nothing" in told(4000.0)[1]
    assert told(4000.0, missed=120.0)[1] == (
        "The replay of today misses the logged mean wait by 0 % (67 min logged, 67 min replayed), and those of single "
        "days by 3 %: differences below 3 % say nothing about this cluster."
    )
    assert told(10.0, 0.0)[1] == "By the log nobody waited: it cannot tell policies apart."
    assert "by 10 % (60 min to 54 min);" in told(10.0, 0.0)[0]


@pytest.mark.fast
def test_light_and_heavy_users_share_the_node_seconds() -> None:
    sizes = {1: 50, 2: 30, 3: 11, 4: 5, 5: 4}
    jobs = JobTable.of(Job(user, user, nodes, 10, user=user) for user, nodes in sizes.items())
    found = groupings(jobs, np.full(5, 10), Cluster(64), Origin())
    assert list(found) == ["size", "use", "user"]
    assert [found["use"].labels[i] for i in found["use"].of] == [
        "heavy users", "medium users", "medium users", "light users", "light users",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Path:
    """The first 1,500 jobs of KTH-SP2, which knows users and groups, on two partitions."""
    path = tmp_path_factory.mktemp("trace") / "kth.swf"
    text = gzip.decompress((shared / "traces/KTH-SP2-1996-2.1-cln.swf.gz").read_bytes()).decode()
    header, rows = [], []
    for line in text.splitlines():
        if line.startswith(";"):
            header.append(line)
        elif len(rows) < 1500:
            fields = line.split()
            rows.append(" ".join([*fields[:15], "2" if int(fields[4]) > 8 else "1", *fields[16:]]))
    path.write_text("\n".join([*header, "; Partition: 1 small", "; Partition: 2 wide", *rows]) + "\n")
    return path


@pytest.mark.reference
def test_facts_equal_a_recount_of_the_recorded_jobs(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["simulate", str(trace), "--policy", "fcfs-easy", "--policy", "saf-easy", "--no-figures"]
    arguments += ["--out", str(tmp_path), "--jitter", "60", "--repeats", "2"]
    assert run([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    told = document["answer"]
    (policy,) = told["policies"]
    waits = [
        pl.read_parquet(tmp_path / name / "jobs.parquet").with_columns(wait=pl.col("start") - pl.col("submit"))
        for name in ("fcfs-easy", "saf-easy")
    ]
    assert [policy["mean_wait"]["baseline"], policy["mean_wait"]["value"]] == [each["wait"].mean() for each in waits]
    assert [policy["max_wait"]["baseline"], policy["max_wait"]["value"]] == [each["wait"].max() for each in waits]
    both = waits[0].select("job_id", "user", "wait", "nodes").join(waits[1].select("job_id", after="wait"), "job_id")
    users = both.group_by("user").agg(pl.col("wait", "after").mean())
    assert policy["users"]["known"] == len(users) == told["users"]
    more = users["after"] - users["wait"]
    assert policy["users"]["longer"] == (more >= (users["wait"] / 100).clip(1)).sum() > 0
    assert policy["users"]["longer"] + policy["users"]["shorter"] + policy["users"]["same"] == len(users)
    logged = read_swf(trace)
    group = dict(zip(logged.jobs.id.tolist(), logged.origin.group.tolist(), strict=True))
    groups = (
        both.with_columns(group=pl.col("job_id").replace_strict(group))
        .group_by("group")
        .agg(pl.len(), pl.col("wait", "after").mean())
    )
    listed = {each["name"]: (each["jobs"], each["baseline"], each["value"]) for each in policy["groups"]["group"]}
    assert listed == {f"group {g}": (n, pytest.approx(w), pytest.approx(a)) for g, n, w, a in groups.rows()}
    wide = both.filter(pl.col("nodes") > 8)
    found = {each["name"]: each for each in policy["groups"]["partition"]}
    assert set(found) == {"small", "wide"}
    assert found["wide"]["value"] == pytest.approx(wide["after"].mean())
    assert sum(each["jobs"] for each in policy["groups"]["size"]) == len(both)
    assert {each["name"] for each in policy["groups"]["use"]} == {"heavy users", "medium users", "light users"}
    copies = [
        json.loads((tmp_path / name / "repeats.json").read_text())["summaries"] for name in ("fcfs-easy", "saf-easy")
    ]
    differences = [after["mean_wait"] - before["mean_wait"] for before, after in zip(*copies, strict=True)]
    assert [policy["mean_wait"]["lowest"], policy["mean_wait"]["highest"]] == [min(differences), max(differences)]
    assert (told["repeats"], told["jitter"]) == (2, 60)

    assert run([*arguments, "-q"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("\n".join(told["sentences"]) + "\n\n")
    assert f"{policy['users']['longer']} of {len(users)} users would have waited longer" in printed
    assert run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answer"] == told, "read from the folder, it is the same"


@pytest.mark.fast
def test_identical_replays_are_no_range() -> None:
    before, after = replay(7200), replay(3600)
    assert said(before, after, copies=[[before] * 3, [after] * 3]) == [
        "p1 instead of p0 would have cut the mean wait by 50 % (2 h to 1 h); the longest wait would have stayed at "
        "2 h.",
        "The trace does not say whose jobs these are.",
        "Each of 3 further replays with another seed is identical: nothing is drawn (--jitter moves submissions).",
    ]
    assert said(before, copies=[[before]])[-1].startswith("A further replay with another seed is identical: ")
    drawn = said(before, after, copies=[[before] * 3, [after, replay(3000), after]])
    assert drawn[-1] == "In brackets: the range over 3 further replays with other seeds."
