"""A file, plain or gzip, in blocks of whole lines, so that long traces are never held in memory as text."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import Any, cast

from transom.errors import TraceError
from transom.reading import LINE, opened, size_text, unpacked

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_MARK = b"\xef\xbb\xbf"  # a byte-order mark of UTF-8
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BLOCK = 1 << 20


class BrokenStreamError(TraceError):
    """A gzip stream is damaged or cut off; ``why`` says how, and whoever reads knows where."""

    def __init__(self, path: str, why: str, where: str = "") -> None:
        super().__init__(f"{path}: {where}the gzip stream is broken or cut off here: {why}")
        self.why = why


def pieces(path: str) -> Iterator[bytes]:
    """The content of a file, unpacked if it is gzip (recognised by its content), without a byte-order mark.

    Parameters
    ----------
    path : the file, which may be a named pipe; ``-`` is standard input. It is opened once.

    Raises
    ------
    TraceError : the file cannot be read, or unpacks to far more than text does (:mod:`transom.reading`).
    BrokenStreamError : the gzip stream is broken.
    """
    try:
        with nullcontext(opened(path)) if path == "-" else opened(path) as raw:
            start = cast(Any, raw).peek(4)
            if start.startswith(_ZSTD):
                raise TraceError(f"{path}: is packed with zstd; unpack it into a pipe: zstd -dc FILE | transom ... -")
            if start.startswith(_UTF_16):
                raise TraceError(f"{path}: is text in UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE")
            packed = start.startswith(_GZIP)
            file: Any = unpacked(raw) if packed else raw
            mark = _MARK
            held = b""
            while piece := _read(file, path, packed):
                held += piece
                if len(held) >= len(mark):
                    yield held.removeprefix(mark)
                    held = mark = b""
            if held:
                yield held
    except (OSError, ValueError) as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def blocks(path: str, size: int = _BLOCK) -> Iterator[tuple[int, bytearray]]:
    """The content of a file in blocks that end with a line.

    With each comes the number of line feeds before it. The last line ends with a line feed here, whether it does
    in the file or not.

    Parameters
    ----------
    path : as :func:`pieces` takes it.
    size : of a block, about [bytes].

    Raises
    ------
    TraceError : the file cannot be read, a line is too long, or the gzip stream is broken; the message names the line.
    """
    return whole_lines(path, pieces(path), size)


def whole_lines(path: str, content: Iterable[bytes], size: int = _BLOCK) -> Iterator[tuple[int, bytearray]]:
    """Blocks that end with a line (:func:`blocks`), of a file's pieces.

    Raises
    ------
    TraceError : a line is longer than :data:`LINE`.
    BrokenStreamError : the stream ends early or is damaged; told with the number of the line.
    """
    held, end, lines = bytearray(), 0, 0
    try:
        for piece in content:
            if at := piece.rfind(b"\n") + 1:
                end = len(held) + at
            held += piece
            if end and len(held) >= size:
                left = held[end:]
                del held[end:]
                yield lines, held
                lines += held.count(b"\n")
                held, end = left, 0
            if len(held) - end > LINE:
                number = lines + held.count(b"\n") + 1
                raise TraceError(f"{path}: line {number} is longer than {size_text(LINE)}: this is no text file")
    except BrokenStreamError as error:
        at = lines + held.count(b"\n") + 1
        raise BrokenStreamError(path, error.why, f"line {at}: ") from error
    if held:
        yield lines, held if held.endswith(b"\n") else held + b"\n"


def _read(file: Any, path: str, packed: bool) -> bytes:
    try:
        return cast(bytes, file.read1(_BLOCK))  # read() would lose what comes before a break
    except (EOFError, OSError, zlib.error) as error:
        if not packed or getattr(error, "errno", None) is not None:
            raise
        raise BrokenStreamError(path, str(error)) from error
