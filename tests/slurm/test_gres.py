"""GPUs of a real Slurm: jobs that ask for some on each node are counted and driven, all others are left to Slurm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, transom
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.driving import Drive, asked_nodes
from transom.traces.records.hostlist import hosts

__all__ = ["transom"]

GPUS = {"n00": 2, "n01": 2, "n02": 4}
"""Of five nodes; the others have none."""
COUNTED = {("-N2", "--gres=gpu:2"): 2, ("-N1", "--gres=gpu:4"): 4, ("-N3", "--gpus-per-node=1"): 1, ("-N2",): 0}
"""What a window expresses, and the GPUs that each node of the job must have."""
LEFT = (
    ("-N1", "--gpus=2"),
    ("-N1", "-n1", "--gpus-per-task=1"),
    ("-N1", "--gpus-per-socket=1", "--sockets-per-node=1"),
)
"""GPUs of a job, a task or a socket."""
NEVER = ("-N2", "--gres=gpu:3")
"""No two nodes have so many."""


def write_gres(folder: Path) -> None:
    """GPUs are files here: 22.05 takes no count without."""
    for device in range(max(GPUS.values())):
        (folder / f"gpu{device}").touch()
    lines = [f"NodeName={name} Name=gpu File={folder}/gpu[0-{count - 1}]\n" for name, count in GPUS.items()]
    (folder / "gres.conf").write_text("".join(lines))


def test_gpus_of_nodes_are_counted_and_others_left_to_slurm(
    emulated_slurm: Callable[..., EmulatedSlurm], transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    has = {name: {"Gres": f"gpu:{count}"} for name, count in GPUS.items()}
    slurm = emulated_slurm(before=write_gres, nodes=5, leaf=0, settings={"GresTypes": "gpu"}, unlike=has)
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, slurm.environment[name])
    counted = {slurm.submit("true", "-H", "-t5", *options): gpus for options, gpus in COUNTED.items()}
    left = [slurm.submit("true", "-H", "-t5", *options) for options in LEFT]
    never = slurm.submit("true", "-H", "-t5", *NEVER)
    (told,) = transom("slurm", "window", "--held", "--json").lines
    assert told["queue"] == list(map(str, counted))
    assert told["left"] == {"generic resources": 3, "more of a node than enough nodes have": 1}
    (advised,) = transom("slurm", "advise", "--held", "--json").lines
    assert {start["job"]: start["nodes"] for start in advised["start"]} == {
        "1": ["n00", "n01"], "2": ["n02"], "4": ["n03", "n04"],
    }  # fmt: skip
    with Drive(slurm, "--select", "all") as drive:
        ended = {str(job) for job in (*counted, *left)}
        slurm.wait(lambda: {each["JobId"] for each in slurm.completed()} >= ended, "all jobs have ended")
    ran = {int(each["JobId"]): set(hosts(each["NodeList"])) for each in slurm.completed()}
    assert {int(job): set(hosts(nodes)) for job, nodes in asked_nodes(drive.audit).items()} == {
        job: ran[job] for job in counted
    }
    assert all(GPUS.get(node, 0) >= gpus for job, gpus in counted.items() for node in ran[job])
    # Those that a window cannot express, and the one that no nodes are there for, were released to Slurm at once.
    released = {job for line in drive.lines("act") if line["action"] == "release" for job in line["jobs"]}
    assert released == {str(job) for job in (*left, never)}
    assert all(ran[job] <= GPUS.keys() for job in left)
    assert slurm.states()[never] == "PENDING"
