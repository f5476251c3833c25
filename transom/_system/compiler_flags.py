"""The compiler's options for one function, compared quickly.

The compiler looks up each operator and each library function under the options of the caller, and compares the options
value by value each time: a twentieth of what it takes to compile a function. Most of the time the two are copies.
"""

from __future__ import annotations

from functools import cache
from typing import Any


def quick(flags: Any) -> Any:
    """A copy of options of the compiler, equal to the same options as before."""
    return _quick_flags()(flags)


@cache
def _quick_flags() -> Any:
    from numba.core.compiler import Flags

    defaults = {name: option.default for name, option in Flags.options.items()}
    number = hash(Flags())  # that of all options: the compiler puts only their names into it

    class Quick(Flags):
        __slots__ = ()

        def __hash__(self) -> int:
            return number

        def __eq__(self, other: object) -> bool:
            if not isinstance(other, Flags):
                return NotImplemented
            ours, others = self._values, other._values
            if ours == others:
                return True
            return {**defaults, **ours} == {**defaults, **others}  # what is not set has its default

    Quick.__name__ = Flags.__name__  # part of the names of functions
    return Quick
