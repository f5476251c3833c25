"""What the values of accounting records mean: durations, amounts, counts, times, states, resources.

Each function takes one text and returns None where it is none of its kind, and :data:`UNKNOWN` where it says that
nothing is known. :func:`parsed` applies one to a column: to texts that are not plain numbers, each once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    import polars as pl

UNKNOWN = -1
"""What stands for a number that is not known."""

_NOTHING = frozenset(
    ("", "unknown", "none", "none assigned", "n/a", "na", "invalid", "(null)", "null", "not_set", "notset", "-", "?")
)
_ENDLESS = frozenset(("unlimited", "infinite", "partition_limit", "-1"))
_UNITS = {unit: 1024**power for power, unit in enumerate("KMGTPEZ", 1)}
_COUNT = re.compile(r"(\d{1,18})(\.\d+)?([KMGTP]?)(?:-\d+[KMGTP]?)?", re.IGNORECASE | re.ASCII)
_AMOUNT = re.compile(r"(\d{1,24}(?:\.\d+)?) ?([KMGTPEZ]?)(i?B)?([nc]?)", re.IGNORECASE | re.ASCII)
_DURATION = re.compile(r"(?:(\d{1,9})(?:-| days?,? ))?(\d{1,12})(?::(\d{1,9}))?(?::(\d{1,9}))?(?:\.\d*)?", re.ASCII)
_TIME = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)[T ](\d\d?):(\d\d)(?::(\d\d))?(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_FINISHED = re.compile(r"(after(?:any|ok|notok|corr)):([\d_*+:\[\]-]+)", re.IGNORECASE)
_GPU = re.compile(r"(?:gres[/:])?(?:gpu|7696487)(?:[:=]([^()]*))?(?:\((?:IDX:([\d,-]*)|[^()]*)\))*", re.IGNORECASE)
_MOST_GPUS = 2**31
_LARGEST = 2**62


def nothing(text: str) -> bool:
    """Whether a text says that there is no value."""
    return text.strip().lower() in _NOTHING


def count(text: str) -> int | None:
    """A number of things: ``8``, ``4K`` (4,096), the least of a range ``2-4``."""
    if nothing(text):
        return UNKNOWN
    found = _COUNT.fullmatch(text.strip())
    if found is None:
        return None
    return _within(float(found[1] + (found[2] or "")) * _UNITS.get(found[3].upper(), 1), exact=found)


def _within(value: float, exact: re.Match[str] | None = None) -> int | None:
    if exact is not None and not exact[2] and not exact[3]:
        value = int(exact[1])
    return int(value) if value < _LARGEST else None


class Amount(NamedTuple):
    """An amount of memory [MiB], and what it is for: a node (``n``), a core (``c``) or the whole job."""

    mebibytes: int
    per: str


def amount(text: str, unit: str = "M") -> Amount | None:
    """Memory: ``4000M``, ``4Gn`` for a node, ``1.50Gc`` for a core; without a unit in ``unit``."""
    if nothing(text) or text.strip().lower() in _ENDLESS:
        return Amount(UNKNOWN, "")
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        return None
    # 1024b are bytes, 1024 without a letter are in the usual unit.
    scale = _UNITS.get((found[2] or ("" if found[3] else unit)).upper(), 1)
    value = _within(float(found[1]) * scale / _UNITS["M"])
    return None if value is None else Amount(value, found[4].lower())


PER_CORE = 2**31
"""The bit by which Slurm marks memory [MiB] of a core: the highest of 32, in later versions of 64 bits."""


def requested_memory(text: str) -> Amount | None:
    """Memory that a job asks for, as :func:`amount`, without the bit that marks an amount for a core.

    Old databases hold the bit of 32 bits, which later versions print as a part of the number: ``2147486448Mn`` is
    2,800 MiB for a core. A number without a letter behind it may be the memory of a large job, and is left.
    """
    plain, found = amount(text), _AMOUNT.fullmatch(text.strip())
    if found is None or nothing(text):
        return plain
    exact = "." not in found[1]
    unit = _UNITS.get((found[2] or ("" if found[3] else "M")).upper(), 1)
    value = (int(found[1]) if exact else int(float(found[1]))) * unit // _UNITS["M"]
    if 2**63 <= value < 2**64:
        value, marked = value - 2**63, True
    else:
        value, marked = value - PER_CORE, bool(found[4]) and PER_CORE <= value < 2 * PER_CORE
    if not marked:
        return plain
    return Amount(value if exact and value < PER_CORE - 2 else UNKNOWN, "c")  # above: no value, or no limit


def seconds(text: str, plain: int = 1) -> int | None:
    """A duration: ``D-HH:MM:SS``, ``HH:MM:SS``, ``MM:SS``, ``D-HH``; a bare number counts ``plain`` seconds.

    One below zero (``-0:00:16``) is not known.
    """
    text, below = text.strip().removeprefix("-"), text.strip().startswith("-")
    if below and _DURATION.fullmatch(text):
        return UNKNOWN
    if nothing(text) or text.strip().lower() in _ENDLESS:
        return UNKNOWN
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        return None
    days, *parts = found.groups()
    numbers = [int(part) for part in parts if part is not None]
    if days is not None:
        hours, minutes, rest = (*numbers, 0, 0)[:3]
        value = ((int(days) * 24 + hours) * 60 + minutes) * 60 + rest
    elif len(numbers) == 1:
        value = numbers[0] * plain
    else:
        value = 0
        for number in numbers:
            value = value * 60 + number
    return _within(value)


def minutes(text: str) -> int | None:
    """A duration [s] whose bare numbers are minutes, as limits of Slurm are."""
    return seconds(text, 60)


def instant(text: str, zone: ZoneInfo | None = None, fold: int = 0) -> int | None:
    """A time [s since 1970]: ``2026-01-31T12:00:00`` in ``zone`` (UTC), with an offset of its own, or seconds.

    Of a time that the clocks of the zone show twice, ``fold`` says which is meant: 0 for the first, 1 for the second.
    """
    text = text.strip()
    if nothing(text):
        return UNKNOWN
    found = _TIME.fullmatch(text)
    if found is None:
        return _within(float(text)) if re.fullmatch(r"[0-9]{1,18}(\.[0-9]+)?", text) else None
    offset = found[7]
    try:
        year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
        moment = datetime(year, month, day, hour, minute, second, tzinfo=zone or UTC, fold=fold)
        if offset == "Z":
            moment = moment.replace(tzinfo=UTC)
        elif offset:
            moment = datetime.fromisoformat(f"{moment:%Y-%m-%dT%H:%M:%S}{offset}")
        stamp = int(moment.timestamp())
    except (ValueError, OverflowError):
        return None
    return max(stamp, UNKNOWN)


class Tres(NamedTuple):
    """Trackable resources: numbers of cores, nodes and GPUs, memory [MiB]; what is not named is :data:`UNKNOWN`."""

    cores: int
    nodes: int
    gpus: int
    memory: int


def tres(text: str) -> Tres:
    """Resources as Slurm lists them: ``billing=8,cpu=8,gres/gpu:a100=2,mem=64G,node=1``; the rest is not read."""
    given: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = part.strip().lower().partition("=")
        given[name] = value
    memory = amount(given.get("mem", ""))
    return Tres(
        cores=_known(count(given.get("cpu", ""))),
        nodes=_known(count(given.get("node", ""))),
        gpus=_known(gpus(text)),
        memory=memory.mebibytes if memory else UNKNOWN,
    )


def _known(value: int | None) -> int:
    return UNKNOWN if value is None else value


def gpus(text: str) -> int | None:
    """GPUs of a list of resources in any of Slurm's spellings; :data:`UNKNOWN` where it names none.

    ``gpu:4``, ``gres:gpu:a100:2``, ``gres/gpu:1080=2``, ``gpu:2(IDX:0-1)``, ``gpu(IDX:0-1)``; 7696487 is the number of
    the plugin, which stands in old databases. A number of all and numbers of types count the same devices. Shares of
    GPUs (shard, mps) are none.
    """
    whole = typed = UNKNOWN
    for part in re.split(r",(?![^()]*\))", text.replace("(null)", "")):
        found = _GPU.fullmatch(part.strip())
        if found is None:
            continue
        kind, _, last = (found[1] or "").replace("=", ":").rpartition(":")
        number = count(last)
        if number is None or found[1] is None:  # a type alone, or not even that
            kind, number = last, _indexes(found[2] or "")
        if number >= _MOST_GPUS:
            return None
        if kind:
            typed = max(typed, 0) + number if number >= 0 else typed
        elif number >= 0:
            whole = max(whole, 0) + number
    return max(whole, typed)


def _indexes(text: str) -> int:
    """How many devices ``0-2,5`` are; one where none is named."""
    bounds = re.findall(r"(\d{1,9})(?:-(\d{1,9}))?", text)
    return sum(max(int(last or first) - int(first), 0) + 1 for first, last in bounds) or 1


def waits_for(text: str) -> tuple[int, ...]:
    """The jobs whose end a job waits for: ``afterok:123,afterany:124_5(unfulfilled)``; other conditions are none."""
    found: list[int] = []
    for _, jobs in _FINISHED.findall(text):
        found += [int(number[1]) for each in jobs.split(":") if (number := re.match(r"([0-9]{1,18})", each))]
    return tuple(dict.fromkeys(found))


WAITING = frozenset(("PENDING", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"))
"""States of jobs that have not started."""

RUNNING = frozenset(("RUNNING", "SUSPENDED", "CONFIGURING", "STOPPED", "SIGNALING", "STAGE_OUT", "POWER_UP_NODE"))
"""States of jobs that have not ended."""

_FINAL = (
    "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE",
    "REQUEUED", "RESIZING", "REVOKED", "COMPLETING", "EXPIRED", "LAUNCH_FAILED", "RECONFIG_FAIL",
)  # fmt: skip
STATES = tuple(sorted({*_FINAL, *WAITING, *RUNNING}))
"""All states."""

_CODES = {
    "PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED", "CF": "CONFIGURING", "CG": "COMPLETING", "CD": "COMPLETED",
    "CA": "CANCELLED", "F": "FAILED", "TO": "TIMEOUT", "NF": "NODE_FAIL", "PR": "PREEMPTED", "OOM": "OUT_OF_MEMORY",
    "BF": "BOOT_FAIL", "DL": "DEADLINE", "RQ": "REQUEUED", "RH": "REQUEUE_HOLD", "RF": "REQUEUE_FED", "RS": "RESIZING",
    "RV": "REVOKED", "RD": "RESV_DEL_HOLD", "SE": "SPECIAL_EXIT", "SI": "SIGNALING", "SO": "STAGE_OUT", "ST": "STOPPED",
}  # fmt: skip


def state(text: str) -> str:
    """A state by its name: of ``CANCELLED by 1000`` the first word, of ``OUT_OF_ME+`` the whole, of ``CD`` the name."""
    words = re.split(r"[ ,(]", text.strip().upper(), maxsplit=1)
    word = _CODES.get(words[0], words[0])
    if word.endswith("+"):
        known = (each for each in (*_FINAL, *WAITING, *RUNNING) if each.startswith(word[:-1]))
        word = next(known, word)
    return "" if nothing(word) else word


def parsed(text: pl.Series, parse: Callable[[str], int | None], value: pl.Series | None = None) -> pl.Series:
    """The numbers of a column of text: -1 where nothing is known, null where a text cannot be read.

    Parameters
    ----------
    text : the column.
    parse : reads one text; each that occurs is read once.
    value : numbers that are known already, null where they are not.
    """
    import polars as pl

    if value is None:
        value = (
            text.cast(pl.Int64, strict=False)
            if parse is count
            else pl.repeat(None, len(text), dtype=pl.Int64, eager=True)
        )
    odd = value.is_null() & text.is_not_null()
    if odd.any():
        texts = text.filter(odd).unique()
        numbers = pl.Series([parse(each) for each in texts.to_list()], dtype=pl.Int64)
        value = value.fill_null(text.replace_strict(texts, numbers, default=None, return_dtype=pl.Int64))
    return value.clip(UNKNOWN).zip_with(text.is_not_null(), pl.Series([UNKNOWN], dtype=pl.Int64))
