"""Open a file that may be compressed, with errors that a user understands."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from transom.errors import DocumentError
from transom.reading import TooLargeError, head, opened, unpacked

_GZIP = b"\x1f\x8b"


def beginning(path: str | os.PathLike[str]) -> bytes:
    """The first bytes of a file, decompressed if it is compressed, at most 4096.

    Raises
    ------
    DocumentError : it cannot be opened.
    """
    with _explained(path):
        start = head(path, 1 << 16)
    if not start.startswith(_GZIP):
        return start[:4096]
    try:
        return zlib.decompressobj(wbits=31).decompress(start, 4096)
    except zlib.error:
        return b""  # whoever reads on says what is wrong


@contextmanager
def open_document(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressed if it is compressed.

    Raises
    ------
    DocumentError : it cannot be opened, or turns out to be damaged, or larger than a limit, while it is read.
    """
    with _explained(path), opened(path) as file:
        yield unpacked(file) if file.peek(2)[:2] == _GZIP else file


@contextmanager
def _explained(path: str | os.PathLike[str]) -> Iterator[None]:
    name = os.fspath(path)
    try:
        yield
    except TooLargeError as error:
        raise DocumentError(f"{name}: {error}") from None
    except FileNotFoundError:
        raise DocumentError(f"{name}: no such file") from None
    except IsADirectoryError:
        raise DocumentError(f"{name}: is a folder, not a file") from None
    except EOFError:
        raise DocumentError(f"{name}: the gzip file is truncated") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DocumentError(f"{name}: the gzip file is damaged ({error})") from None
    except OSError as error:
        raise DocumentError(f"{name}: {error.strerror or error}") from None
