"""How problems and their solutions become documents and back, by the type of the problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, TypeVar, get_type_hints

import msgspec
import numpy as np

from transom.errors import DocumentError
from transom.models.problem import ProblemType
from transom.problems import kinds, known_type

FormT = TypeVar("FormT", bound=msgspec.Struct)


class Codec(NamedTuple):
    """The document of some models.

    ``form`` is its struct, tagged ``transom/NAME/1``, from which its JSON Schema is made; ``encode`` makes one of a
    model, and ``decode`` the model of one.
    """

    form: type[msgspec.Struct]
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


class SolutionCodec(NamedTuple):
    """How a solution stands in the document of a result.

    ``encode`` makes a tuple of whole numbers or pairs of them, or a front's struct (``front``); ``items`` says how long
    what the solution chooses from is; ``decode(stated, items)`` is the way back.
    """

    encode: Callable[[Any], Any]
    items: Callable[[Any], int]
    decode: Callable[[Any, int], Any]
    front: bool = False


def document(form: type[FormT], model: Any, **given: Any) -> FormT:
    """The document of a model, field by field: arrays as tuples, what is ``given`` as it is."""
    names = (name for name in form.__struct_fields__ if name not in given)
    return form(**{name: _plain(getattr(model, name)) for name in names}, **given)


def stated(document: msgspec.Struct, **given: Any) -> dict[str, Any]:
    """What a document states, as the arguments of its model; what is ``given`` comes instead."""
    return {name: getattr(document, name) for name in document.__struct_fields__} | given


def codec_of(kind: ProblemType) -> Codec:
    """The codec of a type of problem; unless it brings one, its documents have the fields of its class.

    Raises
    ------
    DocumentError : it has none, and its class is no dataclass of plain types.
    """
    codec = kind.part("codec") or _fields(kind)
    assert isinstance(codec, Codec)
    return codec


def solution_codec(kind: str) -> SolutionCodec:
    """The codec of the solutions of a kind of problem.

    Raises
    ------
    DocumentError : the kind is unknown.
    """
    if (known := known_type(kind)) is None:
        raise DocumentError(f"problem {kind!r} is not known; known: {', '.join(kinds())}")
    return solution_codec_of(known)


def solution_codec_of(kind: ProblemType | None) -> SolutionCodec:
    """The codec of the solutions of a type of problem; of one that is not registered they are whole numbers."""
    codec = (None if kind is None else kind.part("solution")) or _NUMBERS
    assert isinstance(codec, SolutionCodec)
    return codec


def _fields(kind: ProblemType) -> Codec:
    model = kind.model
    if not is_dataclass(model):
        raise DocumentError(f"{kind.name} has no document: its type states no codec, and its class is no dataclass")
    hints = get_type_hints(model)
    form = msgspec.defstruct(
        f"{model.__name__}Document",
        [(field.name, hints[field.name]) for field in fields(model)],
        frozen=True,
        forbid_unknown_fields=True,
        tag_field="format",
        tag=f"transom/{kind.document}/1",
    )
    form.__doc__ = (model.__doc__ or "").partition("\n")[0]
    try:
        msgspec.json.schema_components([form])
    except TypeError as error:
        reason = str(error).splitlines()[0]
        raise DocumentError(f"{kind.name} has no document: its type states no codec, and {reason}") from None
    return Codec(form, lambda problem: document(form, problem), lambda read: model(**stated(read)))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return tuple(value.tolist()) if value.ndim < 2 else tuple(map(tuple, value.tolist()))
    return value.item() if isinstance(value, np.generic) else value


def _encode_numbers(solution: Any) -> tuple[Any, ...]:
    try:
        return tuple(tuple(map(int, each)) if hasattr(each, "__len__") else int(each) for each in solution)
    except (TypeError, ValueError):
        raise DocumentError(
            "a solution has no document: its type states no codec of solutions, and it is no list of whole numbers"
        ) from None


def _decode_numbers(stated: tuple[Any, ...], items: int) -> tuple[Any, ...]:
    if len(stated) != items:
        raise DocumentError(f"solution: {len(stated)} entries, but items = {items}")
    return stated


_NUMBERS = SolutionCodec(_encode_numbers, len, _decode_numbers)
