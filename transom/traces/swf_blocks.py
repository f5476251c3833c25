"""A file, plain or gzip, in blocks of whole lines, so that long traces are never held in memory as text."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

from transom.errors import TraceError

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_MARK = b"\xef\xbb\xbf"  # a byte-order mark of UTF-8
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BLOCK = 1 << 20


def blocks(path: str, size: int = _BLOCK) -> Iterator[tuple[int, bytearray]]:
    """The content of a file, unpacked if it is gzip (recognised by its content), in blocks that end with a line.

    With each comes the number of line feeds before it. The last line ends with a line feed here, whether it does
    in the file or not. A byte-order mark is left out.

    Parameters
    ----------
    path : the file; ``-`` is standard input.
    size : of a block, about [bytes].

    Raises
    ------
    TraceError : the file cannot be read, or the gzip stream is broken; the message names the line.
    """
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as raw:
            start = cast(Any, raw).peek(4)
            if start.startswith(_ZSTD):
                raise TraceError(f"{path}: is packed with zstd; unpack it into a pipe: zstd -dc FILE | transom ... -")
            if start.startswith(_UTF_16):
                raise TraceError(f"{path}: is text in UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE")
            packed = start.startswith(_GZIP)
            yield from _whole_lines(gzip.GzipFile(fileobj=raw) if packed else raw, path, packed, size)
    except (OSError, ValueError) as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _whole_lines(file: Any, path: str, packed: bool, size: int) -> Iterator[tuple[int, bytearray]]:
    held, end, lines, mark = bytearray(), 0, 0, _MARK
    while piece := _read(file, path, packed, held, lines):
        if at := piece.rfind(b"\n") + 1:
            end = len(held) + at
        held += piece
        if end and len(held) >= size:
            left = held[end:]
            del held[end:]
            if mark:
                held, mark = held.removeprefix(mark), b""
            yield lines, held
            lines += held.count(b"\n")
            held, end = left, 0
    if held := held.removeprefix(mark):
        yield lines, held if held.endswith(b"\n") else held + b"\n"


def _read(file: Any, path: str, packed: bool, held: bytearray, lines: int) -> bytes:
    try:
        return cast(bytes, file.read1(_BLOCK))  # read() would lose what comes before a break
    except (EOFError, OSError, zlib.error) as error:
        if not packed or getattr(error, "errno", None) is not None:
            raise
        at = lines + held.count(b"\n") + 1
        raise TraceError(f"{path}: line {at}: the gzip stream is broken or cut off here: {error}") from error
