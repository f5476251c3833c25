"""Compiled functions, cached under a digest of what they call.

The compiler's own cache knows the file that a function stands in, not the files of what it calls: after an update it
would run old code. Ours goes by :func:`~transom._system.kernel_digest.kernel_digest`, so that an edit of a function
recompiles its callers, and any other edit nothing.

Processes that begin with an empty cache side by side, as the workers of a bench do, share the work: where one
compiles a kernel, the others wait for it and load it.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, update_wrapper
from hashlib import blake2b
from typing import IO, Any, ClassVar, Generic, ParamSpec, TypeVar

from numpy.random import Generator

from transom._system import notices
from transom._system.argument_types import described
from transom._system.cache_folder import cache_folder
from transom._system.collector import collector_paused
from transom._system.compiler_flags import quick
from transom._system.kernel_digest import kernel_digest
from transom._system.prebuilt import prebuilt
from transom._system.signals import uninterrupted
from transom._system.source_digest import source_digest
from transom._system.trusted import remove_foreign

Given = ParamSpec("Given")
Returned = TypeVar("Returned")

_PATIENCE = 60.0  # a process that takes longer to compile a kernel is not waited for [s]

_made: list[compiled[Any, Any]] = []
_watched: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None


class compiled(Generic[Given, Returned]):
    """Compile a function on its first call and cache the result on disk.

    The compiler itself is imported then too: whoever only looks at a model does not wait for it.
    """

    options: ClassVar[dict[str, Any]] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    """For the compiler."""

    def __init__(self, function: Callable[Given, Returned]) -> None:
        self._function = function
        self._dispatcher: Any = None
        self._run: Callable[Given, Returned] | None = None
        update_wrapper(self, function)
        _made.append(self)

    def __call__(self, *args: Given.args, **kwargs: Given.kwargs) -> Returned:
        run = self._run or self._choose()
        if Generator in map(type, args) or Generator in map(type, kwargs.values()):
            # The compiler takes a generator apart with Python code, and an exception out of that ends the process.
            with uninterrupted():
                return run(*args, **kwargs)
        return run(*args, **kwargs)

    @property
    def _numba_type_(self) -> Any:
        # What the compiler asks a global for that one of its functions calls.
        return self._compiler()._numba_type_

    def __getattr__(self, name: str) -> Any:
        # What tests ask a compiled function: its signatures, the plain function.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._compiler(), name)

    def _choose(self) -> Callable[Given, Returned]:
        """What Python is to call: the function that was built ahead of time, or the compiler's."""
        if _watched is not None:
            self._run = _watched(self._function)
        else:
            self._run = prebuilt(_name(self._function), self._compiler) or self._compiler()
        return self._run

    def _compiler(self) -> Any:
        if self._dispatcher is not None:
            return self._dispatcher
        if _watched is not None:
            return self._function
        with uninterrupted():
            from numba import config, njit
            from numba.core.compiler_lock import global_compiler_lock

            from transom._system.entry_points import with_entry, without_code
            from transom._system.lean_compiler import make_lean
            from transom._system.lean_library import write_in_place
            from transom._system.lean_lowering import write_less
            from transom._system.lean_passes import optimise_once
            from transom._system.linking import declare_findings
        if config.DISABLE_JIT:  # plain Python, slowly: for debuggers and coverage
            self._dispatcher = self._function
            return self._function
        make_lean()
        write_less()
        optimise_once()
        declare_findings()
        dispatcher = njit(**self.options)(self._function)
        digest = kernel_digest(self, source_digest)
        dispatcher._cache = _cache_of(self._function, f"{digest}-linked", coded=False)
        name = _name(self._function)
        place, missing = _place(name), list[Any]()
        compile_one, load_one = dispatcher.compile, _in_turn(dispatcher._cache.load_overload, place)
        compile_bare, compile_for_call, entries = (
            dispatcher._compiler.compile,
            dispatcher._compile_for_args,
            list[Any](),
        )

        # The compiler holds its own lock when it asks its cache: threads of one process never wait for each other here.
        def load(signature: Any, target: Any) -> Any:
            found = load_one(signature, target)
            if found is None:
                write_in_place()
                missing.append(signature)
                if (reason := cache_folder().refused) is not None:
                    _report_not_kept(reason)
                for listener in notices.compiling:
                    listener()
            return found

        def compile_whole(signature: Any) -> Any:
            with uninterrupted(), collector_paused():  # most of what the compiler makes lives until it is done
                began = time.monotonic()
                try:
                    return compile_one(signature)
                finally:
                    _end_turn(place)
                    if missing:
                        missing.clear()
                        notices.log(f"compiled {name}: {time.monotonic() - began:.2f} s")

        def compile_for_python(*args: Any, **kwargs: Any) -> Any:
            compile_for_call(*args, **kwargs)
            with uninterrupted(), collector_paused(), global_compiler_lock:
                signature = tuple(map(dispatcher.typeof_pyval, args))
                result = dispatcher.overloads[signature]
                # A file for each: processes that add to one index side by side would lose what the others add.
                symbol = blake2b(result.fndesc.mangled_name.encode(), digest_size=8).hexdigest()
                kept, own_place = _cache_of(self._function, f"{digest}-{symbol}-without-python"), _place(symbol)
                kept.load_overload = _in_turn(kept.load_overload, own_place)
                try:
                    entry = with_entry(result, kept, self.options.get("_nrt", True))
                finally:
                    _end_turn(own_place)
                entries.append(entry)  # for as long as the dispatcher
                dispatcher._insert([each._code for each in signature], entry.entry_point)
                return entry.entry_point

        def without_machine_code(flags: Any) -> Any:
            flags.no_compile = True
            return quick(flags)

        dispatcher.get_call_template = _without_constants(dispatcher.get_call_template)
        dispatcher._compiler._customize_flags = without_machine_code
        dispatcher._compiler.compile = lambda *given: without_code(compile_bare(*given))
        dispatcher._cache.load_overload = load
        dispatcher.compile = compile_whole
        dispatcher._compile_for_args = compile_for_python
        dispatcher.add_overload = lambda result: dispatcher.overloads.update({tuple(result.signature.args): result})
        self._dispatcher = dispatcher
        return dispatcher


