"""``transom tune``: what it prints and writes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from markupsafe import escape

from tests.cli.conftest import Ran


@pytest.fixture
def trace(trace_to_tune: Path) -> Path:
    return trace_to_tune


def tune(transom: Callable[..., Ran], trace: Path, *options: object) -> Ran:
    folder = trace.parent
    few = ("--evaluations", 150, "--workers", 1, "--space", folder / "space.toml", "-o", folder / "tuned.toml")
    return transom("tune", trace, *few, *options)


def test_json_states_all_policies_on_both_parts(transom: Callable[..., Ran], trace: Path) -> None:
    done = tune(transom, trace, "--json", "--no-figures", "--test", 0.4)
    assert done.status == 0, done.err
    told = json.loads(done.out)
    assert told["jobs"] == {"train": 240, "test": 160}
    assert told["today"]["policy"] == "fcfs-easy"
    assert {"fcfs-easy", "saf-conservative", "sjf"} <= {each["policy"] for each in told["fixed"]}
    for each in (told["today"], told["tuned"], *told["fixed"]):
        for part in ("train", "test"):
            assert set(each[part]) == {"bounded_slowdown", "wait", "max_wait"}
    now, tuned = told["today"]["train"], told["tuned"]["train"]
    assert tuned["max_wait"] <= 1.5 * now["max_wait"]
    stated = tomllib.loads((trace.parent / "tuned.toml").read_text())
    assert stated["policy"] == told["tuned"]["policy"]
    replayed = json.loads(transom("simulate", trace, "--policy", f"today={stated['policy']}", "--json").out)
    assert replayed["jobs"] == 400
    assert not (trace.parent / "tuned.png").exists()


def test_a_part_of_a_trace_is_tuned_on(transom: Callable[..., Ran], trace: Path) -> None:
    done = tune(transom, trace, "--json", "--no-figures", "--start", 100, "--jobs", 220)
    assert done.status == 0, done.err
    assert json.loads(done.out)["jobs"] == {"train": 110, "test": 110}


def test_sentences_table_and_picture(transom: Callable[..., Ran], trace: Path) -> None:
    done = tune(transom, trace, "--keep", "max_wait <= 2", "--keep", "wait <= 1", "--today", "wfp3-easy")
    assert done.status == 0, done.err
    first, *others = done.out.splitlines()
    assert first.startswith(("Set ", "Nothing "))
    assert any(line.startswith("max_wait <= 2: ") for line in others)
    assert any(line.startswith("wait <= 1: ") for line in others)
    assert any(line.startswith(" today: wfp3-easy ") for line in others)
    assert (trace.parent / "tuned.png").read_bytes().startswith(b"\x89PNG")


def test_objectives_and_groups_stand_in_all_outputs(transom: Callable[..., Ran], trace: Path) -> None:
    asked = ("--objective", "p95_wait", "--objective", "mean_wait", "--keep", "p95_wait[1] <= 2")
    done = tune(transom, trace, *asked, "--no-figures")
    assert done.status == 0, done.err
    assert "95 wait" in done.out.splitlines()[0]
    assert any(line.startswith("p95_wait[size 1 node] <= 2: ") for line in done.out.splitlines())
    assert "p95_wait, test" in done.out
    told = json.loads(tune(transom, trace, *asked, "--no-figures", "--json").out)
    assert told["objectives"] == ["p95_wait", "wait"]
    assert {"p95_wait", "p95_wait[size 1 node]", "wait"} <= set(told["tuned"]["test"])
    stated = tomllib.loads((trace.parent / "tuned.toml").read_text())
    assert stated["objectives"] == told["objectives"]
    assert tune(transom, trace, *asked).status == 0
    assert (trace.parent / "tuned.png").stat().st_size > 5000


def test_the_page_tells_all_and_nothing_of_names_becomes_a_part_of_it(transom: Callable[..., Ran], trace: Path) -> None:
    evil = trace.with_name("<img src=x onerror=alert(1)>.swf")
    trace.rename(evil)
    done = tune(transom, evil, "--keep", "max_wait <= 2")
    assert done.status == 0, done.err
    page = (trace.parent / "tuned.html").read_text()
    assert "<img" not in page
    assert "&lt;img src=x" in page
    told = json.loads(tune(transom, evil, "--keep", "max_wait <= 2", "--json", "--no-figures").out)
    for sentence in told["sentences"]:
        assert escape(sentence) in page
    for rule in told["fixed"]:
        assert f">{rule['policy']}</th>" in page or rule["policy"] == "fcfs-easy"
    assert page.count("<figure>") == 2
    assert "Who gains and who loses under the tuned policy" in page
    assert ">size of the job</th>" in page
    assert not re.search(r"<[a-z]+ [^>]*\b(src|href)=.(?!data:|#)", page)  # nothing is loaded from anywhere


def test_the_policy_is_the_same_whatever_the_test_part_holds(transom: Callable[..., Ran], trace: Path) -> None:
    first = json.loads(tune(transom, trace, "--no-figures", "--json").out)
    tuned = trace.parent / "tuned.toml"
    before = tuned.read_bytes()
    lines = trace.read_text().splitlines()
    header = sum(line.startswith(";") for line in lines)
    for k, line in enumerate(lines[header + 200 :], header + 200):  # the second half
        job, submit, *others = line.split()
        others[1] = str(int(others[1]) // 2 + k % 97 + 1)  # runtime
        lines[k] = " ".join([job, str(int(submit) * 2 + 10_000), *others])
    other = trace.parent / "altered" / trace.name
    other.parent.mkdir()
    other.write_text("\n".join(lines) + "\n")
    tuned.unlink()
    (trace.parent / "tuned.toml.evaluations.jsonl").unlink()
    done = tune(transom, other, "--no-figures", "-o", tuned, "--space", trace.parent / "space.toml", "--json")
    assert done.status == 0, done.err
    assert tuned.read_bytes() == before
    second = json.loads(done.out)
    assert second["tuned"]["train"] == first["tuned"]["train"]
    assert second["tuned"]["test"] != first["tuned"]["test"]


def test_a_dask_cluster_chooses_as_this_machine_does(transom: Callable[..., Ran], trace: Path) -> None:
    pytest.importorskip("distributed")
    here = tune(transom, trace, "--no-figures", "--json")
    journal = trace.parent / "tuned.toml.evaluations.jsonl"
    replays = sorted(journal.read_bytes().splitlines())
    journal.unlink()
    there = tune(transom, trace, "--no-figures", "--json", "--on", "dask", "--workers", 2)
    assert there.status == 0, there.err
    assert there.out == here.out
    assert sorted(journal.read_bytes().splitlines()) == replays


def test_the_same_command_resumes(transom: Callable[..., Ran], trace: Path) -> None:
    first, second = (tune(transom, trace, "--no-figures") for _ in range(2))
    assert first.out == second.out
    assert "replays are read from" in second.err
    assert "replays are read from" not in first.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--today", "none"), "unknown policy 'none'"),
        (("--today", "logged"), "the trace does not state when its jobs started: name a policy with --today"),
        (("--walk-forward", "0d"), "--walk-forward must be above 0, got 0"),
        (("--keep", "max_wait < 2"), "--keep: expected FIGURE <= FACTOR"),
        (("--keep", "wait[99 nodes] <= 1"), "--keep: unknown group of jobs '99 nodes'"),
        (("--objective", "slow"), "--objective: unknown metric 'slow'"),
        (("--insecure",), "--on local sends nothing to other machines"),
        (("--on", "dask:tcp://10.0.0.1:8786"), "--on dask:tcp://10.0.0.1:8786 says itself how many workers there are"),
        (("--test", 1), "--test must be above 0 and below 1, got 1"),
        (("--space", "none.toml"), "none.toml: cannot be read"),
        (("--seconds", 0), "--seconds"),
        (("-o", "nowhere/tuned.toml"), "there is no folder nowhere"),
        (("-o", "."), "--out .: is a folder, expected a file"),
    ],
)
def test_what_cannot_be_is_one_line(
    transom: Callable[..., Ran], trace: Path, options: tuple[object, ...], says: str
) -> None:
    done = tune(transom, trace, *options)
    assert done.status == 2
    assert says in done.err.splitlines()[-1]


def test_a_tuned_policy_is_loaded_by_name(transom: Callable[..., Ran], trace: Path) -> None:
    path = trace.parent / "tuned.toml"
    path.write_text('policy = "saf-easy:max_wait=1d"\n')
    named, stated = (
        json.loads(transom("simulate", trace, "--policy", f"one={spec}", "--json").out)["policies"][0]["metrics"]
        for spec in (f"tuned:file={path}", "saf-easy:max_wait=1d")
    )
    assert named == stated
    path.write_text("policy = 3\n")
    done = transom("simulate", trace, "--policy", f"tuned:file={path}")
    assert done.status == 2
    assert done.err.splitlines()[-1].endswith("expected policy = a specification, as `transom tune` writes it")


def test_a_recording_of_another_file_is_not_reused(transom: Callable[..., Ran], trace: Path) -> None:
    path, out = trace.parent / "tuned.toml", trace.parent / "out"
    starts = []
    for policy in ("saf-easy", "ljf-easy"):
        path.write_text(f'policy = "{policy}"\n')
        done = transom("simulate", trace, "--policy", f"tuned:file={path}", "--out", out, "--no-figures", "--json")
        starts.append(json.loads(done.out)["policies"][0]["metrics"]["mean_wait"])
    assert starts[0] != starts[1]


def test_settings_of_slurm_end_in_lines_to_paste(transom: Callable[..., Ran], trace: Path) -> None:
    conf = trace.parent / "slurm.conf"
    conf.write_text(
        "PriorityType=priority/multifactor\nPriorityWeightJobSize=1000\nNodeName=n[01-64] CPUs=1\n"
        "PartitionName=main Nodes=ALL Default=YES\n"
    )
    today = ("--space", "slurm", "--today", f"slurm-backfill:priority={conf}", "--evaluations", 100, "--no-figures")
    done = tune(transom, trace, *today)
    assert done.status == 0, done.err
    _, _, tail = done.out.partition("in slurm.conf:\n\n")
    assert tail.startswith("PriorityWeightAge=")  # any other order is better than large jobs first
    assert f"--- {conf}" in tail
    assert any(line.startswith("+SchedulerParameters=bf_interval=") for line in tail.splitlines())
    told = json.loads(tune(transom, trace, *today, "--json").out)
    assert told["slurm_conf"]["paste"][0].startswith("PriorityWeightAge=")
    assert told["slurm_conf"]["diff"].startswith("---")
    with_page = [option for option in today if option != "--no-figures"]
    assert tune(transom, trace, *with_page).status == 0
    page = (trace.parent / "tuned.html").read_text()
    assert all(str(escape(line)) in page for line in told["slurm_conf"]["paste"])
    assert str(escape(told["slurm_conf"]["diff"])) in page
    refused = tune(transom, trace, "--space", "slurm")  # which is given twice: the last one counts
    assert refused.status == 2


def test_walk_forward_tunes_again_before_each_step(transom: Callable[..., Ran], trace: Path) -> None:
    submits = [int(line.split()[1]) for line in trace.read_text().splitlines() if not line.startswith(";")]
    days = (submits[-1] - submits[200]) // 2 + 1
    done = tune(transom, trace, "--walk-forward", days, "--json")
    assert done.status == 0, done.err
    told = json.loads(done.out)
    assert sum(step["jobs"] for step in told["steps"]) == told["all"]["jobs"] == 200
    assert [step["before"] for step in told["steps"]] == [200, 200 + told["steps"][0]["jobs"]]
    again = told["all"]["figures"]["tuned again"]["bounded_slowdown"]
    each = [step["jobs"] * step["figures"]["tuned again"]["bounded_slowdown"] for step in told["steps"]]
    assert again == pytest.approx(sum(each) / 200)
    stated = tomllib.loads((trace.parent / "tuned.toml").read_text())
    assert (stated["policy"], stated["jobs"]) == (told["steps"][1]["policy"], told["steps"][1]["before"])
    shown = tune(transom, trace, "--walk-forward", days)
    first, *others = shown.out.splitlines()
    assert first.startswith("Tuned again before each of 2 steps: mean bounded slowdown ")
    for name in ("fcfs-easy", "tuned again", "tuned once", "best rule so far", "saf-easy"):
        assert any(line.startswith(f" {name} ") for line in others)


def test_maintenance_that_is_left_out_is_said(transom: Callable[..., Ran], tmp_path: Path) -> None:
    site, out = Path(__file__).parents[3] / "instances/site", tmp_path / "site.parquet"
    conf = ("--conf", site / "slurm.conf", "--conf", site / "reservations.txt")
    assert transom("import", "slurm", site / "sacct.txt.gz", *conf, "-o", out).status == 0
    few = ("--evaluations", 1, "--workers", 1, "--no-figures", "-o", tmp_path / "tuned.toml")
    done = transom("tune", out, *few, "--json")
    assert done.status == 0, done.err
    assert "Left out is maintenance that the trace states: 2026-03-16 06:00 to 2026-03-18 06:00" in done.err
