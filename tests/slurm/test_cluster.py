"""The emulated Slurm starts what it says, runs jobs, survives its own controller and leaves nothing behind."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.slurm.cluster import EmulatedSlurm, held_ports, missing
from tests.slurm.release import Release

ROOT = Path(__file__).parents[2]


def daemons(folder: Path) -> list[str]:
    """Command lines of the processes that name a folder."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = each.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line and line.startswith(("slurmctld -D", "slurmd -D")):
            found.append(line)
    return found


def test_jobs_run_on_the_nodes_of_the_topology_and_nothing_is_left(
    emulated_slurm: Callable[..., EmulatedSlurm],
) -> None:
    slurm = emulated_slurm(nodes=8, leaf=4)
    assert len(daemons(slurm.folder)) == 9
    held = slurm.submit("sleep 1000", "-N", "8")
    slurm.wait(lambda: slurm.states()[held] == "RUNNING", "the job runs")
    slurm.run("scancel", str(held))
    one = slurm.submit("true", "-N", "4", "--switches=1")
    slurm.wait(lambda: slurm.states()[one] == "COMPLETED", "the job has ended")
    assert next(each for each in slurm.completed() if each["JobId"] == str(one))["NodeList"] in ("n[00-03]", "n[04-07]")
    slurm.submit("sleep 1000", "-N", "1")
    slurm.stop()
    assert daemons(slurm.folder) == []


@pytest.mark.long
def test_a_killed_controller_and_a_killed_node_come_back(emulated_slurm: Callable[..., EmulatedSlurm]) -> None:
    slurm = emulated_slurm(nodes=4, leaf=0)
    job = slurm.submit("sleep 1000", "-N", "1")
    slurm.wait(lambda: slurm.states()[job] == "RUNNING", "the job runs")
    # What is saved with a later job: a controller of 24.11 ends a job that it finds running and has as waiting.
    saved = slurm.saved()
    slurm.submit("true", "-H")
    slurm.wait(lambda: slurm.saved() != saved, "the state is saved")
    slurm.kill("slurmctld")
    slurm.wait(lambda: not slurm.answers(), "the controller is gone")
    slurm.restart_controller()
    slurm.wait(slurm.answers, "the controller is back")
    slurm.wait(lambda: slurm.states()[job] == "RUNNING", "the job runs")
    slurm.kill("n03")
    slurm.wait(lambda: len(daemons(slurm.folder)) == 4, "the node's daemon is gone")
    slurm.start_node("n03")
    other = slurm.submit("true", "-w", "n03")
    slurm.wait(lambda: slurm.states()[other] == "COMPLETED", "the other job has ended")


def test_the_clock_of_a_cluster_can_be_faster(emulated_slurm: Callable[..., EmulatedSlurm]) -> None:
    slurm = emulated_slurm(nodes=2, leaf=0, speed=20)
    before = slurm.now()
    job = slurm.submit("sleep 1", "-N", "2", "-t", "60")
    slurm.wait(lambda: slurm.states()[job] == "COMPLETED", "the job has ended")
    assert slurm.now() - before >= 20


def test_it_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    if (why := missing()) is not None:
        pytest.skip(why)
    script = (
        "from pathlib import Path\nfrom tests.slurm.cluster import EmulatedSlurm\nimport sys\n"
        "with EmulatedSlurm(Path(sys.argv[1]), nodes=2, leaf=0):\n    print('up', flush=True)\n    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "up\n"
        assert daemons(tmp_path)
        owner.send_signal(signal.SIGKILL)
        owner.wait()
    slurm = EmulatedSlurm(tmp_path)
    slurm.wait(lambda: daemons(tmp_path) == [], "the daemons are gone")


def test_ports_are_held_for_daemons_alone() -> None:
    held = held_ports(20)
    others = [*held_ports(20), socket.socket()]
    assert not {each.getsockname()[1] for each in held} & {each.getsockname()[1] for each in others[:-1]}
    with pytest.raises(OSError, match="Address already in use"):
        others[-1].bind(held[0].getsockname())
    daemon = socket.socket()
    daemon.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    daemon.bind(held[0].getsockname())
    daemon.listen()
    with socket.create_connection(held[0].getsockname()):
        daemon.accept()[0].close()
    for each in (*held, *others, daemon):
        each.close()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"SchedulerType": "sched/none-such"}, "slurmctld ended with status 1 at its start: .*sched/none-such"),
        ({"SlurmdSpoolDir": "/proc/none-such/%n"}, r"n0\d ended with status 1 at its start: .*/proc/none-such"),
    ],
)
def test_a_daemon_that_dies_at_its_start_is_reported_at_once(
    settings: dict[str, str], words: str, release: Release
) -> None:
    if (why := missing(release=release)) is not None:
        pytest.skip(why)
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:
        with pytest.raises(RuntimeError, match=words):
            EmulatedSlurm(Path(folder), nodes=2, leaf=0, settings=settings, release=release).__enter__()
        assert daemons(Path(folder)) == []


def test_a_munged_that_dies_is_reported_and_nothing_is_left() -> None:
    if (why := missing()) is not None:
        pytest.skip(why)
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:
        (Path(folder) / "munge.socket").mkdir()
        with pytest.raises(RuntimeError, match=r"munged did not start: .*munge\.socket"):
            EmulatedSlurm(Path(folder), nodes=2, leaf=0).__enter__()
        assert daemons(Path(folder)) == []
