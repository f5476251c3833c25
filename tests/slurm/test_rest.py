"""A Slurm by slurmrestd: the same documents as by commands, of a real one and of answers in the form of 24.11."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ran, transom
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.newer import newer_jobs, newer_nodes, told
from tests.slurm.release import Release
from tests.slurm.rest import answering, slurmrestd
from transom.errors import SlurmError
from transom.io.documents import encode
from transom.slurm import rest
from transom.slurm.consistency import look
from transom.slurm.rest import ask_rest
from transom.slurm.state import ask_slurm, read_answers
from transom.slurm.window import window_of

__all__ = ["transom"]

HERE = Path(__file__).parent / "recorded"
EXAMPLES = Path(__file__).parents[2] / "examples" / "slurm"
NOW = 1795437431
PARTITION = {
    "name": "main",
    "nodes": {"configured": "n[00-07]"},
    "maximums": {"time": told(None, True), "oversubscribe": {"jobs": 0, "flags": []}},
    "partition": {"state": ["UP"]},
    "flags": ["DEFAULT"],
}


def test_it_tells_what_the_commands_tell(
    release: Release,
    emulated_slurm: Callable[..., EmulatedSlurm],
    transom: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if release.program("slurmrestd") is None:
        pytest.skip("needs slurmrestd")
    slurm = emulated_slurm(nodes=8, leaf=4, settings={"Licenses": "matlab:4"})
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, slurm.environment[name])
    ended = slurm.submit("true", "-N", "1")
    slurm.wait(lambda: slurm.states()[ended] == "COMPLETED", "a job has ended")
    running = slurm.submit("sleep 1000", "-N", "2", "-t", "30", "-L", "matlab:3", "-w", "n00,n01")
    slurm.wait(lambda: slurm.states()[running] == "RUNNING", "a job runs")
    slurm.run("scontrol", "update", "nodename=n07", "state=drain", "reason=x")
    slurm.run("scontrol", "create", "reservation=r", "starttime=now+600", "duration=60", "users=root", "nodes=n03")
    slurm.submit("sleep 1000", "-N", "8", "-t", "10", "--array=1-3")
    for options in (
        ("-N2", "-t20", "-L", "matlab:2"), ("-N1", "-xn03"), ("-N1", "-wn04"), ("-N2", "--switches=1"), ("-N1-2",),
        ("-N1", "-t5", f"--dependency=afterok:{running}"), ("-N1",),
    ):  # fmt: skip
        slurm.submit("sleep 1000", "-H", *options)
    with slurmrestd(slurm) as socket:
        while True:  # until nothing happens meanwhile
            before, by_rest, by_commands = look(ask_slurm), look(lambda: ask_rest(socket)), look(ask_slurm)
            if replace(before, now=0) == replace(by_commands, now=0):
                break
        assert before.now <= by_rest.now <= by_commands.now
        for held in (False, True):
            one, other = (window_of(replace(state, now=by_commands.now), held=held) for state in (by_commands, by_rest))
            assert encode(one.window) == encode(other.window)
            assert (one.names, one.refused, one.remarks) == (other.names, other.refused, other.remarks)
            assert one.idle.tolist() == other.idle.tolist()
            assert one.kept_from == other.kept_from
        assert {job.name for job in by_rest.jobs} == {job.name for job in by_commands.jobs}
        told_ = json.loads(transom("slurm", "window", "--json", "--held", "--rest", socket).out)
        asked = json.loads(transom("slurm", "window", "--json", "--held").out)
        assert {**told_, "now": 0} == {**asked, "now": 0}
        advice = transom("slurm", "advise", "--json", "--held", "--rest", socket)
        assert (advice.status, advice.lines[0]["start"] != []) == (0, True)
        dry = transom("slurm", "run", "--mode", "drive", "--select", "all", "--json", "--rest", socket)
        assert (dry.status, len(dry.lines[0]["given_back"])) == (0, 5)
    gone = transom("slurm", "window", "--rest", socket)
    assert (gone.status, gone.err.count("\n")) == (2, 1)
    assert "no slurmrestd answers" in gone.err
    assert "refuses to run as root" in gone.err
    both = transom("slurm", "window", EXAMPLES / "jobs.txt", "--rest", socket)
    assert (both.status, "--rest asks a running Slurm" in both.err) == (2, True)


def recorded(name: str) -> Any:
    return json.loads(gzip.decompress((HERE / name).read_bytes()))


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Those of a slurmrestd of 24.11; the commands tell the network."""
    jobs = newer_jobs(recorded("squeue.json.gz"))
    for job in jobs["jobs"]:
        job["minimum_switches"] = 1 if job["job_id"] == 11 else 0
    monkeypatch.setattr(rest, "run_slurm", lambda *_: (EXAMPLES / "topology.txt").read_text())
    return {
        "ping": {"pings": []},
        "diag": {"statistics": {"req_time": told(NOW)}, "errors": []},
        "jobs": jobs,
        "nodes": newer_nodes(recorded("sinfo.json.gz")),
        "partitions": {"partitions": [PARTITION], "errors": []},
        "reservations": {"errors": [{"error": "there is none"}]},
        "licenses": {"licenses": [{"LicenseName": "m", "Total": 4, "Used": 1, "Free": 3, "Reserved": 0}]},
    }


