"""Numba's dispatcher with a cache of ours: the one file that uses what another package does not promise to keep.

Numba's own cache knows the file that a function stands in, not the files of what it calls: after an update it would
run old code. Ours goes by :func:`~transom._system.kernel_digest.kernel_digest`, so that an edit of a function
recompiles its callers, and any other edit nothing. It reads no file that somebody else may have written: these are
pickles, which run what they say. And it loads without Numba's tables of all types and functions, half a second that
only compiling needs. Numba has no door for any of this, so its dispatcher is inherited from; nothing of Numba is
replaced. A version of Numba that lacks a name that is used here keeps kernels in its own way.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from transom._system import notices
from transom._system.cache_folder import cache_folder
from transom._system.collector import collector_paused
from transom._system.files import atomic_write
from transom._system.signals import uninterrupted
from transom._system.source_digest import source_digest
from transom._system.trusted import make_folder, remove_foreign, trusted_whole
from transom._system.turns import turn

_UNREADABLE = (OSError, ImportError, AttributeError)
"""What comes of a file that is not there or damaged, or that names what this version of Transom does not have."""

_SEAL = 16
"""Bytes at the end of a file."""

_INNER = ".inner.nbc"
"""What files end in that compiled code alone can call."""


def kept_dispatcher(function: Callable[..., Any], options: dict[str, Any], digest: str, inner: bool) -> Any:
    """What compiles a function for the types that it is called with, and keeps the results for later processes.

    Parameters
    ----------
    options : of the compiler.
    digest : of all that the machine code depends on.
    inner : whether compiled code alone calls it: what takes Python's arguments apart is a fifth of the work.
    """
    if inner:
        options = {**options, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    try:
        make = _dispatcher_class()
    except (ImportError, AttributeError) as error:
        notices.log(f"kernels are kept by Numba itself: {error}")
        return _kept_by_numba(function, options)
    return make(function, options, digest, inner)


@cache
def _dispatcher_class() -> Any:
    from numba.core.compiler import CompileResult
    from numba.core.registry import CPUDispatcher
    from numba.core.runtime import rtsys
    from numba.core.serialize import dumps
    from numba.types import BooleanLiteral, IntegerLiteral, unliteral

    initialize, reduce, rebuild = rtsys.initialize, CompileResult._reduce, CompileResult._rebuild

    def plain(kind: Any) -> Any:
        return unliteral(kind) if isinstance(kind, BooleanLiteral | IntegerLiteral) else kind

    class Kept:
        """What a dispatcher asks for a kernel before it compiles one, and gives what it has compiled."""

        def __init__(self, name: str, digest: str, inner: bool) -> None:
            self.name, self.digest, self.inner = name, digest, inner

        def path(self, arguments: Iterable[Any], context: Any) -> Path:
            """A file of its own for each list of types: processes side by side add to them without a lock.

            Compiled code may call what is kept for Python.
            """
            types = [_described(each) for each in arguments]
            key = repr((self.digest, types, context.codegen().magic_tuple(), _versions()))
            whole = cache_folder().path / f"{self.name}-{blake2b(key.encode(), digest_size=16).hexdigest()}.nbc"
            return whole.with_suffix(_INNER) if self.inner and not whole.exists() else whole

        def load_overload(self, signature: Any, context: Any) -> Any:
            initialize(context)
            path = self.path(_arguments(signature), context)
            try:
                remove_foreign(path)
                found = rebuild(context, *pickle.loads(_unsealed(path.read_bytes())))  # noqa: S301  # our own
                os.utime(path)  # what nobody uses for long is removed
            except _UNREADABLE:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
                _report_compiling()
                return None
            return found

        def save_overload(self, signature: Any, result: Any) -> None:
            path = self.path(_arguments(signature), result.target_context)
            if self.inner and not path.name.endswith(_INNER):
                return  # another process has meanwhile kept it for Python, where this has no way in
            try:
                with atomic_write(path, "wb") as file:
                    file.write(_sealed(dumps(reduce(result))))
            except OSError as error:  # the disk or a quota is full: the next process compiles it again
                _report_not_kept(f"{cache_folder().path}: {error.strerror}")

    class Dispatcher(CPUDispatcher):
        def __init__(self, function: Callable[..., Any], options: dict[str, Any], digest: str, inner: bool) -> None:
            super().__init__(function, targetoptions={"nopython": True, **options})
            self._cache = Kept(f"{function.__module__}.{function.__qualname__}", digest, inner)

        def get_call_template(self, args: Iterable[Any], kws: dict[str, Any]) -> Any:
            # Numba would compile a function once more for each constant that stands in a call.
            args, kws = [plain(each) for each in args], {name: plain(each) for name, each in kws.items()}
            return super().get_call_template(args, kws)

        def compile(self, sig: Any) -> Any:
            if (known := self.overloads.get(tuple(_arguments(sig)))) is not None:
                return known.entry_point
            path, began = self._cache.path(_arguments(sig), self.targetctx), time.monotonic()
            with uninterrupted(), collector_paused():  # most of what the compiler makes lives until it is done
                if path.exists():
                    return super().compile(sig)
                with turn(path.name):
                    entry = super().compile(sig)
                notices.log(f"compiled {self._cache.name}: {time.monotonic() - began:.2f} s")
                return entry

    return Dispatcher


def _sealed(kernel: bytes) -> bytes:
    """With a digest at the end: what a disk damaged may load without an error and run."""
    return kernel + blake2b(kernel, digest_size=_SEAL).digest()


def _unsealed(kept: bytes) -> bytes:
    if _sealed(kept[:-_SEAL]) != kept:
        raise OSError("damaged")
    return kept[:-_SEAL]


def _arguments(signature: Any) -> Any:
    """The types of arguments that the compiler is given, alone or with that of the result."""
    return getattr(signature, "args", signature)


@cache
def _versions() -> tuple[str, ...]:
    import llvmlite
    import numba

    return numba.__version__, llvmlite.__version__, str(sys.implementation.cache_tag)


def _described(kind: Any) -> Any:
    """A type of the compiler, with what its text leaves out: where the class of a tuple stands, and fields."""
    made, inner = getattr(kind, "instance_class", None), getattr(kind, "types", ())
    return (
        str(kind),
        made and f"{made.__module__}.{made.__qualname__}",
        getattr(kind, "fields", ()),
        [_described(each) for each in inner] if isinstance(inner, tuple | list) else (),
    )


def _report_compiling() -> None:
    if (reason := cache_folder().refused) is not None:
        _report_not_kept(reason)
    for listener in notices.compiling:
        listener()


def _report_not_kept(reason: str) -> None:
    for listener in notices.not_kept:
        listener(reason)


def _kept_by_numba(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """With Numba's own cache, in a folder for these sources alone: it would not see a change of what is called."""
    from numba import config, njit

    folder = cache_folder().path / f"by-numba-{source_digest()}"
    make_folder(folder, private=True)
    readable = os.path.exists(function.__code__.co_filename) and trusted_whole(folder, "kernels are compiled again")
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        return njit(cache=readable, **options)(function)
    finally:
        config.CACHE_DIR = before
