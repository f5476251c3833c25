"""Workloads and platforms of Batsim: JSON, and the XML of SimGrid.

A workload is read as a trace in the Standard Workload Format. How long a job runs follows from its profile: a delay,
computation on hosts of a known speed, or a sequence of these. What communicates, reads, writes or replays a trace runs
for a time that only a simulation of the network knows: such jobs have no runtime, and readers leave them out, counted.

References
----------
Batsim's documentation, Workload and Platform; SimGrid's documentation, The platform file.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple
from xml.parsers import expat

import msgspec

from transom.errors import TraceError, shown
from transom.reading import DOCUMENT, head, opened, unpacked

_DEPTH = 20  # of sequences inside each other
_MOST = 10_000_000  # hosts
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}


class Platform(NamedTuple):
    """How many hosts compute, and how fast the slowest of them is [flop/s]."""

    hosts: int
    speed: float


class _Job(msgspec.Struct):
    id: str | int
    subtime: float
    res: int
    profile: str
    walltime: float | None = None


class _Workload(msgspec.Struct):
    jobs: list[_Job]
    profiles: dict[str, dict[str, Any]]
    nb_res: int | None = None


def is_workload(path: str) -> bool:
    """Whether a file begins as a workload of Batsim does; False where it cannot be read."""
    try:
        text = head(path, 4096)
        if text.startswith(b"\x1f\x8b"):
            text = zlib.decompressobj(wbits=31).decompress(text, 4096)
    except (OSError, ValueError, zlib.error):
        return False
    if text.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{":
        return False
    return re.search(rb'"(nb_res|subtime|profiles)"\s*:', text) is not None


def workload_as_swf(path: str, platform: Platform | None = None) -> bytes:
    """A workload as text in the Standard Workload Format.

    Times are rounded to seconds, walltimes upwards. Jobs are numbered as they are called if all have numbers of their
    own, otherwise in the order of the file.

    Raises
    ------
    TraceError : it is no workload of Batsim; the message names the job and the condition.
    """
    try:
        with opened(path) as file:
            data = (unpacked(file) if head(path, 2) == b"\x1f\x8b" else file).read(DOCUMENT + 1)
        if len(data) > DOCUMENT:
            raise TraceError(f"{path}: a workload of more than {DOCUMENT >> 20} MiB")
        read = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=_Workload)
    except (OSError, EOFError, zlib.error, RecursionError, msgspec.MsgspecError, ValueError) as error:
        raise TraceError(f"{path}: not a workload of Batsim: {error}") from None
    names = [str(job.id).rpartition("!")[2] for job in read.jobs]
    numbered = all(re.fullmatch("[1-9][0-9]{0,8}", name) for name in names) and len(set(names)) == len(names)
    size = platform.hosts if platform else read.nb_res
    lines = [f"; MaxNodes: {size}", f"; MaxProcs: {size}"] if size else []
    for number, (name, job) in enumerate(zip(names, read.jobs, strict=True), 1):
        where = f"{path}: job {shown(str(job.id))}"
        if job.profile not in read.profiles:
            raise TraceError(f"{where}: there is no profile {shown(job.profile)}")
        if not 0 <= job.subtime < 2**40 or not (job.walltime is None or job.walltime < 2**40):
            raise TraceError(f"{where}: subtime and walltime must be seconds, got {job.subtime} and {job.walltime}")
        runtime = _runtime(read.profiles, job.profile, job.res, platform, where)
        run = -1 if runtime is None else max(int(min(runtime, 2**40) + 0.5), 1)
        limit = math.ceil(job.walltime) if job.walltime and job.walltime > 0 else -1
        row = [int(name) if numbered else number, int(job.subtime + 0.5), -1, run]
        row += [job.res, -1, -1, job.res, limit, -1, 1, -1, -1, -1, -1, -1, -1, -1]
        lines.append(" ".join(map(str, row)))
    return ("\n".join(lines) + "\n").encode()


def _runtime(
    profiles: Mapping[str, dict[str, Any]], name: str, hosts: int, platform: Platform | None, where: str, depth: int = 0
) -> float | None:
    """How long a profile runs [s]; None if that is not known."""
    profile = profiles.get(name)
    if profile is None or depth > _DEPTH:
        why = "there is no profile" if profile is None else "too many sequences inside each other, at profile"
        raise TraceError(f"{where}: {why} {shown(name)}")
    kind = str(profile.get("type"))
    if kind in ("delay", "DelayProfile"):
        return _number(profile.get("delay"), where)
    if kind in ("composed", "SequentialCompositionProfile") and isinstance(profile.get("seq"), list):
        parts = [_runtime(profiles, str(each), hosts, platform, where, depth + 1) for each in profile["seq"]]
        known = [part for part in parts if part is not None]
        return sum(known) * _number(profile.get("repeat", 1), where) if len(known) == len(parts) else None
    strategy = profile.get("generation_strategy")
    spread = kind == "parallel_homogeneous_total" or strategy == "DefinedAmountsSpreadUniformly"
    computes = kind in ("parallel_homogeneous", "parallel_homogeneous_total", "ParallelTaskHomogeneousProfile")
    if computes and platform is not None and not _number(profile.get("com", 0), where):
        return _number(profile.get("cpu", 0), where) / platform.speed / (max(hosts, 1) if spread else 1)
    return None


def _number(value: Any, where: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < 2**62:
        raise TraceError(f"{where}: its profile states {shown(value)}, expected a number >= 0")
    return float(value)


def read_platform(path: str) -> Platform:
    """The hosts of a platform that compute: without the master and storage. No entity and no other file is read.

    Raises
    ------
    TraceError : it is no platform of SimGrid, declares an entity, or has no host that computes.
    """
    parser = expat.ParserCreate()
    hosts: list[tuple[int, float, str]] = []
    inside: list[str] = []

    def refuse(*_: Any) -> None:
        raise TraceError(f"{path}:{parser.CurrentLineNumber}: an entity is declared, which is not read")

    def start(tag: str, given: dict[str, str]) -> None:
        if not inside and tag != "platform":
            raise TraceError(f"{path}:{parser.CurrentLineNumber}: holds <{tag}>, expected <platform>")
        inside.append(tag)
        if tag in ("host", "cluster"):
            count = 1 if tag == "host" else _radical(given.get("radical", ""), f"{path}:{parser.CurrentLineNumber}")
            role = "master" if given.get("id") in ("master_host", "master_host0") else "compute_node"
            hosts.append((count, _speed(given.get("speed", ""), f"{path}:{parser.CurrentLineNumber}"), role))
        elif tag == "prop" and given.get("id") == "role" and hosts and inside[-2] in ("host", "cluster"):
            hosts[-1] = (*hosts[-1][:2], given.get("value", "") or "compute_node")

    parser.EntityDeclHandler, parser.StartElementHandler = refuse, start
    parser.EndElementHandler = lambda tag: inside.pop()
    try:
        with opened(path) as file:
            parser.Parse(file.read(DOCUMENT), True)
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from None
    except expat.ExpatError as error:
        raise TraceError(f"{path}:{error.lineno}: not XML: {expat.ErrorString(error.code)}") from None
    computing = [(count, speed) for count, speed, role in hosts if "compute_node" in role and speed > 0]
    total = sum(count for count, _ in computing)
    if not 0 < total <= _MOST:
        raise TraceError(f"{path}: {total} hosts that compute, expected 1 to {_MOST}")
    return Platform(total, min(speed for _, speed in computing))


def _radical(text: str, where: str) -> int:
    """How many hosts a cluster has: ``0-511`` or ``0,4-7``."""
    count = 0
    for part in text.split(","):
        if not (found := re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)):
            raise TraceError(f"{where}: radical {shown(text)} is no list of numbers")
        count += int(found[2] or found[1]) - int(found[1]) + 1
    return count


def _speed(text: str, where: str) -> float:
    """Of the first power state [flop/s]: ``1Gf``, ``98.095Mf,50Mf``."""
    found = re.fullmatch(r"([0-9.]+(?:[eE][+-]?\d+)?)([kMGTPE]?)f(?:lops)?", text.split(",")[0].strip())
    try:
        return float(found[1]) * _UNITS[found[2]] if found else float(text.split(",")[0])
    except ValueError:
        raise TraceError(f"{where}: speed {shown(text)} is none") from None
