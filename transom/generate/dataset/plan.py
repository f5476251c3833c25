"""The plan of a data set: which recipes, how many of each, and how they are split; plain data out of TOML."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from transom._system.settings import Natural, Positive, Share
from transom.errors import DocumentError, SpecError
from transom.generate.instance_generator import InstanceGenerator
from transom.generate.recipes import file_of, recipe, rooted
from transom.io.toml_files import parse_toml, read_text
from transom.rng import stream

FORMAT = "transom/dataset/1"

Splits = dict[str, Natural | Share]

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class DatasetSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Instances of one recipe.

    Parameters
    ----------
    recipe : its name (:mod:`transom.generate.recipes`).
    name : of the files; the recipe's by default.
    parameters : of the recipe; files in them (``like``) start at the folder of the plan.
    count : how many instances.
    epochs : instead, of a recipe whose instances come in epochs: how many of these.
    seed : of the recipe; by default it follows from the plan's seed and the name of the set.
    splits : instead of the plan's.
    shard : instead of the plan's; by default 1 where instances come in epochs, and for workloads.
    """

    recipe: str
    name: str = ""
    parameters: dict[str, Any] = {}
    count: Positive | None = None
    epochs: Positive | None = None
    seed: Natural | None = None
    splits: Splits = {}
    shard: Positive | None = None

    @property
    def called(self) -> str:
        """The name of the set."""
        return self.name or self.recipe


class DatasetPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a data set holds.

    Parameters
    ----------
    name, description, licence : for people; the licence as an SPDX identifier.
    seed : of everything that has none of its own.
    sets : the instances.
    splits : shares, which add up to 1, or whole numbers of instances (or epochs), of every set.
    shard : instances (or epochs) that are made together.
    """

    format: str
    name: str
    licence: str
    description: str = ""
    seed: Natural = 0
    sets: Annotated[tuple[DatasetSet, ...], msgspec.Meta(min_length=1)]
    splits: Splits = msgspec.field(default_factory=lambda: {"train": 0.8, "validation": 0.1, "test": 0.1})
    shard: Positive = 1000


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A plan with where its files are and what they held: all that makes the data set, as plain data.

    Parameters
    ----------
    plan : the plan, as it is written.
    folder : where relative paths in it start.
    files : digest (SHA-256) of every file that it names.
    """

    plan: DatasetPlan
    folder: str
    files: dict[str, str] = {}

    def digest(self) -> str:
        """A digest of the plan and of what its files hold, wherever they are."""
        return blake2b(msgspec.json.encode((self.plan, self.files), order="sorted"), digest_size=16).hexdigest()

    def made_by(self, of: DatasetSet) -> InstanceGenerator:
        """The recipe of a set.

        Raises
        ------
        SpecError : it or a parameter is unknown or out of range.
        """
        return recipe(of.recipe, rooted(of.parameters, Path(self.folder)))

    def seed_of(self, of: DatasetSet) -> int:
        """The seed of a set."""
        if of.seed is not None:
            return of.seed
        return int(stream(self.plan.seed, "dataset", of.called).integers(2**53))

    def shards(self) -> list[Shard]:
        """Everything that is made apart, in the order of the sets."""
        return list(_shards(self))


class Shard(msgspec.Struct, frozen=True):
    """A part of a set that is made apart.

    Parameters
    ----------
    of : position of the set in the plan.
    number : of the shard within the set, from 0.
    blocks : numbers of the first block and of the one behind the last.
    """

    of: int
    number: int
    blocks: tuple[int, int]


def blocks_of(of: DatasetSet) -> int:
    """How many blocks of its recipe a set holds."""
    return of.count or of.epochs or 0


def shard_size(plan: DatasetPlan, of: DatasetSet) -> int:
    """How many blocks of a set are made together."""
    alone = of.epochs is not None or of.recipe == "workload"
    return of.shard or (1 if alone else plan.shard)


def quotas(splits: Splits, blocks: int) -> dict[str, int]:
    """How many blocks go to each split: the counts that are stated, or shares rounded by largest remainders."""
    if _counts(splits):
        return {name: int(number) for name, number in splits.items()}
    exact = {name: share * blocks for name, share in splits.items()}
    whole = {name: int(number + 1e-9) for name, number in exact.items()}
    by_rest = sorted(exact, key=lambda name: whole[name] - exact[name])
    for name in by_rest[: blocks - sum(whole.values())]:
        whole[name] += 1
    return whole


