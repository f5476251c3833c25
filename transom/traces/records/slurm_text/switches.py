"""Switches as files of topologies describe them, with their lines, and blocks with the aggregated ones above them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, NoReturn

from transom._system.wording import digits
from transom.errors import TraceError
from transom.traces.records.hostlist import hosts


class Switch(NamedTuple):
    """A switch and what hangs on it, nodes or other switches; and the line that describes it."""

    name: str
    nodes: tuple[str, ...]
    below: tuple[str, ...]
    line: int = 0


def from_left(switches: Sequence[Switch]) -> list[Switch]:
    """Switches in depth-first order, from those that hang below no other; those of a ring are left out."""
    by_name = {each.name: each for each in switches}
    below = {name for each in switches for name in each.below}
    found: dict[str, Switch] = {}
    open_ = [each.name for each in switches if each.name not in below][::-1]
    while open_:
        each = by_name.get(open_.pop())
        if each is not None and each.name not in found:
            found[each.name] = each
            open_ += each.below[::-1]
    return list(found.values())


def damaged(path: str, line: int, words: str) -> NoReturn:
    """Say what is wrong in a line.

    Raises
    ------
    TraceError : always.
    """
    raise TraceError(f"{path} line {line}: {words}")


def named(path: str, line: int, text: str) -> tuple[str, ...]:
    """The names in a list of hosts.

    Raises
    ------
    TraceError : it is damaged.
    """
    try:
        found = tuple(hosts(text))
    except ValueError as error:
        damaged(path, line, str(error))
    if text and not found:
        damaged(path, line, f"{text[:60]!r} names no host")
    if "ALL" in found:
        damaged(path, line, "ALL stands for nodes that the file does not name; list them")
    for name in found:
        if not name.isprintable():
            damaged(path, line, f"a name of characters that are not printed: {name[:60]!r}")
    return found


def grouped(path: str, blocks: Sequence[Switch], sizes: Sequence[int], line: int) -> list[Switch]:
    """Blocks, and above them the aggregated ones that sizes state, each a power of two of the one before.

    Parameters
    ----------
    blocks : in their order; consecutive ones are aggregated.
    sizes : nodes of a base block, then of each larger one.
    line : that states the sizes.

    Raises
    ------
    TraceError : sizes are no powers of two of each other, or a block is smaller than a base block.
    """
    for smaller, larger in pairwise(sizes):
        times, rest = divmod(larger, smaller) if smaller > 0 else (0, 1)
        if rest or times < 2 or times & (times - 1):
            damaged(path, line, f"block size {larger} is no power of two of {smaller}, the one before")
    for block in blocks:
        if sizes and len(block.nodes) < sizes[0]:
            words = f"{len(block.nodes)} nodes, less than a base block of {sizes[0]}"
            damaged(path, block.line, f"block {block.name} has {words}")
    entries, level = list(blocks), [block.name for block in blocks]
    for number, size in enumerate(sizes[1:], 1):
        each = size // sizes[number - 1]
        level = _joined(entries, level, each, line, f"{size} nodes")
    if len(level) > 1:
        _joined(entries, level, len(level), line, "the core")
    return entries


def _joined(entries: list[Switch], below: Sequence[str], each: int, line: int, what: str) -> list[str]:
    """Add switches above so many each of those below, and return their names."""
    names = []
    for first in range(0, len(below), each):
        names.append(f"\0{what} {first}")
        entries.append(Switch(names[-1], (), tuple(below[first : first + each]), line))
    return names


def block_size(path: str, line: int, text: str) -> int:
    """The nodes of a block.

    Raises
    ------
    TraceError : it is no whole number > 0.
    """
    if not (digits(text) and 0 < int(text) < 2**31):
        damaged(path, line, f"a block size is a whole number > 0, got {text[:40]!r}")
    return int(text)
