"""Functions of NumPy and Python that the compiler writes in place, not as further functions that it calls.

``np.empty``, ``np.zeros``, ``np.full``, ``np.arange`` of one number, ``max``, ``min`` and ``int`` stand in most
kernels. The compiler has Python functions for them, which it types, lowers and optimises in each process for all types
of arguments: a tenth of the time that our kernels take. They come to a few calls of the compiler's own tools, which
stand here. Keywords, and types that our kernels do not hand over, take the compiler's way.

An array that is put into a slice of another shape is an error, whose text names both shapes. To put such a text
together takes the compiler seconds, for an error that our kernels do not make: here the text is a constant.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np


@cache
def write_in_place() -> None:
    """Let the compiler write these functions in place in this process."""
    from numba.core import types
    from numba.core.imputils import builtin_registry
    from numba.core.registry import cpu_target
    from numba.core.types.misc import VarArg

    context = cpu_target.typing_context
    cpu_target.target_context.refresh()  # which imports what knows these functions
    context.refresh()
    for function, (find, write) in _ways().items():
        builtin_registry.lower(write, VarArg(types.Any))(write)
        known = context._lookup_global(function)
        context._remove_global(function)
        context.insert_global(function, types.Function((_template(function, find, write), *known.templates)))


def _template(function: Any, find: Callable[..., Any], write: Callable[..., Any]) -> Any:
    """What the compiler asks for the type of a call, and for what writes it."""
    from numba.core.typing.templates import AbstractTemplate, signature

    class InPlace(AbstractTemplate):
        key = function
        metadata: ClassVar = {"target": "CPU"}  # asked before what is for any

        def generic(self, args: Any, kwargs: Any) -> Any:
            kind = None if kwargs else find(self.context, *args)
            return None if kind is None else signature(kind, *args)

        def get_impl_key(self, _: Any) -> Any:
            return write

    return InPlace


# The types that calls return; None if a call is not for us.


def _plain(kind: Any) -> bool:
    from numba.core import types

    return isinstance(kind, types.Integer | types.Float | types.Boolean)


def _of(kind: Any, shape: Any) -> Any:
    from numba.core import types
    from numba.core.typing.npydecl import parse_shape

    dimensions = parse_shape(shape)
    return types.Array(kind, dimensions, "C") if dimensions and _plain(kind) else None


def _array(_: Any, shape: Any = None, dtype: Any = None, *more: Any) -> Any:
    from numba.core import types
    from numba.core.typing.npydecl import parse_dtype

    return None if more else _of(types.float64 if dtype is None else parse_dtype(dtype), shape)


def _full_array(_: Any, shape: Any = None, fill: Any = None, dtype: Any = None, *more: Any) -> Any:
    from numba.core.typing.npydecl import parse_dtype

    return None if more or not _plain(fill) else _of(fill if dtype is None else parse_dtype(dtype), shape)


def _counting(_: Any, *given: Any) -> Any:
    from numba.core import types

    return types.Array(types.intp, 1, "C") if given == (types.intp,) else None


def _unified(context: Any, *given: Any) -> Any:
    return context.unify_types(*given) if len(given) > 1 and all(map(_plain, given)) else None


def _whole(_: Any, *given: Any) -> Any:
    from numba.core import types

    if len(given) != 1 or not _plain(given[0]):
        return None
    return given[0] if isinstance(given[0], types.Integer) else types.intp


# What writes the calls.


def _empty(context: Any, builder: Any, call: Any, given: Any) -> Any:
    return _made(context, builder, call, given[0])._getvalue()


def _made(context: Any, builder: Any, call: Any, shape: Any) -> Any:
    from numba.np.arrayobj import _empty_nd_impl, _parse_shape

    return _empty_nd_impl(context, builder, call.return_type, _parse_shape(context, builder, call.args[0], shape))


def _zeros(context: Any, builder: Any, call: Any, given: Any) -> Any:
    from numba.core.cgutils import memset

    array = _made(context, builder, call, given[0])
    memset(builder, array.data, builder.mul(array.itemsize, array.nitems), 0)
    return array._getvalue()


def _full(context: Any, builder: Any, call: Any, given: Any) -> Any:
    fill = context.cast(builder, given[1], call.args[1], call.return_type.dtype)
    return _filled(context, builder, call, given[0], lambda _: fill)


def _arange(context: Any, builder: Any, call: Any, given: Any) -> Any:
    count, none = given[0], context.get_constant(call.args[0], 0)
    count = builder.select(builder.icmp_signed(">", count, none), count, none)
    return _filled(context, builder, call, count, lambda place: place)


def _filled(context: Any, builder: Any, call: Any, shape: Any, value: Callable[[Any], Any]) -> Any:
    """An array with a value at each place, as if it had one dimension."""
    from numba.core.cgutils import for_range

    array = _made(context, builder, call, shape)
    data = array.data
    with for_range(builder, array.nitems) as loop:
        context.pack_value(builder, call.return_type.dtype, value(loop.index), builder.gep(data, [loop.index]))
    return array._getvalue()


def _extreme(compare: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    def write(context: Any, builder: Any, call: Any, given: Any) -> Any:
        from numba.cpython.builtins import do_minmax

        return do_minmax(context, builder, call.args, given, compare)

    return write


def _int(context: Any, builder: Any, call: Any, given: Any) -> Any:
    return context.cast(builder, given[0], call.args[0], call.return_type)


def _refuse_shape(context: Any, builder: Any, call: Any, given: Any) -> Any:
    context.call_conv.return_user_exc(builder, ValueError, ("cannot assign slice from input of different size",))
    return context.get_dummy_value()


def _ways() -> dict[Any, tuple[Callable[..., Any], Callable[..., Any]]]:
    """Of each function: what finds the type that a call returns, and what writes the call."""
    from numba.core import types
    from numba.np.arrayobj import raise_with_shape_context

    return {
        np.empty: (_array, _empty),
        np.zeros: (_array, _zeros),
        np.full: (_full_array, _full),
        np.arange: (_counting, _arange),
        max: (_unified, _extreme(operator.gt)),
        min: (_unified, _extreme(operator.lt)),
        int: (_whole, _int),
        raise_with_shape_context: (lambda *_: types.none, _refuse_shape),
    }