class Splitting:
    """Which split an instance of a set belongs to.

    Of independent instances under shares, its digest decides, so that it is in the same split in whatever set or
    number it comes; what is added to a set later moves nothing. Where counts are stated, or instances come in epochs,
    which stay together because their instances have jobs in common, a random order of the blocks decides.

    Parameters
    ----------
    source : the plan.
    of : the set.
    sequential : whether its blocks are epochs.
    """

    def __init__(self, source: Source, of: DatasetSet, sequential: bool) -> None:
        self._splits = of.splits or source.plan.splits
        self._seed = source.plan.seed
        self.by_digest = not sequential and not _counts(self._splits)
        if not self.by_digest:
            blocks = blocks_of(of)
            held = quotas(self._splits, blocks)
            of_rank = np.repeat(np.arange(len(held)), list(held.values()))
            self._of_unit = np.empty(blocks, np.int64)
            self._of_unit[stream(source.seed_of(of), "splits").permutation(blocks)] = of_rank
            self._names: list[str] = list(held)

    def split(self, block: int, digest: str) -> str:
        """The split of an instance, by its block from 1 and its digest."""
        if not self.by_digest:
            return self._names[int(self._of_unit[block - 1])]
        drawn = blake2b(f"{self._seed}/{digest}".encode(), digest_size=8).digest()
        at, below = int.from_bytes(drawn, "big") / 2.0**64, 0.0
        for name, share in self._splits.items():
            below += share
            if at < below:
                return name
        return next(name for name in reversed(self._splits) if self._splits[name])  # rounding of the sum


def read_dataset_plan(path: str | os.PathLike[str]) -> Source:
    """A plan out of a TOML file, checked.

    Raises
    ------
    DocumentError : the file cannot be read, is not TOML, or breaks a condition; the message names file and place.
    SpecError : a recipe or one of its parameters is unknown or does not fit; likewise.
    """
    where = os.fspath(path)
    try:
        plan = msgspec.convert(parse_toml(read_text(path), where), DatasetPlan)
    except msgspec.ValidationError as error:
        words, _, place = str(error).partition(" - at ")
        at = place.strip("`").removeprefix("$").removeprefix(".")
        raise DocumentError(f"{where}: {at and at + ': '}{words[0].lower()}{words[1:]}") from None
    if plan.format != FORMAT:
        raise DocumentError(f"{where}: format {plan.format!r} is not known; known: {FORMAT}")
    folder = Path(path).parent.absolute()
    named = {each for one in plan.sets for each in _files(one.parameters)}
    source = Source(plan=plan, folder=str(folder), files={each: _sha256(where, folder, each) for each in sorted(named)})
    _check(source, where)
    return source


def _check(source: Source, where: str) -> None:
    plan = source.plan
    names = [each.called for each in plan.sets]
    for i, each in enumerate(plan.sets):
        at = f"{where}: sets[{i}]"
        if not _NAME.fullmatch(each.called):
            raise DocumentError(f"{at}: name: expected small letters, digits, - and _, got {each.called!r}")
        if names.index(each.called) != i:
            raise DocumentError(f"{at}: two sets are called {each.called!r}; give one a name")
        try:
            made = source.made_by(each)
        except SpecError as error:
            raise SpecError(f"{at}: {error}") from None
        wanted, other = ("epochs", "count") if made.sequential else ("count", "epochs")
        if getattr(each, wanted) is None or getattr(each, other) is not None:
            comes = "come in epochs" if made.sequential else "are independent"
            raise DocumentError(f"{at}: its instances {comes}: state {wanted}, not {other}")
        if made.num_blocks is not None and blocks_of(each) > made.num_blocks:
            raise DocumentError(f"{at}: {wanted} is {blocks_of(each)}, but such a trace gives {made.num_blocks}")
        _check_splits(
            each.splits or plan.splits, blocks_of(each), f"{at}: splits" if each.splits else f"{where}: splits"
        )


def _check_splits(splits: Splits, blocks: int, where: str) -> None:
    for name in splits:
        if not _NAME.fullmatch(name):
            raise DocumentError(f"{where}: expected small letters, digits, - and _, got {name!r}")
    if _counts(splits):
        if sum(splits.values()) != blocks:
            raise DocumentError(f"{where}: the counts add up to {sum(splits.values())}, the set has {blocks}")
    elif not all(isinstance(value, float) for value in splits.values()) or abs(sum(splits.values()) - 1) > 1e-9:
        raise DocumentError(f"{where}: expected shares such as 0.8 that add up to 1, or whole numbers")


def _counts(splits: Splits) -> bool:
    return all(isinstance(value, int) for value in splits.values())


def _shards(source: Source) -> Iterator[Shard]:
    for at, each in enumerate(source.plan.sets):
        size, blocks = shard_size(source.plan, each), blocks_of(each)
        for number, first in enumerate(range(1, blocks + 1, size)):
            yield Shard(at, number, (first, min(first + size, blocks + 1)))


def _files(parameters: dict[str, Any]) -> Iterator[str]:
    for key, value in parameters.items():
        if isinstance(value, dict):
            yield from _files(value)
        elif (file := file_of(key, value)) is not None:
            yield file


def _sha256(where: str, folder: Path, name: str) -> str:
    path = folder / Path(name).expanduser()
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DocumentError(f"{where}: {path}: cannot be read: {error.strerror}") from None
