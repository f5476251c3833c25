"""Replays beside the log that are kept beside the trace, so that a replay of today's policy is made once.

The document ``TRACE.calibration.json`` holds the results of some replays, each under a digest of what they depend on:
jobs, logged starts, partitions, policy, seed, event rules, outages, code, and which jobs count. Where others could
write it, or nobody can, one in the user's cache serves.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from transom._system.cache_folder import users_cache
from transom._system.files import atomic_write
from transom._system.notices import log
from transom._system.trusted import distrusted, make_folder
from transom.simulation.core.replay import Progress
from transom.simulation.output.as_logged import ReplayError, WaitError
from transom.simulation.output.breakdowns import limits_held
from transom.simulation.output.calibration import ALL, Calibration, calibration
from transom.simulation.output.metrics import Trim
from transom.simulation.runs import Run, replay, run_card
from transom.traces.workload import Workload

ENDING = ".calibration.json"
"""What is added to the name of a trace."""

_FORMAT = "transom/calibration/1"
_KEPT = 20  # replays in a document


class Calibrated(NamedTuple):
    """A replay beside the log, by group; in how many decisions each limit held back jobs, and how many there were."""

    groups: dict[str, Calibration]
    limits: dict[str, int]
    decisions: int

    def error(self, policy: str) -> ReplayError:
        """How far mean waits of the replay are from those of the log; ``policy`` is what to call its policy."""
        waits = {
            name: WaitError(one.jobs, one.logged_wait, one.replayed_wait, one.missed)
            for name, one in self.groups.items()
        }
        return ReplayError(policy, waits.pop(ALL), waits)


def calibrated(workload: Workload, run: Run, trim: Trim | None = None, progress: Progress | None = None) -> Calibrated:
    """A replay beside the log: what is kept of it, or a new one, which is then kept.

    Parameters
    ----------
    workload : a trace that states when jobs started.
    run : the policy.
    trim : which jobs do not count.
    progress : called with the number of started jobs.

    Raises
    ------
    ModelError : no start of a job that counts is logged.
    """
    if (kept := kept_calibration(workload, run, trim)) is not None:
        return kept
    schedule, _ = replay(workload, run, progress=progress)
    groups = calibration(workload, schedule, trim)
    found = Calibrated(groups, limits_held(schedule), len(schedule.decisions["time"]))
    _keep(workload, _key(workload, run, trim), run.spec, found)
    return found


def kept_calibration(workload: Workload, run: Run, trim: Trim | None = None) -> Calibrated | None:
    """What :func:`calibrated` has kept, None where there is nothing; parameters are the same."""
    key = _key(workload, run, trim)
    for place in _places(workload.origin.path):
        if (entry := _entries(place).get(key)) is not None:
            with suppress(KeyError, TypeError, ValueError, AttributeError):  # not as we write it
                groups = {ALL: _calibration(entry["groups"].pop(ALL))}
                groups |= {name: _calibration(of) for name, of in entry["groups"].items()}
                limits = {str(name): int(count) for name, count in entry["limits"].items()}
                found = Calibrated(groups, limits, int(entry["decisions"]))
                log(f"{run.label}: how far its replay is from the log is read from {place}")
                return found
    return None


def _key(workload: Workload, run: Run, trim: Trim | None) -> str:
    origin = workload.origin
    partition = b"" if origin.partition is None else origin.partition.tobytes()
    stated = {**run_card(workload, run), "trim": repr(trim or Trim()), "names": sorted(origin.names.items())}
    return blake2b(json.dumps(stated, sort_keys=True, default=str).encode() + partition, digest_size=16).hexdigest()


def _places(path: str) -> Iterator[Path]:
    """Where results of a trace are kept; of jobs from no file, nowhere."""
    if path:
        yield Path(path + ENDING)
        yield (
            users_cache()
            / "calibrations"
            / f"{blake2b(os.path.abspath(path).encode(), digest_size=16).hexdigest()}.json"
        )


def _entries(place: Path) -> dict[str, Any]:
    """What a document holds by key; nothing where it cannot be read, is none, or others could have written it."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        if place.is_file() and distrusted(place) is None:
            document = json.loads(place.read_bytes())
            if isinstance(document, dict) and document.get("format") == _FORMAT:
                return dict(document["replays"])
    return {}


def _keep(workload: Workload, key: str, spec: str, found: Calibrated) -> None:
    groups = {
        name: {what: _plain(value) for what, value in one._asdict().items()} for name, one in found.groups.items()
    }
    entry = {"policy": spec, "groups": groups, "limits": found.limits, "decisions": found.decisions}
    for place in _places(workload.origin.path):
        with suppress(OSError):
            if not place.name.endswith(ENDING):
                make_folder(place.parent, private=True)
            if distrusted(place) is not None:
                continue
            others = [(other, each) for other, each in _entries(place).items() if other != key]
            document = {"format": _FORMAT, "replays": dict([*others[-(_KEPT - 1) :], (key, entry)])}
            with atomic_write(place) as file:
                json.dump(document, file, indent=1, allow_nan=False)
            log(f"how far the replay of {spec} is from the log is kept in {place}")
            return


def _plain(value: float | tuple[float, ...]) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return None if math.isnan(value) else value


def _calibration(stated: Any) -> Calibration:
    known: Any = {name: math.nan if each is None else each for name, each in stated.items()}
    read: Any = {name: tuple(each) if isinstance(each, list) else each for name, each in known.items()}
    found = Calibration(**read)
    for value in found:
        math.fsum(value if isinstance(value, tuple) else (value,))  # a TypeError where one is no number
    return found
