"""A second user of the machine, who plants files: what only root can play."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

STRANGER, VICTIM = 54_321, 54_322
"""Numbers of users whom no machine has."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")


@pytest.fixture
def common() -> Iterator[Path]:
    """A folder that all users may enter, but not write."""
    folder = Path(tempfile.mkdtemp(prefix="transom-common-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def give(path: Path, user: int = STRANGER) -> Path:
    """Have a file, or a folder with all that is in it, belong to a user."""
    for each in (path, *path.rglob("*")):
        os.lchown(each, user, user)
    return path


def as_user(user: int, ask: Callable[[], Any]) -> Any:
    """What a function says in a child of this process that belongs to a user; of an exception its type and text."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            try:
                said = ask()
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
            os.write(writing, json.dumps(said).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return json.loads(said)