def test_the_form_of_24_11_is_read(answers: dict[str, Any], tmp_path: Path) -> None:
    with answering(tmp_path / "s", "v0.0.42", answers) as path:
        state = ask_rest(path)
    for name, answer in (("jobs", answers["jobs"]), ("nodes", answers["nodes"]), ("p", answers["partitions"])):
        (tmp_path / f"{name}.json").write_text(json.dumps(answer))
    kept = [*(tmp_path / f"{name}.json" for name in ("jobs", "nodes", "p")), EXAMPLES / "topology.txt"]
    expected = read_answers(kept, NOW)
    alive = [job for job in expected.jobs if job.waits or job.holds]
    assert state.jobs == alive
    assert len(alive) < len(expected.jobs)
    one, other = window_of(state), window_of(expected)
    assert encode(one.window) == encode(other.window)
    assert one.refused == other.refused
    assert state.licences[0].free == 3
    assert next(job for job in state.jobs if job.id == 11).asks["limits on switches"] == "1"


def test_the_default_partition_is_asked_for_where_json_does_not_tell_it(
    answers: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {**PARTITION, "name": "large", "flags": []}
    answers["partitions"] = {"partitions": [other, {**PARTITION, "flags": []}]}
    told_by = {"scontrol": (EXAMPLES / "topology.txt").read_text(), "sinfo": "large\nmain*\n"}
    monkeypatch.setattr(rest, "run_slurm", lambda name, *_: told_by[name])
    with answering(tmp_path / "s", "v0.0.42", answers) as path:
        state = ask_rest(path)
    assert {each.name: each.default for each in state.partitions} == {"large": False, "main": True}
    assert window_of(state).partition == "main"


@pytest.mark.parametrize(
    ("name", "answer", "why"),
    [
        ("jobs", {"jobs": [], "errors": [{"error": "Unable to contact slurm controller"}]}, "Unable to contact"),
        ("nodes", "{nothing", "is no JSON"),
        ("nodes", {"nodes": []}, "names no node"),
        ("diag", {"statistics": {}}, "the time of the controller"),
        ("partitions", None, "answers 404"),
        ("ping", None, "no version from v0.0.38"),
    ],
)
def test_what_goes_wrong_is_one_line(
    answers: dict[str, Any], tmp_path: Path, name: str, answer: object, why: str
) -> None:
    with answering(tmp_path / "s", "v0.0.42", {**answers, name: answer}) as path:
        with pytest.raises(SlurmError, match=why) as refused:
            ask_rest(path)
        assert str(refused.value).startswith(f"{path}: ")
        assert "\n" not in str(refused.value)