def _without_constants(find: Callable[..., Any]) -> Callable[..., Any]:
    """How a function is found for a call from compiled code: one for all integers, one for True and False.

    The compiler would make another function for each constant that stands in a call, which takes seconds for nothing.
    """
    from numba.types import BooleanLiteral, IntegerLiteral, unliteral

    def plain(kind: Any) -> Any:
        return unliteral(kind) if isinstance(kind, BooleanLiteral | IntegerLiteral) else kind

    def found(args: Iterable[Any], kwargs: dict[str, Any]) -> Any:
        return find([plain(each) for each in args], {name: plain(each) for name, each in kwargs.items()})

    return found


class no_refcount(compiled[Given, Returned]):
    """Compile without reference counting: for functions that neither make nor return arrays.

    Counting them on every call within a loop costs more than the work of small functions. Making an array in such a
    function is an error when it is compiled.
    """

    options: ClassVar[dict[str, Any]] = {**compiled.options, "_nrt": False}


class inlined(no_refcount[Given, Returned]):
    """Compile into each of the callers.

    A record travels as one argument for each number in it, several hundred for a nested one: handing it over costs more
    than a small function does. For what stands in few places; the callers' code grows with each.
    """

    options: ClassVar[dict[str, Any]] = {**no_refcount.options, "forceinline": True}


@cache
def as_argument(kernel: Callable[..., Any], signature: str) -> Any:
    """A kernel, or a plain function, as an argument for other kernels; ``signature`` says what they call it with.

    They are compiled once for all functions of a signature, and call whichever they are given.
    """
    with uninterrupted():
        import numba.experimental.function_type  # knows the type of what has an address  # noqa: F401
        from numba import types
        from numba.core.sigutils import normalize_signature

        from transom._system.entry_points import with_address
    function = kernel if isinstance(kernel, compiled) else no_refcount(kernel)
    dispatcher = function._compiler()
    if dispatcher is function._function:  # plain Python
        return dispatcher
    arguments, _ = normalize_signature(signature)
    dispatcher.compile(arguments)
    return types.CompileResultWAP(with_address(dispatcher.overloads[arguments]))


