"""``--space slurm``: settings of a ``slurm.conf``, searched as those of ``slurm-backfill``, and as lines to paste."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

from transom import registry
from transom.errors import SpecError
from transom.io.toml_files import read_text
from transom.tune.space import Family, Range

_NAME = "slurm-backfill"
_WEIGHT = Range(1, 100_000, whole=True, log=True)
_PRIORITIES = {
    "PriorityWeightAge": _WEIGHT,
    "PriorityWeightFairshare": _WEIGHT,
    "PriorityWeightJobSize": _WEIGHT,
    "PriorityFavorSmall": Range(choice=("YES", "NO")),
    "PriorityMaxAge": Range(1440, 43_200, whole=True, log=True),  # minutes
    "PriorityDecayHalfLife": Range(720, 43_200, whole=True, log=True),
}
_OF_SHARES = ("PriorityWeightFairshare", "PriorityDecayHalfLife")
_CYCLES = {
    "interval": Range(30, 300, whole=True, log=True),
    "depth": Range(10, 2000, whole=True, log=True),
    "queue": Range(10, 1000, whole=True, log=True),
    "resolution": Range(choice=("60", "180", "300", "600")),
    "window": Range(choice=("86400", "172800", "345600", "604800")),
}
_PARAMETERS = {
    "interval": ("bf_interval", 1),
    "depth": ("bf_max_job_test", 1),
    "queue": ("default_queue_depth", 1),
    "resolution": ("bf_resolution", 1),
    "window": ("bf_window", 60),  # which counts minutes
}
"""What settings of ``slurm-backfill`` are called in ``SchedulerParameters``, and their units [s]."""

_SCHEDULER = "SchedulerParameters"


def slurm_families(today: str) -> list[Family]:
    """The settings around those of today's policy: weights and ages of priorities, and those of backfill cycles.

    Parameters
    ----------
    today : a ``slurm-backfill``; without ``priority`` its order stays as it is, and without ``assoc`` there are no
        shares to weigh.

    Raises
    ------
    SpecError : it is another policy.
    """
    name, stated = registry.parse(today)
    if name.lower() != _NAME or "{" in today:
        raise SpecError(
            f"--space slurm: state what is set today with --today, such as {_NAME}:priority=slurm.conf, got {today}"
        )
    kept = [f"{key}=[{value}]" for key, value in stated.items() if key not in (*_CYCLES, "settings")]
    ranges = dict(_CYCLES)
    settings = [f"{key}={{{key}}}" for key in _CYCLES]
    if "priority" in stated:
        searched = {key: of for key, of in _PRIORITIES.items() if "assoc" in stated or key not in _OF_SHARES}
        names = {key: re.sub("(?<!^)(?=[A-Z])", "_", key).lower() for key in searched}
        ranges |= {names[key]: of for key, of in searched.items()}
        settings.append("settings=[" + ",".join(f"{key}={{{names[key]}}}" for key in searched) + "]")
    return [Family("slurm.conf", f"{_NAME}:{','.join([*kept, *settings])}", ranges, 16)]


def settings_of(policy: str) -> dict[str, str]:
    """The settings of a ``slurm.conf`` that a policy stands for, by name; those of cycles by their name in
    ``SchedulerParameters``."""
    _, stated = registry.parse(policy)
    found = dict(part.split("=", 1) for part in registry.listed(stated["settings"])) if "settings" in stated else {}
    cycles = {name: str(int(stated[key]) // unit) for key, (name, unit) in _PARAMETERS.items() if key in stated}
    return {**found, **cycles}


def changed_text(text: str, settings: Mapping[str, str]) -> str:
    """A ``slurm.conf`` with some settings in place of those that it states, or after its last line.

    Parameters
    ----------
    text : the file.
    settings : as of :func:`settings_of`.
    """
    names = {name for name, _ in _PARAMETERS.values()}
    plain = {name: value for name, value in settings.items() if name not in names}
    cycles = {name: value for name, value in settings.items() if name in names}
    lines, left = [], {name.lower(): f"{name}={value}" for name, value in plain.items()}
    seen = False
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        known = name.strip().lower()
        if equals and known in left:
            lines.append(left.pop(known))
        elif equals and known == _SCHEDULER.lower():
            lines.append(f"{_SCHEDULER}={_merged(value, cycles)}")
            seen = True
        else:
            lines.append(line)
    lines += left.values()
    if cycles and not seen:
        lines.append(f"{_SCHEDULER}={_merged('', cycles)}")
    return "\n".join(lines) + "\n"


def _merged(stated: str, cycles: Mapping[str, str]) -> str:
    parts = [part for part in stated.strip().strip('"').split(",") if part.partition("=")[0].strip() not in cycles]
    return ",".join([*(part for part in parts if part), *(f"{name}={value}" for name, value in cycles.items())])


class Lines(NamedTuple):
    """What to write into a ``slurm.conf``: lines to paste, and the difference to what the file states today."""

    paste: list[str]
    diff: str


def lines_for(policy: str, today: str) -> Lines:
    """What a policy of :func:`slurm_families` means for the site.

    Parameters
    ----------
    policy : the policy.
    today : what is set today; a difference is to its ``priority`` file, and empty where it names none. Nothing is to
        be written where both are the same.

    Raises
    ------
    DocumentError : the file cannot be read any more.
    """
    settings = settings_of(policy)
    if policy == today:
        return Lines([], "")
    paste = changed_text("", settings).splitlines()
    path = registry.parse(today)[1].get("priority")
    if path is None:
        return Lines(paste, "")
    text = read_text(Path(path))
    after = changed_text(text, settings)
    return Lines(
        paste, "\n".join(unified_diff(text.splitlines(), after.splitlines(), path, f"{path} tuned", "", "", 1, ""))
    )
