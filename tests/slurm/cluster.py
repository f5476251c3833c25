"""A real Slurm of virtual nodes on this machine: one controller and a daemon for each node, all on loopback.

Its programs are those of this machine, or of the root of another release of Debian (:mod:`tests.slurm.release`).
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tests.slurm import slurmdbd
from tests.slurm.release import Release

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "scontrol", "squeue")
NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
"""Runs a command with process numbers of its own; the system ends all that it started, steps and jobs, with it."""

STARTUP = 600.0
"""Longest wait [s] for a cluster that is up."""


def missing(speed: float = 1, account: bool = False, release: Release = Release()) -> str | None:  # noqa: B008
    """Why no cluster, with accounting or not, can be started here, or None."""
    if os.geteuid() != 0:
        return "an emulated Slurm is started by root alone: its jobs run as their users"
    absent = [name for name in PROGRAMS if release.program(name) is None]
    absent += ["faketime"] if speed != 1 and shutil.which("faketime") is None else []
    if absent:
        return f"an emulated Slurm needs {', '.join(absent)}{release.where}"
    if account and (why := slurmdbd.missing(release)) is not None:
        return why
    allowed = subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
    return None if allowed else "an emulated Slurm needs the right to make a namespace of processes"


def held_ports(count: int) -> list[socket.socket]:
    """Sockets on ports of their own, for daemons to listen on while the sockets are open.

    As both sides set ``SO_REUSEADDR`` and the sockets do not listen, a daemon binds to such a port all the same. The
    system gives the port to nobody who asks for any.
    """
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        each.bind(("127.0.0.1", 0))
    return sockets


_PATIENCE = 60
"""Longest time [s of our clock] that an answer, or the start or end of a job, may take on a machine that is busy."""

_LIMITS = {"MessageTimeout": 1, "TCPTimeout": 1, "BatchStartTimeout": 1, "UnkillableStepTimeout": 5}
"""What Slurm measures on its own clock, after which a connection, a job or a node is lost; as multiples of that."""


@dataclass
class EmulatedSlurm:
    """A Slurm whose daemons live exactly as long as the ``with`` block, or as the process that opened it.

    Every daemon is a child of one shell that reads from a pipe to this process, in a namespace of processes. Where the
    pipe closes, by :meth:`stop` or because this process was killed, the shell ends, and with it all that it started and
    nothing else. Jobs run on our clock.

    Parameters
    ----------
    folder : where configuration, state and logs go; short enough for the path of a Unix socket.
    nodes : how many, named ``n00``, ``n01`` and so on.
    cpus : of each node.
    leaf : nodes below a leaf switch of a tree of two levels; 0 for a flat network.
    speed : seconds of Slurm's clock in a second of ours.
    settings : further lines of ``slurm.conf``; a name that stands there already is replaced.
    account : whether slurmdbd keeps accounts.
    release : whose programs run.
    unlike : what nodes have that are not as the others, by name: ``{"n03": {"Feature": "big", "CPUs": "8"}}``.
    """

    folder: Path
    nodes: int = 32
    cpus: int = 4
    leaf: int = 8
    speed: int = 1
    settings: dict[str, str] = field(default_factory=dict)
    account: bool = False
    release: Release = field(default_factory=Release)
    unlike: dict[str, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.conf = self.folder / "slurm.conf"
        path = self.release.path(self.folder)
        self.environment = {**os.environ, "SLURM_CONF": str(self.conf), "PATH": path, "TZ": "UTC"}
        self._shell: subprocess.Popen[str] | None = None
        self._ports: list[socket.socket] = []

    @property
    def names(self) -> list[str]:
        """Names of the nodes, in order."""
        return [f"n{i:02d}" for i in range(self.nodes)]

    def __enter__(self) -> EmulatedSlurm:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the daemons and wait until every node is idle; a :class:`RuntimeError` as soon as a daemon ends."""
        try:
            self._start()
            self.wait(self._up, "every node is idle")
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        self._ports = held_ports(self.nodes + 1 + self.account)
        self._write()
        clock = ["faketime", "-f", f"+0 x{self.speed}"] if self.speed != 1 else []
        with open(self.folder / "shell.log", "w", encoding="utf-8") as log:
            self._shell = subprocess.Popen(
                [*clock, *NAMESPACE, "bash", str(self.folder / "start.sh")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                env=self.environment, text=True, start_new_session=True,
            )  # fmt: skip
        assert self._shell.stdout is not None
        if self._shell.stdout.readline() != "started\n":
            ended = self.folder / "ended"
            name = ended.read_text().split()[0] if ended.exists() else "munge"
            told = self._told_by(name, "errors", "shell")
            raise RuntimeError(f"{'munged' if name == 'munge' else name} did not start: {told}")

    def _up(self) -> bool:
        ended = self.folder / "ended"
        if ended.exists() and (lines := ended.read_text().splitlines()):
            name, status = lines[0].split()
            raise RuntimeError(f"{name} ended with status {status} at its start: {self._told_by(name, 'errors')}")
        try:
            socket.create_connection(self._ports[0].getsockname()).close()
        except ConnectionRefusedError:  # without a controller sinfo waits for a minute
            return False
        return self._idle() == self.nodes

    def _told_by(self, *logs: str) -> str:
        """The last lines of some logs."""
        paths = [self.folder / f"{name}.log" for name in logs]
        lines = [line for path in paths if path.is_file() for line in path.read_text().splitlines()[-5:]]
        return "; ".join(lines) or "no log says why"

    def stop(self) -> None:
        """End the daemons and wait until they are gone."""
        if self._shell is not None:
            assert self._shell.stdin is not None
            assert self._shell.stdout is not None
            self._shell.stdin.close()
            try:
                self._shell.wait(timeout=STARTUP)
            except subprocess.TimeoutExpired:
                os.killpg(self._shell.pid, signal.SIGKILL)
                self._shell.wait()
            self._shell.stdout.close()
            self._shell = None
        # Of runs that were killed.
        for left in (Path.home() / ".local/state/transom").glob(f"slurm-{self.name}-*.lock"):
            left.unlink()
        for each in self._ports:
            each.close()

    def wait(self, holds: Callable[[], bool], what: str, timeout: float = STARTUP) -> None:
        """Ask every 50 ms until it holds; a :class:`TimeoutError` that says what did not come."""
        end = time.monotonic() + timeout
        while not holds():
            if time.monotonic() > end:
                raise TimeoutError(f"not within {timeout:g} s: {what}")
            time.sleep(0.05)

    def run(self, *command: str, check: bool = True, stdin: str | None = None) -> str:
        """What a command of Slurm prints."""
        done = subprocess.run(command, env=self.environment, text=True, capture_output=True, check=False, input=stdin)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def submit(self, script: str, *options: str) -> int:
        """Submit a script; the number of its job."""
        return int(self.run("sbatch", "--parsable", "--output=/dev/null", *options, stdin=f"#!/bin/bash\n{script}\n"))

    def states(self) -> dict[int, str]:
        """The state of each job that the controller knows."""
        lines = self.run("squeue", "-h", "-r", "--states=all", "-o", "%i %T").splitlines()
        return {int(job): state for job, state in (line.split() for line in lines)}

    def answers(self) -> bool:
        """Whether the controller answers."""
        done = subprocess.run(
            ["scontrol", "ping"], env=self.environment, capture_output=True, text=True, check=False, timeout=STARTUP
        )
        return "UP" in done.stdout

    def now(self) -> int:
        """The controller's time [s]."""
        told = self.run("scontrol", "show", "config").splitlines()[0]
        return int(datetime.fromisoformat(f"{told.split()[-1]}+00:00").timestamp())

    def saved(self) -> int:
        """When the controller last saved its jobs [ns]; 0 before that."""
        state = self.folder / "state" / "job_state"
        return state.stat().st_mtime_ns if state.exists() else 0

    def completed(self) -> list[dict[str, str]]:
        """Lines of the record of completed jobs, each as names and values."""
        record = self.folder / "jobcomp.txt"
        lines = record.read_text().splitlines() if record.exists() else []
        return [dict(part.split("=", 1) for part in line.split() if "=" in part) for line in lines]

    def restart_controller(self) -> None:
        """Start the controller anew, as after :meth:`kill`."""
        self._say("controller")

    def start_node(self, name: str) -> None:
        """Start the daemon of a node anew."""
        self._say(f"node {name}")

    def kill(self, daemon: str) -> None:
        """Kill the controller (``slurmctld``) or the daemon of a node, named as the node, by SIGKILL; it is gone when
        this returns, else its last answer may bring a node back that was set down."""
        self._say(f"kill {daemon}")

    def pause_controller(self) -> None:
        """Stop the controller in its tracks: it listens, and does not answer."""
        self._say("pause slurmctld")

    def continue_controller(self) -> None:
        """Let a paused controller go on."""
        self._say("continue slurmctld")

    def _say(self, line: str) -> None:
        assert self._shell is not None
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(line + "\n")
        self._shell.stdin.flush()
        assert self._shell.stdout.readline() == "done\n", f"the shell did not do it: {line}"

    def _idle(self) -> int:
        told = self.run("sinfo", "-h", "-N", "-o", "%N %t", check=False).splitlines()
        return len({line for line in told if line.endswith(" idle")})  # a line for each partition of a node

    def _write(self) -> None:
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.release.write_commands(self.folder)
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o400)
        controller, *ports = [each.getsockname()[1] for each in self._ports]
        keeper = ports.pop() if self.account else 0
        self.name = f"emulated{controller}"
        here, socket_of_munge = self.folder, self.folder / "munge.socket"
        settings = {
            "ClusterName": self.name,
            "SlurmctldHost": f"{socket.gethostname()}(127.0.0.1)",
            "SlurmUser": "root",
            "SlurmctldPort": str(controller),
            "SlurmdParameters": "config_overrides",
            "StateSaveLocation": str(here / "state"),
            "SlurmdSpoolDir": f"{here}/spool/%n",
            "SlurmctldPidFile": str(here / "slurmctld.pid"),
            "SlurmdPidFile": f"{here}/%n.pid",
            "SlurmctldLogFile": str(here / "slurmctld.log"),
            "SlurmctldDebug": "debug",  # says what changed nothing, too
            "SlurmdLogFile": f"{here}/%n.log",
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={socket_of_munge},ttl=3600,cred_expire={_PATIENCE * self.speed}",
            "CredType": "cred/munge",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "JobAcctGatherType": "jobacct_gather/none",
            "SwitchType": "switch/none",
            "MpiDefault": "none",
            "ReturnToService": "2",
            "CommunicationParameters": "NoInAddrAny",
            "JobCompType": "jobcomp/filetxt",
            "JobCompLoc": str(here / "jobcomp.txt"),
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_CPU",
            "SchedulerType": "sched/backfill",
            "SchedulerParameters": "batch_sched_delay=0,sched_interval=1,sched_min_interval=1000,bf_interval=1",
            "PriorityType": "priority/basic",
            "TopologyPlugin": "topology/tree" if self.leaf else "topology/none",
            "MinJobAge": "60000",
            "SlurmdTimeout": "30000",
            **{name: str(factor * _PATIENCE * self.speed) for name, factor in _LIMITS.items()},
            **self.release.settings,
            **(slurmdbd.settings(keeper, socket_of_munge) if self.account else {}),
            **self.settings,
        }
        lines = [f"{name}={value}" for name, value in settings.items()]
        lines += [
            f"NodeName={name} NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 Port={port} {self._has(name)}"
            for name, port in zip(self.names, ports, strict=True)
        ]
        lines.append("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE")
        self.conf.write_text("\n".join(lines) + "\n")
        (self.folder / "cgroup.conf").write_text(self.release.cgroup)
        if self.leaf:
            self.write_topology([self.names[i : i + self.leaf] for i in range(0, self.nodes, self.leaf)])
        if self.account:
            slurmdbd.write_conf(here, keeper, socket_of_munge)
        (self.folder / "start.sh").write_text(self._script(socket_of_munge, keeper))

    def _has(self, name: str) -> str:
        has = {"CPUs": str(self.cpus), "RealMemory": "4000", **self.unlike.get(name, {})}
        return " ".join(f"{what}={value}" for what, value in has.items())

    def write_topology(self, leaves: Sequence[Sequence[str]]) -> None:
        """Write ``topology.conf``: a switch for each list of nodes, and one above them."""
        lines = [f"SwitchName=s{i} Nodes={','.join(leaf)}" for i, leaf in enumerate(leaves)]
        lines.append(f"SwitchName=root Switches={','.join(f's{i}' for i in range(len(leaves)))}")
        (self.folder / "topology.conf").write_text("\n".join(lines) + "\n")

    def _script(self, munge: Path, keeper: int) -> str:
        """The shell that owns the daemons: they end with it, it ends with its input, and it notes which of them end."""
        here, quiet = self.folder, f">/dev/null 2>>{self.folder}/errors.log </dev/null &"
        return f"""
trap '' PIPE  # a slurmd that is starting dies of a controller, or a munged, that hangs up
{self.release.mounts(here)}
mkdir {" ".join(f"{here}/spool/{name}" for name in self.names)}
daemon() {{
    name=$1
    shift
    ( {self.release.inside} "$@"; echo "$name $?" >>{here}/ended ) {quiet}
}}
node() {{ daemon "$1" slurmd -D -N "$1" -f {self.conf}; }}
controller() {{ daemon slurmctld slurmctld -D -f {self.conf}; }}
daemon munge munged --foreground --force --key-file={here}/munge.key --socket={munge} --pid-file={here}/munge.pid \\
    --log-file={here}/munge.log --seed-file={here}/munge.seed
until [ -S {munge} ]; do
    read -rt 0.02
    [ $? -gt 128 ] && [ ! -e {here}/ended ] || exit 1
done
{slurmdbd.script(here, self.release, keeper) if self.account else ""}
controller
for name in {" ".join(self.names)}; do node "$name"; done
echo started
while read -r what name; do
    case "$what" in
    controller) controller ;;
    kill)
        pid=$(cat {here}/"$name".pid)
        kill -9 "$pid"
        while kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
        ;;
    pause) kill -STOP "$(cat {here}/"$name".pid)" ;;
    continue) kill -CONT "$(cat {here}/"$name".pid)" ;;
    node) node "$name" ;;
    esac
    echo done
done
"""
