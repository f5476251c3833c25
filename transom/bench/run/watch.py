"""Supervision of a worker during a run: enforces limits and finds the cause of a crash."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from time import monotonic
from typing import Any

from transom.bench.plan.task import Outcome, Task
from transom.bench.run.heartbeat import RUNNING, WORDS, WorkerStatus

PATIENCE = 10
"""How many times as long as its limit of CPU time a stage may wait for something else than a processor."""

_OUTPUT = 1 << 20  # of a worker's output file, which is emptied beyond that [bytes]
_TAIL = 1 << 13  # of it that is read after a crash [bytes]


class Watch:
    """Supervises a worker during one run."""

    def __init__(self, task: Task, status: WorkerStatus, process: Any, output: Path) -> None:
        self.task = task
        self._status = status
        self.process = process
        self._output = output
        self.children: set[Any] = set()  # all that were seen: they may outlive it
        self.most = 0.0
        self._stage = (-1.0, -1.0)  # whose CPU time is counted
        self._before = (0.0, 0.0)  # CPU time until then, and the demand for it [s]
        self.verdict: tuple[Outcome, str, float | None] | None = None

    def well(self) -> bool:
        """Whether the run may go on; else ``verdict`` says why not."""
        now = monotonic()
        tree = [self.process, *_children(self.process, self.children)]
        if ended := self._late(now, tree):
            words = WORDS.get(int(self._status.stage), "the run")
            self.verdict = ("timeout", f"{words} was ended after {ended}", self._wall())
        taken = sum(map(resident, tree))
        over = taken > self.task.memory
        if over or int(self._status.stage) == RUNNING:  # what was needed to get ready is not the run's
            self.most = max(self.most, taken)
        if over:
            cause = f"ended at {taken:,.0f} MiB of resident memory, the limit is {self.task.memory:,} MiB"
            self.verdict = ("memory", cause, self._wall())
        _bound(self._output)
        return self.verdict is None

    def _late(self, now: float, tree: list[Any]) -> str:
        """How long the stage has taken, if that is too long."""
        stage = (self._status.stage, self._status.since)
        took = now - self._status.since
        # Read once: the worker may take it back meanwhile, and then it is 0.
        if (deadline := self._status.deadline) and now > deadline:
            return f"{took:.1f} s"
        if limit := self._status.processor:
            used = sum(map(_processor_time, tree))
            if stage != self._stage:  # what a child took before is not of this stage
                self._stage, self._before = stage, (used, sum(map(_demand, tree)))
            used -= self._before[0]
            if used > limit:
                return f"{used:.1f} s of CPU time"
            if took > PATIENCE * limit:
                idle = took - max(used, sum(map(_demand, tree)) - self._before[1])
                if idle > PATIENCE * limit:
                    return f"{took:.1f} s, in which it did nothing for {idle:.1f} s"
        return ""

    def death(self, code: int) -> tuple[Outcome, str, float | None]:
        """What to say of a worker that died by itself, with an exit code as :mod:`subprocess` has it."""
        if -code in (signal.SIGALRM, signal.SIGPROF):
            return "timeout", "the run was ended by the kernel's timer", self._wall()
        words = _exit_words(code)
        stage = int(self._status.stage)
        if stage != RUNNING:
            words = f"{WORDS.get(stage, 'the run')}: {words}"
        last = last_words(self._output)
        return "crash", f"{words}: {last}" if last else words, self._wall()

    def _wall(self) -> float | None:
        return monotonic() - self._status.since if int(self._status.stage) == RUNNING else None


def _children(process: Any, seen: set[Any]) -> list[Any]:
    """All children of a process, which are added to those that were seen."""
    import psutil

    if _may_have_children(process.pid):
        with contextlib.suppress(psutil.Error):
            children: list[Any] = process.children(recursive=True)
            seen.update(children)
            return children
    return []


def _processor_time(process: Any) -> float:
    """CPU time of a process and those of its children that have ended [s]."""
    import psutil

    try:
        return float(sum(process.cpu_times()[:4]))  # user, system, and both of the children
    except psutil.Error:
        return 0.0


def _demand(process: Any) -> float:
    """CPU time that the threads of a process have got, and waited for; 0 where the system does not say [s]."""
    total = 0
    with contextlib.suppress(OSError):
        for each in Path(f"/proc/{process.pid}/task").iterdir():
            with contextlib.suppress(OSError):  # it has ended
                got, waited, _ = (each / "schedstat").read_text().split()
                total += int(got) + int(waited)
    return total / 1e9


def resident(process: Any) -> float:
    """Resident memory of a process; 0 where it has ended [MiB]."""
    import psutil

    try:
        return float(process.memory_info().rss) / 2**20
    except psutil.Error:
        return 0.0


def _may_have_children(pid: int) -> bool:
    # Asking for children walks over all processes of the machine; most workers have none.
    try:
        return any((task / "children").read_bytes() for task in Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return True


def _bound(output: Path) -> None:
    try:
        if output.stat().st_size > _OUTPUT:
            os.truncate(output, 0)
    except OSError:
        pass


def _exit_words(code: int) -> str:
    if code >= 0:
        return f"its process ended with status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (by hand, or by the system for want of memory)" if code == -signal.SIGKILL else ""
    return f"its process was killed by {name}{hint}"


def last_words(output: Path) -> str:
    """The last output of a worker: where it crashed if it says so, otherwise its last line."""
    try:
        with output.open("rb") as file:
            file.seek(max(0, output.stat().st_size - _TAIL))
            lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    except OSError:
        return ""
    stacks = [i for i, line in enumerate(lines) if line.endswith("(most recent call first):") and i + 1 < len(lines)]
    if stacks:  # of all threads; the one that crashed is the current one
        return lines[next((i for i in stacks if lines[i].startswith("Current thread")), stacks[0]) + 1]
    return lines[-1] if lines else ""
