"""Functions that were compiled ahead of time into extension modules, which need no compiler to run.

A folder of them is made by :mod:`transom._system.building`: extension modules, and ``index.json``, which says for each
function and each list of argument types which module has it. The wheel holds such a folder for any processor of its
kind; ``transom compile`` makes one for this machine in the user's cache.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from transom._system.argument_types import described, type_of
from transom._system.cache_folder import users_folder
from transom._system.source_digest import source_digest
from transom._system.trusted import trusted_whole

INDEX = "index.json"
_SUFFIX = EXTENSION_SUFFIXES[0]
SHIPPED = Path(__file__).parents[1] / "_kernels"
"""Where a wheel has them."""

_DEBUGGING = ("NUMBA_DISABLE_JIT", "NUMBA_DEBUGINFO", "NUMBA_BOUNDSCHECK", "NUMBA_OPT")
"""Variables of the environment that ask for other machine code."""


def prebuilt(name: str, otherwise: Callable[[], Callable[..., Any]]) -> Callable[..., Any] | None:
    """A function that was built ahead of time, for all types of arguments; None where there is none of that name.

    Parameters
    ----------
    name : module and qualified name.
    otherwise : gives the function that takes any arguments, for types that were not foreseen.
    """
    folder, functions = _found()
    entries = functions.get(name)
    if entries is None:
        return None
    known: dict[Any, Callable[[Any], Any]] = {}  # each takes its arguments in a tuple

    def choose(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return otherwise()(*args, **kwargs)
        types = tuple([type_of(each) for each in args])
        function = known.get(types)
        if function is None:
            function = known[types] = _entry(folder, entries, args) or (lambda given: otherwise()(*given))
        return function(args)

    return choose


def native_folder() -> Path:
    """Where the functions of this version of the sources are kept for this machine and this Python."""
    state = blake2b(digest_size=8)
    for part in (source_digest(), sys.implementation.cache_tag, _processor()):
        state.update(str(part).encode())
    return users_folder() / "native" / state.hexdigest()


def _entry(folder: Path, entries: dict[str, list[str]], args: tuple[Any, ...]) -> Callable[[Any], Any] | None:
    """The function for the types of some arguments, which takes them in a tuple."""
    try:
        module, symbol = entries[json.dumps([described(each) for each in args])]
        function: Callable[[Any], Any] = getattr(_loaded(folder, module), symbol)
    except (TypeError, KeyError, ImportError):  # not foreseen, or built for another system
        return None
    return function


@cache
def _loaded(folder: Path, module: str) -> Any:
    path = folder / f"{module}{_SUFFIX}"
    spec = spec_from_file_location(module, path, loader=ExtensionFileLoader(module, str(path)))
    if spec is None:
        raise ImportError(f"{path}: no extension module")
    found = module_from_spec(spec)
    spec.loader.exec_module(found)  # type: ignore[union-attr]
    return found


@cache
def _found() -> tuple[Path, dict[str, dict[str, list[str]]]]:
    """The folder to use, and for each function in it what has it for which types."""
    if not any(os.environ.get(each) for each in _DEBUGGING):
        native = users_folder() / "native"
        own = native.is_dir() and trusted_whole(native_folder(), "its functions are compiled again")
        for folder in ([native_folder()] if own else []) + [SHIPPED]:  # the latter is as trusted as this file
            try:
                index = json.loads((folder / INDEX).read_bytes())
            except (OSError, ValueError):
                continue
            if index["python"] == sys.implementation.cache_tag:
                return folder, index["functions"]
    return SHIPPED, {}


def _processor() -> str:
    """What this machine's code may use: the first processor that the system lists."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read(8192).split("\n\n")[0]
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join(line for line in first.splitlines() if line.startswith(("vendor", "cpu family", "model", "flags")))
