"""Lists of hosts as Slurm writes them: ``n[00-15,20],gpu[1-2]x[0-3],login``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product

from transom._system.wording import digits

_MOST = 1 << 20  # nodes of one list
_NUMBERED = re.compile(r"([^,\[\]]*?)(\d{1,9})")
_PART = re.compile(r"[^,\[\]]*(?:\[[^\[\]]*\][^,\[\]]*)*")


def hosts(text: str) -> list[str]:
    """The names in a list, in its order; a part that is no list stands for itself.

    Raises
    ------
    ValueError : the list is damaged, or too long.
    """
    found: list[str] = []
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        end = match.end() if match else at
        if (end == at and text[at] != ",") or (end < len(text) and text[end] != ","):
            raise ValueError(f"a damaged list of hosts: {text[:40]!r}")
        found += _expanded(text[at:end].strip())
        if len(found) > _MOST:
            raise ValueError(f"a list of more than {_MOST:,} hosts: {text[:40]!r}")
        at = end + 1
    return found


def _expanded(part: str) -> list[str]:
    if not part:
        return []
    pieces = re.split(r"\[([^\[\]]*)\]", part)
    choices = [[piece] if i % 2 == 0 else _range(piece) for i, piece in enumerate(pieces)]
    size = 1
    for each in choices:
        size *= len(each)
    if size > _MOST:
        raise ValueError(f"a list of more than {_MOST:,} hosts: {part[:40]!r}")
    return ["".join(names) for names in product(*choices)]


def _range(text: str) -> list[str]:
    found: list[str] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not dash:
            found.append(first)
            continue
        if not (digits(first) and digits(last) and len(first + last) < 20):
            raise ValueError(f"a damaged range of hosts: {text[:40]!r}")
        if int(last) - int(first) >= _MOST:
            raise ValueError(f"a list of more than {_MOST:,} hosts: {text[:40]!r}")
        found += [f"{number:0{len(first)}d}" for number in range(int(first), int(last) + 1)]
    return found


def compressed(names: Iterable[str]) -> str:
    """The shortest list of this form for some names: runs of numbers of the same length behind the same beginning."""
    groups: dict[tuple[str, int], list[int]] = {}
    plain: list[str] = []
    for name in names:
        found = _NUMBERED.fullmatch(name)
        if found is None:
            plain.append(name)
        else:
            groups.setdefault((found[1], len(found[2])), []).append(int(found[2]))
    for (beginning, width), numbers in groups.items():
        runs: list[list[int]] = []
        for number in sorted(set(numbers)):
            if runs and runs[-1][-1] == number - 1:
                runs[-1][1:] = [number]
            else:
                runs.append([number])
        words = ",".join("-".join(f"{end:0{width}d}" for end in run) for run in runs)
        plain.append(f"{beginning}[{words}]" if len(runs) > 1 or len(runs[0]) > 1 else f"{beginning}{words}")
    return ",".join(plain)
