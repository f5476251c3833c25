"""Where compiled functions and other results are kept between runs."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

from transom._system import notices
from transom._system.trusted import distrusted, make_folder, temporary_folder

_FORGET = 30 * 86_400  # compiled code that nobody used for so long is removed [s]
_SWEEP = 86_400  # how often such code is looked for [s]


class CacheFolder(NamedTuple):
    """Where compiled functions are kept, and why not for later processes, None if for these too."""

    path: Path
    refused: str | None = None


def users_cache() -> Path:
    """The folder of the user's cache that is ours, which may not exist."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "transom"


def users_folder() -> Path:
    """The one in the user's cache, which may not exist."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return Path(chosen) / "transom" / "kernels" if chosen else users_cache() / "kernels"


@cache
def cache_folder() -> CacheFolder:
    """The user's cache folder, or one for this process alone."""
    folder = users_folder()
    try:
        make_folder(folder, private=True)
        refused = distrusted(folder)
        if refused is None:
            with tempfile.TemporaryFile(dir=folder):
                pass
            _sweep(folder)
    except OSError as error:
        refused = f"{folder}: {error.strerror}"
    if refused is not None:
        alone = temporary_folder()
        atexit.register(shutil.rmtree, alone, ignore_errors=True)
        return CacheFolder(alone, refused)
    notices.log(f"compiled kernels are kept in {folder}")
    return CacheFolder(folder)


def _sweep(folder: Path) -> None:
    """Remove what nobody used for long, once a day."""
    swept, now = folder / "swept", time.time()
    if swept.exists() and swept.stat().st_mtime > now - _SWEEP:
        return
    swept.unlink(missing_ok=True)
    swept.touch()
    for path in folder.glob("*.nb[ic]"):
        if path.stat().st_mtime < now - _FORGET:
            path.unlink(missing_ok=True)
