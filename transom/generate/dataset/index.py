"""The index of a data set: ``dataset.json``."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path

import msgspec

from transom.errors import DocumentError
from transom.generate.dataset.instance_statistics import Summary
from transom.generate.dataset.plan import FORMAT, DatasetPlan
from transom.generate.dataset.shards import FileRecord, ShardRecord


class Tally(msgspec.Struct, kw_only=True):
    """What there is of a set.

    Parameters
    ----------
    name, recipe, seed : of the set.
    splits : instances in each split.
    removed : instances that were left out because the same one stands before.
    statistics : of its instances, by name.
    """

    name: str
    recipe: str
    seed: int
    splits: dict[str, int] = {}
    removed: int = 0
    statistics: dict[str, Summary] = {}

    def add(self, record: ShardRecord) -> None:
        """Add a shard."""
        for file in record.files:
            self.splits[file.split] = self.splits.get(file.split, 0) + file.count
        self.removed += record.removed
        for name, summary in record.statistics.items():
            self.statistics.setdefault(name, Summary()).join(summary)


class DatasetIndex(msgspec.Struct, kw_only=True):
    """A data set.

    Parameters
    ----------
    plan : that it was made by.
    digest : of the plan and the files it names.
    inputs : digest of each of these files.
    code : digest of Transom's sources.
    versions : of Python and the libraries that draw the numbers.
    sets : what there is of each set.
    files : all files but this one and the card, in the order of the plan.
    """

    format: str = FORMAT
    plan: DatasetPlan
    digest: str
    inputs: dict[str, str]
    code: str
    versions: dict[str, str]
    sets: list[Tally]
    files: list[FileRecord] = []

    @property
    def count(self) -> int:
        """All instances."""
        return sum(file.count for file in self.files)

    @property
    def splits(self) -> list[str]:
        """The splits, in the order of the plan."""
        return list(dict.fromkeys(name for each in self.plan.sets for name in each.splits or self.plan.splits))


def versions() -> dict[str, str]:
    """Versions of Python, Transom and the libraries that draw the numbers."""
    from transom import __version__

    python = ".".join(map(str, sys.version_info[:3]))
    return {"python": python, "transom": __version__, **{name: version(name) for name in ("numpy", "numba", "scipy")}}


def read_index(path: str | os.PathLike[str]) -> DatasetIndex:
    """What ``dataset.json`` says.

    Raises
    ------
    DocumentError : the file cannot be read or is none.
    """
    try:
        index = msgspec.json.decode(Path(path).read_bytes(), type=DatasetIndex)
    except OSError as error:
        raise DocumentError(f"{os.fspath(path)}: cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DocumentError(f"{os.fspath(path)}: {str(error)[0].lower()}{str(error)[1:]}") from None
    if index.format != FORMAT:
        raise DocumentError(f"{os.fspath(path)}: format {index.format!r} is not known; known: {FORMAT}")
    return index
