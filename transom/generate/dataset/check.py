"""Verification of a data set against its index."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from transom.errors import TransomError
from transom.generate.dataset.index import DatasetIndex, read_index
from transom.generate.dataset.plan import Source, Splitting
from transom.generate.dataset.shards import FileRecord, checksums, digest_of, read_instances_of


def check_dataset(folder: str | os.PathLike[str]) -> Iterator[str | None]:
    """Verify a data set, file by file, from the data alone.

    Every file is there and has its checksum, every instance can be read, no instance stands twice, those whose split
    follows from their digest are in it, the numbers are right, and there is no file that is not listed.

    Yields
    ------
    What is wrong, in words, and None for each file that has been looked at.

    Raises
    ------
    DocumentError : the index cannot be read.
    """
    root = Path(folder)
    index = read_index(root / "dataset.json")
    source = Source(plan=index.plan, folder=str(root), files=index.inputs)
    if source.digest() != index.digest:
        yield f"{root / 'dataset.json'}: the digest is not that of the plan"
    yield from _counts(index)
    listed = {file.path for file in index.files}
    for path in sorted(root.glob("*/*")):
        # Folders with a point before their name are records; these files are not part of the data.
        if not path.relative_to(root).parts[0].startswith(".") and str(path.relative_to(root)) not in listed:
            yield f"{path}: is not listed"
    seen: dict[bytes, str] = {}
    for file in index.files:
        yield from _wrong(root, file, source, seen)
        yield None


def _counts(index: DatasetIndex) -> Iterator[str]:
    for tally in index.sets:
        held: dict[str, int] = {}
        for file in index.files:
            if file.set == tally.name:
                held[file.split] = held.get(file.split, 0) + file.count
        if held != tally.splits:
            yield f"set {tally.name}: the numbers of instances are {tally.splits}, its files have {held}"


def _wrong(root: Path, file: FileRecord, source: Source, seen: dict[bytes, str]) -> Iterator[str]:
    path = root / file.path
    try:
        whole, content = checksums(path)
    except OSError as error:
        yield f"{path}: cannot be read: {error.strerror}"
        return
    if whole != file.sha256:
        yield f"{path}: SHA-256 is {whole}, expected {file.sha256}"
        if content == file.content:
            yield f"{path}: what it holds is right; it has been compressed again"
    of = next((each for each in source.plan.sets if each.called == file.set), None)
    splitting = None if of is None or of.epochs is not None else Splitting(source, of, False)
    count = 0
    try:
        for count, instance in enumerate(read_instances_of(path), 1):
            digest, where = digest_of(instance), f"{path}:{count}"
            if (before := seen.setdefault(bytes.fromhex(digest), where)) != where:
                yield f"{where}: is the same instance as {before}"
            if splitting is not None and splitting.by_digest and splitting.split(0, digest) != file.split:
                yield f"{where}: belongs to {splitting.split(0, digest)}, not to {file.split}"
    except TransomError as error:
        yield str(error)
        return
    if count != file.count:
        yield f"{path}: holds {count} instances, expected {file.count}"
