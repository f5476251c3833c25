"""Compiled functions: by Numba, when they are first called, or ahead of time.

What is compiled is kept on disk for later processes: :mod:`transom._system.kernel_cache`. What was built ahead of time
runs without Numba: :mod:`transom._system.prebuilt`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, update_wrapper
from itertools import chain
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar

from transom._system.argument_types import described
from transom._system.kernel_digest import kernel_digest
from transom._system.prebuilt import prebuilt
from transom._system.signals import uninterrupted
from transom._system.source_digest import source_digest

Given = ParamSpec("Given")
Returned = TypeVar("Returned")

_NUMBERS = {"None", "bool", "int", "float"}
"""Annotations of results that compiled code makes without calling Python."""

_made: list[compiled[Any, Any]] = []
_watched: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None


class compiled(Generic[Given, Returned]):
    """Compile a function on its first call and cache the result on disk.

    The compiler itself is imported then too: whoever only looks at a model does not wait for it.
    """

    options: ClassVar[dict[str, Any]] = {}
    """For the compiler."""

    def __init__(self, function: Callable[Given, Returned]) -> None:
        self._function = function
        self._dispatcher: Any = None
        self._called: Any = None
        self._run: Callable[Given, Returned] | None = None
        types = {name: str(each) for name, each in function.__annotations__.items()}
        self._python_inside = types.get("return") not in _NUMBERS or any("Generator" in each for each in types.values())
        update_wrapper(self, function)
        _made.append(self)

    def __call__(self, *args: Given.args, **kwargs: Given.kwargs) -> Returned:
        run = self._run or self._choose()
        if self._python_inside:
            # Compiled code calls Python to take a generator apart and to make arrays, and an exception out of that, as
            # Ctrl-C is one, may end the process.
            with uninterrupted():
                return run(*args, **kwargs)
        return run(*args, **kwargs)

    @property
    def _numba_type_(self) -> Any:
        # What the compiler asks a global for that one of its functions calls.
        if self._called is None:
            self._called = self._kept(inner=True)
        return self._called._numba_type_

    @property
    def signatures(self) -> list[Any]:
        """The types of arguments that it is compiled for, for Python or for compiled code."""
        made = [each.signatures for each in (self._dispatcher, self._called) if each is not None]
        return list(dict.fromkeys(chain.from_iterable(made)))

    def __getattr__(self, name: str) -> Any:
        # What tests ask a compiled function: the plain function.
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
        if _watched is not None:
            return self._function
        if self._dispatcher is None:
            with uninterrupted():
                from numba import config
            if config.DISABLE_JIT:  # plain Python, slowly: for debuggers and coverage
                self._dispatcher = self._function
            else:
                self._dispatcher = self._kept(inner=False)
        return self._dispatcher

    def _kept(self, inner: bool) -> Any:
        from transom._system.kernel_cache import kept_dispatcher

        return kept_dispatcher(self._function, self.options, kernel_digest(self, source_digest), inner)


class no_refcount(compiled[Given, Returned]):
    """Compile without reference counting: for functions that neither make nor return arrays.

    Counting them on every call within a loop costs more than the work of small functions. Making an array in such a
    function is an error when it is compiled.
    """

    options: ClassVar[dict[str, Any]] = {"_nrt": False}


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
    function = kernel if isinstance(kernel, compiled) else no_refcount(kernel)
    dispatcher = function._compiler()
    if dispatcher is function._function:  # plain Python
        return dispatcher
    arguments, _ = normalize_signature(signature)
    dispatcher.compile(arguments)
    return types.CompileResultWAP(dispatcher.overloads[arguments])


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
