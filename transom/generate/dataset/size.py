"""The size of a data set, estimated before generation."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from transom.errors import SpecError
from transom.generate.dataset.plan import Shard, Source, blocks_of, shard_size
from transom.generate.dataset.shards import digest_of, write_instances
from transom.generate.memory import printed_size

_DIGEST = 150  # bytes that are kept of each instance, to find the same one twice
_MANY = 100_000  # blocks of a set from which on its size is worth a look
_SAMPLE = 20  # blocks that are made for it


class DatasetSize(NamedTuple):
    """The estimated size of a data set.

    Parameters
    ----------
    blocks : instances, of sets whose instances come in epochs the epochs.
    shards : parts that are made apart.
    disk : bytes of its files, about; None where it has so few blocks that nobody needs to know.
    memory : bytes that the process needs which hands out the work, at least.
    """

    blocks: int
    shards: int
    disk: float | None
    memory: int

    def __str__(self) -> str:
        disk = "" if self.disk is None else f", about {printed_size(self.disk)} on disk"
        return f"{self.blocks:,} instances or epochs in {self.shards:,} shards{disk}"


def dataset_size(source: Source) -> DatasetSize:
    """The size of a data set; of sets with very many instances the first ones are made for it.

    Raises
    ------
    SpecError : a recipe refuses its parameters.
    """
    sets = source.plan.sets
    blocks = [blocks_of(each) for each in sets]
    shards = [-(-number // shard_size(source.plan, each)) for each, number in zip(sets, blocks, strict=True)]
    many = [at for at, number in enumerate(blocks) if number > _MANY]
    disk = sum(_bytes_each(source, at) * blocks[at] for at in many) if many else None
    return DatasetSize(sum(blocks), sum(shards), disk, _DIGEST * sum(blocks))


def check_size(size: DatasetSize, folder: str | os.PathLike[str]) -> None:
    """Refuse a data set that cannot be made here.

    Raises
    ------
    SpecError : it takes more than the memory, or more than the disk holds.
    """
    memory = psutil.virtual_memory().total
    if size.memory > memory:
        raise SpecError(
            f"{folder}: {size}: to find repeated ones, {printed_size(size.memory)} of memory are needed, "
            f"this machine has {printed_size(memory)}"
        )
    if size.disk is None:
        return
    place = Path(folder).absolute()
    there = sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) if place.exists() else 0
    free = shutil.disk_usage(next(each for each in (place, *place.parents) if each.exists())).free
    if size.disk > free + there:
        raise SpecError(f"{folder}: {size}: {printed_size(free)} are free")


def _bytes_each(source: Source, at: int) -> float:
    of = source.plan.sets[at]
    made = source.made_by(of)
    sample = 1 if made.sequential else min(_SAMPLE, blocks_of(of))

    def instances() -> Iterator[tuple[str, str, Any]]:
        for block in range(1, sample + 1):
            for instance in made.block(source.seed_of(of), block):
                yield "sample", digest_of(instance), instance

    with tempfile.TemporaryDirectory() as folder:
        record = write_instances(source, of, Shard(at, 0, (1, sample + 1)), instances(), folder)
        return sum(os.path.getsize(os.path.join(folder, file.path)) for file in record.files) / sample
