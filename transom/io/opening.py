"""Open a file that may be compressed, with errors that a user understands."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from transom.errors import DocumentError

_GZIP = b"\x1f\x8b"


@contextmanager
def open_document(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressed if it is compressed.

    Raises
    ------
    DocumentError : it cannot be opened, or turns out to be damaged while it is read.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            if file.peek(2)[:2] == _GZIP:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    yield unpacked  # type: ignore[misc]
            else:
                yield file
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
