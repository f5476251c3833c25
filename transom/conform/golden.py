"""Golden schedules: small workloads with the right start times, each for one rule, and a run of a command on them.

A case is a TOML file: ``rule``, a sentence; ``policy``; the jobs, as text in ``swf``, or as the name of a file in
``trace`` (with ``start``, ``jobs`` and ``nodes``); ``reading``, ``resources`` and ``outages`` as for ``simulate``, the
last as the text of a file; and ``starts``, pairs of job and start [s], or their ``digest`` (:func:`digest`).
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple

from transom.conform.judging import judge
from transom.conform.starts import aligned, read_starts
from transom.errors import DocumentError, SpecError, TransomError
from transom.generate.instances.replays import equip
from transom.io.toml_files import parse_toml, read_text
from transom.simulation.policies.by_name import make_policy
from transom.traces import ReadingRules, Workload, cut, read_swf, write_swf
from transom.traces.outages import Outages, read_outages

BUNDLED = Path(__file__).parent / "golden"
"""The golden schedules of this package."""

UNSUPPORTED = 77
"""The exit status by which a command says that it does not know a policy or a feature of a trace."""

_KINDS: dict[str, type] = {
    "rule": str, "policy": str, "swf": str, "trace": str, "start": int, "jobs": int, "nodes": int, "reading": dict,
    "resources": str, "outages": str, "starts": list, "digest": str, "drawing": str,
}  # fmt: skip
_OUTPUT = 1 << 26  # what a command may print [bytes]


class Golden(NamedTuple):
    """A case; its name is that of its file."""

    name: str
    path: Path
    rule: str
    policy: str
    swf: str = ""
    trace: str = ""
    start: int = 0
    jobs: int | None = None
    nodes: int | None = None
    reading: Mapping[str, Any] = {}
    resources: str = ""
    outages: str = ""
    starts: Sequence[Sequence[int]] = ()
    digest: str = ""
    drawing: str = ""


class Prepared(NamedTuple):
    """A case as a command gets it, a trace with ``outages.csv`` beside it where there are any; and as jobs."""

    trace: Path
    workload: Workload
    outages: Outages | None


class Came(NamedTuple):
    """What came of a case: ``passed``, ``differs``, ``failed`` or ``skipped``, and why in a sentence."""

    name: str
    rule: str
    status: str
    says: str = ""


def read_golden(folder: Path) -> list[Golden]:
    """The cases of a folder, by name.

    Raises
    ------
    DocumentError : there are none, or one is malformed; the message names file and condition.
    """
    cases = []
    for path in sorted(folder.glob("*.toml")):
        stated = parse_toml(read_text(path), str(path))
        for key, value in stated.items():
            if not isinstance(value, _KINDS.get(key, ())):
                raise DocumentError(f"{path}: unknown key or type: {key} = {value!r:.60}")
        try:
            case = Golden(path.stem, path, **stated)
        except TypeError as error:
            raise DocumentError(f"{path}: {str(error).partition(' ')[2]}") from None
        if bool(case.swf) == bool(case.trace) or bool(case.starts) == bool(case.digest):
            raise DocumentError(f"{path}: expected swf or trace, and starts or digest")
        if any(not isinstance(row, list) or len(row) != 2 for row in case.starts):
            raise DocumentError(f"{path}: starts: expected pairs of job and start")
        cases.append(case)
    if not cases:
        raise DocumentError(f"{folder}: holds no golden schedules (*.toml)")
    return cases


def prepared(case: Golden, folder: Path, traces: Path | None) -> Prepared | None:
    """Write the files of a case into a folder; None where its trace is not in ``traces``, nor beside the case.

    Raises
    ------
    TransomError : the case is malformed.
    """
    target = folder / f"{case.name}.swf"
    try:
        rules = ReadingRules(**case.reading)
    except TypeError as error:
        raise DocumentError(f"{case.path}: reading: {str(error).partition(' ')[2]}") from None
    if case.swf:
        target.write_text(case.swf)
        workload = read_swf(target, rules, case.nodes)
    else:
        found = [each / case.trace for each in (case.path.parent, traces) if each and (each / case.trace).is_file()]
        if not found:
            return None
        workload = cut(read_swf(found[0], rules, case.nodes), case.start, case.jobs)
        write_swf(workload, target)
    if case.resources:
        workload, _ = equip(workload, str(target), case.resources, 0)
    if not case.outages:
        return Prepared(target, workload, None)
    (folder / "outages.csv").write_text(case.outages)
    return Prepared(target, workload, Outages(tuple(read_outages(folder / "outages.csv", workload.cluster.num_nodes))))


def digest(starts: dict[int, int]) -> str:
    """Of start times [s]: SHA-256 of lines ``JOB START`` by job id."""
    return sha256("".join(f"{job} {starts[job]}\n" for job in sorted(starts)).encode()).hexdigest()


def run_case(case: Golden, command: Sequence[str], seconds: float, folder: Path, traces: Path | None = None) -> Came:
    """Run ``COMMAND TRACE POLICY`` and judge the start times that it prints.

    Parameters
    ----------
    case : what to run it on.
    command : the program and its first arguments; no shell reads them.
    seconds : time limit, after which the command and what it started are ended.
    folder : for its files, empty.
    traces : where real traces are.

    Raises
    ------
    SpecError : there is no such program.
    TransomError : the case is malformed.
    """

    def came(status: str, says: str = "") -> Came:
        return Came(case.name, case.rule, status, says)

    files = prepared(case, folder, traces)
    if files is None:
        return came("skipped", f"{case.trace} is not there (--trace FOLDER)")
    printed = folder / "starts.csv"
    with printed.open("wb") as out, (folder / "errors").open("wb") as errors:
        status = _ended([*command, str(files.trace), case.policy], seconds, out, errors)
    if status == UNSUPPORTED:
        return came("skipped", f"not supported by the command (status {UNSUPPORTED})")
    if status != 0:
        said = (folder / "errors").read_bytes()[-10_000:].decode(errors="replace").strip().splitlines()
        why = "ran out of time" if status is None else f"ended with status {status}"
        return came("failed", f"{why}{': ' + said[-1][:200] if said else ''}")
    if not printed.stat().st_size:
        return came("failed", "printed nothing")
    try:
        theirs = aligned(files.workload, read_starts(printed))
        verdict = judge(theirs, make_policy(case.policy), case.policy, files.outages)
    except TransomError as error:
        return came("failed", str(error).replace(f"{printed}: ", "").splitlines()[0])
    found = dict(zip(files.workload.jobs.id.tolist(), theirs.start.tolist(), strict=True))
    golden = {int(job): int(start) for job, start in case.starts}
    right = digest(found) == case.digest if case.digest else found == golden
    if right and not (theirs.again >= 0).any() and not theirs.left:
        return came("passed")
    if theirs.left or verdict.first is None:
        return came("differs", theirs.notes[0] if theirs.left else "starts are not those of the case")
    return came("differs", f"{verdict.first.rule}: {verdict.first.why}")


def _ended(words: Sequence[str], seconds: float, out: IO[bytes], errors: IO[bytes]) -> int | None:
    """The exit status of a command, None if it ran out of time; all that it started is ended with it."""

    import resource  # there is none on Windows

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (_OUTPUT, _OUTPUT))

    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True, preexec_fn=limited
        )
    except OSError as error:
        raise SpecError(f"{words[0]}: cannot be run: {error.strerror}") from None
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
