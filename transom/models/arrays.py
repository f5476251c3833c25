"""Frozen arrays inside frozen data: copied once, read-only for good, comparable, hashable.

``dataclass(frozen=True)`` alone leaves array fields writable, makes ``==`` fail and loses the
read-only flag in pickling; :class:`Frozen` is the one cure for all models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from hashlib import blake2b
from operator import index
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transom._system.wording import html_table
from transom.errors import ModelError, shown

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
SingleArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
SmallArray = NDArray[np.int8]
BitArray = NDArray[np.uint64]
"""Words of 64 bits, each a decision."""

ArrayT = TypeVar("ArrayT", bound=NDArray[Any])
ItemT = TypeVar("ItemT")
ModelT = TypeVar("ModelT")

NONE: Any = ()
"""The default of a field of :class:`Several`."""


class Like(Generic[ArrayT]):
    """Type of a field that takes whatever numpy makes such an array of, and holds the array, copied and read-only."""

    if TYPE_CHECKING:  # what a descriptor takes is what a type checker lets the constructor take

        def __get__(self, model: object, owner: type | None = None) -> ArrayT: ...
        def __set__(self, model: object, values: ArrayLike) -> None: ...


class Several(Generic[ItemT]):
    """Type of a field that takes a tuple or a list, and holds a tuple."""

    if TYPE_CHECKING:

        def __get__(self, model: object, owner: type | None = None) -> tuple[ItemT, ...]: ...
        def __set__(self, model: object, values: tuple[ItemT, ...] | list[ItemT]) -> None: ...


def frozen_ints(values: ArrayLike, what: str, shape: tuple[int, ...] | None = None) -> IntArray:
    """Copy ``values`` into a read-only int64 array.

    Parameters
    ----------
    values : integers, or floats that are integral.
    what : the name used in error messages.
    shape : the required shape; -1 stands for any length.

    Raises
    ------
    ModelError : the values are not integers of 64 bits, or the shape differs.
    """
    try:
        given = np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise ModelError(f"{what}: not a rectangular array of numbers ({error})") from error
    if given.size == 0:
        given = given.astype(np.int64)
    if given.dtype.kind not in "iuf":
        raise ModelError(f"{what}: expected integers of 64 bits, got {shown(values)}")
    if given.dtype.kind == "f":
        bad = ~np.isfinite(given) | (given != np.floor(given)) | (np.abs(given) >= 2.0**63)
        if bad.any():
            raise ModelError(f"{what}: expected integers, got {given[bad].flat[0]}")
    if given.dtype.kind == "u" and given.size and int(given.max()) >= 2**63:
        raise ModelError(f"{what}: {int(given.max())} does not fit into 64 bits")
    if shape is not None and (
        len(shape) != given.ndim or any(want not in (-1, has) for want, has in zip(shape, given.shape, strict=True))
    ):
        raise ModelError(f"{what}: expected shape {shape}{' (-1 is any)' * (-1 in shape)}, got {given.shape}")
    array = np.array(given, dtype=np.int64, order="C")
    array.flags.writeable = False
    return array


def frozen_marks(given: ArrayLike | None, what: str, count: int) -> BoolArray:
    """A read-only copy of marks, booleans or 0 and 1, shape ``(count,)``; none is set by default.

    Raises
    ------
    ModelError : there are other numbers, or not as many.
    """
    try:
        marks = np.zeros(count, bool) if given is None else np.array(given)
    except ValueError:  # rows of different length
        marks = np.empty(0)
    if marks.shape != (count,) or (marks.size and marks.dtype != bool and not np.isin(marks, (0, 1)).all()):
        raise ModelError(f"{what} must be {count} marks, 0 or 1")
    marks = marks.astype(bool)
    marks.flags.writeable = False
    return marks


def frozen_floats(values: ArrayLike, what: str, shape: tuple[int, ...]) -> FloatArray:
    """Copy ``values`` into a read-only float64 array of ``shape``, in which -1 stands for any length.

    Raises
    ------
    ModelError : the values are not numbers, or the shape differs.
    """
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{what}: not a rectangular array of numbers ({error})") from error
    empty = [max(0, length) for length in shape]
    if array.size == 0 and 0 in empty:
        array = array.reshape(empty)
    if len(shape) != array.ndim or any(want not in (-1, has) for want, has in zip(shape, array.shape, strict=True)):
        raise ModelError(f"{what}: expected shape {shape}{' (-1 is any)' * (-1 in shape)}, got {array.shape}")
    array.flags.writeable = False
    return array


def whole(value: Any, what: str) -> int:
    """``value`` as an int of 64 bits.

    Raises
    ------
    ModelError : it is not a whole number or does not fit.
    """
    try:
        number = index(value)
    except TypeError:
        raise ModelError(f"{what}: expected a whole number, got {shown(value)}") from None
    if not -(2**63) <= number < 2**63:
        raise ModelError(f"{what}: {number} does not fit into 64 bits")
    return number


def as_array(values: ArrayLike) -> NDArray[Any]:
    """Values as an array; where they cannot be one, an empty one, whose shape is then what is wrong."""
    try:
        return np.asarray(values)
    except ValueError:  # rows of different length
        return np.empty((0, 0))


def expected(value: Any, kind: Any, what: str, words: str) -> None:
    """Refuse a value of another type.

    Parameters
    ----------
    kind : a type, or several.
    what : the name used in the message.
    words : the type in words, such as ``a FatTree``.

    Raises
    ------
    ModelError : it is of another type.
    """
    if not isinstance(value, kind):
        raise ModelError(f"{what}: expected {words}, got {shown(value)}")


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def model(cls: type[ModelT], /) -> type[ModelT]:
    """``dataclass(frozen=True, eq=False, slots=True)`` that takes what :class:`Like` and :class:`Several` say."""
    made = dataclass(frozen=True, eq=False, slots=True)(cls)
    annotations = made.__init__.__annotations__  # what help() and notebooks show
    annotations |= {name: "ArrayLike" for name, given in annotations.items() if str(given).startswith("Like[")}
    annotations |= {
        name: given.replace("Several", "Sequence") for name, given in annotations.items() if "Several[" in str(given)
    }
    return made


UNSET = MappingProxyType({"unset": None})
"""Metadata of a field that came later: while it is None, digests are as before."""


class Frozen:
    """Mixin for ``dataclass(frozen=True, eq=False)`` types with array fields."""

    __slots__: tuple[str, ...] = ()
    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuilding through the constructor validates and freezes the arrays again.
        values = (getattr(self, each.name) for each in fields(self))
        return type(self), tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(getattr(self, each.name), getattr(other, each.name)) for each in fields(self) if each.compare)

    def __hash__(self) -> int:
        return hash(self.digest())

    def digest(self) -> str:
        """32 hexadecimal digits that depend on the type and on every field that is compared, on nothing else."""
        state = blake2b(type(self).__name__.encode(), digest_size=16)
        for each in fields(self):
            if each.metadata == UNSET and getattr(self, each.name) is None:
                continue
            if each.compare:
                state.update(each.name.encode())
                _feed(state, getattr(self, each.name))
        return state.hexdigest()

    def _repr_html_(self) -> str:
        rows = [(each.name, _brief(getattr(self, each.name))) for each in fields(self)]
        return html_table(_brief(self), rows)


def _brief(value: Any) -> str:
    """A value in a cell of a table: of arrays the ends, of models what they are and how long."""
    if isinstance(value, Frozen):
        return type(value).__name__ + (f" of {len(value):,}" if hasattr(value, "__len__") else "")
    if isinstance(value, np.ndarray):
        ends = np.array2string(value, threshold=12, edgeitems=3, separator=", ")
        return ends if value.size <= 12 else f"{ends}  shape {value.shape}"
    text = str(value)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        # Not a number is equal to itself here: the same data are the same thing.
        return bool(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f" and np.asarray(b).dtype.kind == "f"))
    if isinstance(a, Mapping) and isinstance(b, Mapping):  # mappings of arrays do not compare with ==
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, (tuple, list)) and type(a) is type(b):  # nor do sequences of arrays
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b)


def _feed(state: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        state.update(f"{value.dtype.str}{value.shape}".encode())
        # The bytes as they lie there, which saves a copy.
        state.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8))
    elif isinstance(value, Frozen):
        state.update(value.digest().encode())
    elif isinstance(value, Mapping):
        for key in sorted(value):
            state.update(repr(key).encode())
            _feed(state, value[key])
    elif isinstance(value, (tuple, list)) and any(issubclass(t, (np.ndarray, Frozen)) for t in {*map(type, value)}):
        state.update(str(len(value)).encode())  # repr would leave out most of a long array
        for each in value:
            _feed(state, each)
    else:
        state.update(repr(value).encode())
