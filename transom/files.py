"""Files that are there whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import gzip
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, cast


@contextmanager
def whole_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path in the folder of ``path``; rename it to ``path`` if nothing fails.

    The folder is made if need be; an interrupt or an error leaves neither a part nor the temporary file. An error of
    the system that names no file, such as that of a full disk, gets the name of this one.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp is private; the file should be as any other
        os.replace(temporary, target)
    except OSError as error:
        if error.filename is None:
            error.filename = str(target)
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_file(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    """Open a file for writing that appears under ``path`` only when the block ends well.

    Text is UTF-8; a path that ends in ``.gz`` is compressed, with no time stamp in it, so that the
    same content gives the same bytes.
    """
    encoding = "utf-8" if mode == "w" else None
    with whole_path(path) as temporary:
        if Path(path).suffix == ".gz":
            with temporary.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
                if mode == "wb":
                    yield cast(IO[Any], packed)
                else:
                    with io.TextIOWrapper(packed, encoding=encoding, newline="\n") as text:
                        yield text
        else:
            with temporary.open(mode, encoding=encoding) as file:
                yield file
