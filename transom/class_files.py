"""Policies, solvers, rules and objectives in a file of one's own: ``./mine.py:Class``.

A specification names a file where its first part holds a ``/`` or ends in ``.py``; the name in that file follows, then
settings as for every other: ``./mine.py:Shortest:factor=2``. Such a file is run, so that only what its user names is
loaded: what stands on the command line, or was handed to :func:`trust_files`. A plan or a recording that names one is
refused.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from importlib.abc import SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from transom._system.trusted import distrusted
from transom.errors import SpecError

_NAMED = re.compile(r"(?:^|[=\[,])([^=\[\],:]*\.py):[A-Za-z_]")
_PREFIX = "transom_file_"

_trusted: dict[str, str] = {}
"""Digests of the files that may be run, by their path."""


def headed(spec: str) -> tuple[str, str, str]:
    """The name in a specification, with the file where it states one, the colon after it, and the settings."""
    name, colon, rest = spec.partition(":")
    if colon and is_path(name):
        inner, colon, rest = rest.partition(":")
        name = f"{name}:{inner}"
    return name, colon, rest


def is_path(name: str) -> bool:
    """Whether the first part of a specification is the path of a file, which holds no ``=``, rather than a name."""
    return ("/" in name or name.endswith(".py")) and "=" not in name


def names_a_file(name: str) -> bool:
    """Whether a name is ``FILE.py:NAME``."""
    return is_path(name.partition(":")[0])


def rooted_files(spec: str, folder: Path) -> str:
    """A specification in which files of classes that are named relative to a folder are named from the root on."""
    return _NAMED.sub(lambda at: at[0].replace(at[1], str(folder / Path(at[1]).expanduser())), spec)


def trust_files(text: str) -> None:
    """Allow that the files that a text names as ``FILE.py:NAME`` are run in this process and in those that it starts.

    A file that nobody could run, because it is missing or others may write it, stays as it is: loading it says why.
    """
    for named in _NAMED.findall(text):
        path = _absolute(named)
        with suppress(OSError):
            if path.is_file() and distrusted(path) is None:
                _trusted[str(path)] = _digest(path.read_bytes())


def trusted_files() -> dict[str, str]:
    """The digests of the files that may be run, by path, for a process that is to run the same ones."""
    return dict(_trusted)


def trust_same(files: Mapping[str, str]) -> None:
    """Allow what :func:`trusted_files` gave in another process."""
    _trusted.update(files)


def load_from_file(name: str) -> Any:
    """What ``FILE.py:NAME`` names.

    Raises
    ------
    SpecError : nobody allowed the file, it is missing, changed or one that others may write, it fails, or holds no such
        name.
    """
    file, _, inner = name.partition(":")
    path = _absolute(file)
    if not path.is_file():
        raise SpecError(f"{file}: no such file")
    if path.suffix != ".py" or not inner.isidentifier():
        raise SpecError(f"{name}: expected FILE.py:NAME, the name of a class in the file")
    if (reason := distrusted(path)) is not None:
        raise SpecError(f"{file}: not run, because {reason}")
    content = path.read_bytes()
    if str(path) not in _trusted:
        raise SpecError(
            f"{name}: a file is run only where the command line itself names it, or with --trust; in Python, hand over "
            "the object instead of its name"
        )
    if _digest(content) != _trusted[str(path)]:
        raise SpecError(f"{file}: the file was changed since it was named, or is another one on this machine")
    module = _module(path, content)
    if not hasattr(module, inner):
        own = [each for each, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
        raise SpecError(f"{file} has no {inner!r}. It has: {', '.join(own) or 'no class or function'}")
    return getattr(module, inner)


def file_digests(spec: str) -> list[str]:
    """The digests of the files that a specification names, as far as they may be run."""
    return [_trusted[path] for named in _NAMED.findall(spec) if (path := str(_absolute(named))) in _trusted]


class _Content(SourceLoader):
    """The content that was compared with its digest: what runs is not read a second time, nor from a cache."""

    def __init__(self, path: Path, content: bytes) -> None:
        self._path, self._content = str(path), content

    def get_filename(self, fullname: str) -> str:
        return self._path

    def get_data(self, path: str) -> bytes:
        if path != self._path:
            raise FileNotFoundError(path)
        return self._content


def _module(path: Path, content: bytes) -> ModuleType:
    called = _PREFIX + _digest(f"{path} {_digest(content)}".encode())
    if called in sys.modules:
        return sys.modules[called]
    loader = _Content(path, content)
    found = ModuleSpec(called, loader, origin=str(path))
    found.has_location = True  # the file is the origin, and __file__
    module = module_from_spec(found)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # what stands beside it can be imported, as from a script
    sys.modules[called] = module  # where dataclasses look up their annotations
    try:
        loader.exec_module(module)
    except Exception as fault:
        del sys.modules[called]
        lines = [each.lineno for each in traceback.extract_tb(fault.__traceback__) if each.filename == str(path)]
        line = fault.lineno if isinstance(fault, SyntaxError) else lines[-1] if lines else None
        where = f"{path}, line {line}" if line else str(path)
        raise SpecError(f"{where}: {type(fault).__name__}: {fault}") from fault
    return module


def _absolute(named: str) -> Path:
    return Path(named).expanduser().absolute()


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()
