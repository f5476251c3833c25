"""A file, plain or gzip, in blocks of whole lines, so that long traces are never held in memory as text."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from transom.errors import TraceError

_GZIP = b"\x1f\x8b"
_MARK = b"\xef\xbb\xbf"  # a byte-order mark of UTF-8
_BLOCK = 1 << 20


def blocks(path: str) -> Iterator[tuple[int, bytearray]]:
    """The content of a file, unpacked if it is gzip (told by its content), in blocks that end with a line.

    With each comes the number of line feeds before it. The last line ends with a line feed here, whether it does
    in the file or not. A byte-order mark is left out.

    Raises
    ------
    TraceError : the file cannot be read, or the gzip stream is broken; the message names the line.
    """
    try:
        with Path(path).open("rb") as raw:
            packed = raw.peek(2).startswith(_GZIP)
            yield from _whole_lines(gzip.GzipFile(fileobj=raw) if packed else raw, path, packed)
    except (OSError, ValueError) as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _whole_lines(file: Any, path: str, packed: bool) -> Iterator[tuple[int, bytearray]]:
    held, lines, mark = bytearray(), 0, _MARK
    while piece := _read(file, path, packed, held, lines):
        end = piece.rfind(b"\n") + 1
        held += memoryview(piece)[:end] if end else piece
        if end:
            held, mark = held.removeprefix(mark), b""
            yield lines, held
            lines += held.count(b"\n")
            held = bytearray(memoryview(piece)[end:])
    if held := held.removeprefix(mark):
        yield lines, held + b"\n"


def _read(file: Any, path: str, packed: bool, held: bytearray, lines: int) -> bytes:
    try:
        return cast(bytes, file.read1(_BLOCK))  # read() would lose what comes before a break
    except (EOFError, OSError, zlib.error) as error:
        if not packed or getattr(error, "errno", None) is not None:
            raise
        at = lines + held.count(b"\n") + 1
        raise TraceError(f"{path}: line {at}: the gzip stream is broken or cut off here: {error}") from error