@contextmanager
def watched() -> Iterator[dict[str, list[Any]]]:
    """Let all functions run as plain Python, and collect the types of arguments that Python calls each with.

    Gives, under module and name of each function, lists of descriptions as
    :func:`~transom._system.argument_types.described` makes them. For a process that does nothing else afterwards.
    """
    global _watched
    calls: dict[str, list[Any]] = {}
    depth = 0

    def watch(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            if depth == 0 and not kwargs:
                with suppress(TypeError):  # the compiler takes it when it comes to that
                    types, seen = [described(each) for each in args], calls.setdefault(_name(function), [])
                    if types not in seen:
                        seen.append(types)
            depth += 1
            try:
                return function(*args, **kwargs)
            finally:
                depth -= 1

        return run

    _watched = watch
    try:
        for each in _made:
            each._run = None
        yield calls
    finally:
        _watched = None
        for each in _made:
            each._run = None
        as_argument.cache_clear()


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _cache_of(function: Callable[..., Any], digest: str, coded: bool = True) -> Any:
    """The compiler's cache of a function, in our folder, valid as long as the digest; with machine code or without."""
    from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
    from numba.core.runtime import rtsys

    from transom._system.entry_points import rebuilt, reduced

    class Locator(_CacheLocator):
        _py_file = function.__code__.co_filename

        def get_cache_path(self) -> str:
            return str(cache_folder().path)

        def get_source_stamp(self) -> str:
            return digest

        def get_disambiguator(self) -> str:
            return digest

        @classmethod
        def from_function(cls, function: Any, path: str) -> Any:
            return cls()

    class Implementation(CompileResultCacheImpl):
        _locator_classes: ClassVar[list[type]] = [Locator]

        def reduce(self, result: Any) -> Any:
            return super().reduce(result) if coded else reduced(result)

        def rebuild(self, context: Any, kept: Any) -> Any:
            return super().rebuild(context, kept) if coded else rebuilt(context, kept)

    class OwnFiles(IndexDataCacheFile):
        # They are pickles, which run what they say.
        def _load_index(self) -> Any:
            remove_foreign(self._index_path)
            return super()._load_index()

        def _load_data(self, name: str) -> Any:
            remove_foreign(self._data_path(name))
            return super()._load_data(name)

        @contextmanager
        def _open_for_write(self, path: str) -> Iterator[IO[bytes]]:
            with super()._open_for_write(path) as file:
                os.fchmod(file.fileno(), 0o600)
                yield file

    class Kept(FunctionCache):
        _impl_class = Implementation

        def __init__(self, function: Callable[..., Any]) -> None:
            super().__init__(function)
            base = self._impl.filename_base
            self._cache_file = OwnFiles(self._cache_path, base, self._impl.locator.get_source_stamp())

        def _index_key(self, signature: Any, codegen: Any) -> Any:
            # The compiler takes records for equal whose fields have other names or another order.
            return (*super()._index_key(signature, codegen), _fields(signature))

        def load_overload(self, signature: Any, context: Any) -> Any:
            # The compiler's own reads what it knows of every type and function first, which only compiling needs.
            rtsys.initialize(context)
            try:
                with self._guard_against_spurious_io_errors():
                    return self._load_overload(signature, context)
            except (ImportError, AttributeError):  # kept by another version of Transom: it names what is not there
                self.flush()
                return None

        def save_overload(self, *given: Any) -> None:
            try:
                super().save_overload(*given)
            except OSError as error:  # the disk or a quota is full: the next process compiles it again
                _report_not_kept(f"{cache_folder().path}: {error.strerror}")

    kept = Kept(function)
    with suppress(OSError):  # there is none yet
        os.utime(kept._cache_file._index_path)
    return kept


def _fields(types: Any) -> tuple[Any, ...]:
    """The names of the fields of all records among types."""
    inner = getattr(types, "types", types) if isinstance(types, Iterable) else ()
    return (*getattr(types, "fields", ()), *(_fields(each) for each in inner))


def _report_not_kept(reason: str) -> None:
    for listener in notices.not_kept:
        listener(reason)


def _place(name: str) -> int:
    """The byte of the file of turns that stands for a kernel, or for a way into one."""
    return int.from_bytes(blake2b(name.encode(), digest_size=5).digest())


@cache
def _turns() -> int | None:
    """An open file: whoever compiles a kernel holds a lock on a byte of it. None where there is no such file."""
    path = cache_folder().path / "turns"
    try:
        remove_foreign(path)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None


def _await_turn(place: int) -> bool:
    """Wait until no other process compiles what has this place; False where that cannot be known or takes too long."""
    turns, end = _turns(), time.monotonic() + _PATIENCE
    while turns is not None:
        try:
            fcntl.lockf(turns, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            return True
        except BlockingIOError:  # another one holds it
            if time.monotonic() > end:
                break
            time.sleep(0.02)
        except OSError:  # a file system without locks
            break
    return False


def _in_turn(load: Callable[..., Any], place: int) -> Callable[..., Any]:
    """Load from a cache; what is not there yet, after the turn of the process that is about to put it there.

    Whoever gets None has the turn, and ends it.
    """

    def loaded(*given: Any) -> Any:
        found = load(*given)
        return load(*given) if found is None and _await_turn(place) else found

    return loaded


def _end_turn(place: int) -> None:
    turns = _turns()
    if turns is not None:
        with suppress(OSError):
            fcntl.lockf(turns, fcntl.LOCK_UN, 1, place)
