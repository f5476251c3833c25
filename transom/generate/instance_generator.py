"""Instance generators: documents from typed parameters and a seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

import msgspec

from transom.errors import SpecError
from transom.registry import unknown

_EMPTY = 100  # epochs in a row that give nothing, before it is said that none will


class InstanceGenerator(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Generates problem documents; its fields are its parameters.

    What it makes comes in *blocks*, numbered from 1, each from random streams of its own: a single document, or, of a
    recipe that is ``sequential``, an epoch, whose documents come out of one workload or one run of a cluster. So no
    block depends on how many are made, and blocks can be made anywhere in any order.
    """

    @property
    def sequential(self) -> bool:
        """Whether a block is an epoch of documents that have jobs in common, instead of one document."""
        return False

    @property
    def num_blocks(self) -> int | None:
        """How many different blocks there are; None is no limit."""
        return None

    def check(self) -> None:
        """Validate the parameters.

        Raises
        ------
        SpecError : a name is unknown, a number out of range, or parameters do not go together.
        """
        next(self.block(0, 1))

    def block(self, seed: int, number: int) -> Iterator[Any]:
        """The documents of a block.

        Parameters
        ----------
        seed : >= 0.
        number : of the block, from 1.
        """
        raise NotImplementedError

    def make(self, seed: int, count: int) -> Iterator[Any]:
        """The first ``count`` documents; fewer where there are no more blocks."""
        return self.make_from(seed, 0, count)

    def make_from(self, seed: int, first: int, count: int) -> Iterator[Any]:
        """Documents ``first``, ``first + 1`` ... of all that there are, from 0.

        A sequential recipe has to make those before ``first`` too, because no one knows how many an epoch gives.

        Raises
        ------
        SpecError : epoch after epoch gives nothing.
        """
        if self.sequential:
            return islice(self._in_sequence(seed), first, first + count)
        last = first + count if self.num_blocks is None else min(first + count, self.num_blocks)
        return (each for number in range(first + 1, last + 1) for each in self.block(seed, number))

    def _in_sequence(self, seed: int) -> Iterator[Any]:
        number, empty = 1, 0
        while self.num_blocks is None or number <= self.num_blocks:
            empty += 1
            for each in self.block(seed, number):
                empty = 0
                yield each
            if empty == _EMPTY:
                raise SpecError(f"recipe: {_EMPTY} epochs in a row gave nothing")
            number += 1


_R = TypeVar("_R", bound=InstanceGenerator)


def read_parameters(kind: type[_R], name: str, parameters: Mapping[str, Any]) -> _R:
    """A recipe of a kind out of plain parameters.

    Parameters
    ----------
    kind : which class of recipe.
    name : what it is called, for messages.
    parameters : as they stand in a plan.

    Raises
    ------
    SpecError : a parameter is unknown, or a value has a wrong type or is out of range; the message names the place.
    """
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    for key in parameters:
        if key not in known:
            raise unknown(f"parameter of recipe {name!r}:", key, known)
    try:
        return msgspec.convert(dict(parameters), kind)
    except msgspec.ValidationError as error:
        words, _, place = str(error).partition(" - at ")
        raise SpecError(
            f"recipe {name!r}: {place.strip('`').removeprefix('$.')}: {words[0].lower()}{words[1:]}"
        ) from None
