"""Data sets: all shards of a plan, without duplicate instances, and a card."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from transom._system.files import atomic_write
from transom._system.source_digest import source_digest
from transom._system.trusted import HeldError, distrusted, lock, make_folder
from transom.errors import DocumentError
from transom.generate.dataset.card import card
from transom.generate.dataset.index import DatasetIndex, Tally, read_index, versions
from transom.generate.dataset.plan import Shard, Source
from transom.generate.dataset.shards import (
    RECORDS,
    ShardRecord,
    digest_of,
    finished,
    forget,
    make_shard,
    read_instances_of,
    read_record,
    write_instances,
    write_record,
)
from transom.generate.dataset.size import check_size, dataset_size

Apply = Callable[[Callable[[int], bytes], Iterable[int]], Iterator[bytes]]
"""Applies a function to items, somewhere, and gives the answers as they come, in whatever order."""

INDEX, CARD = "dataset.json", "README.md"

_OURS = re.compile(r"[a-z0-9][a-z0-9_-]*/[a-z0-9_-]+\.(jsonl|swf)\.gz")


def make_dataset(
    source: Source,
    folder: str | os.PathLike[str],
    mapping: Apply = map,
    force: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
    announce: Callable[[str], None] = lambda text: None,
) -> DatasetIndex:
    """Generate a data set, or its missing shards.

    Shards that the same plan and code have made before stay. The files are the same however many shards are made at a
    time and however often it is broken off; the process that calls this keeps about 150 bytes an instance, to find
    the same one twice.

    Parameters
    ----------
    source : the plan.
    folder : where to; made if need be.
    mapping : makes the shards: here one after another, or elsewhere.
    force : make everything again, also where the folder holds the data set of another plan.
    progress : called with how many shards are done, of how many.
    announce : called first with how large it will be.

    Returns
    -------
    What is there now, as it also stands in ``dataset.json``.

    Raises
    ------
    DocumentError : the folder holds the data set of another plan, or something else is at work in it.
    TransomError : a recipe refuses its parameters, or the data set is larger than memory or disk.
    OSError : something cannot be written; what is finished stays.
    """
    size = dataset_size(source)
    check_size(size, folder)
    announce(str(size))
    root = os.path.abspath(folder)
    shards = source.shards()
    with _alone(Path(root)):
        _begin(source, root, force)
        todo = [at for at in range(len(shards)) if not _is_finished(source, root, at)]
        made = len(shards) - len(todo)
        progress(made, len(shards))
        if todo:
            for name in (INDEX, CARD):  # they are about what is no longer there
                Path(root, name).unlink(missing_ok=True)
        for _ in mapping(partial(make_shard, msgspec.json.encode(source), folder=root), todo):
            made += 1
            progress(made, len(shards))
        _remove_repeated(source, shards, root)
        index = _index(source, shards, root)
        with atomic_write(Path(root, CARD)) as file:
            file.write(card(index))
        with atomic_write(Path(root, INDEX), "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(index)) + b"\n")
    return index


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Hold the folder; two runs would remove each other's files."""
    for part in (root / RECORDS, *(root / RECORDS).glob("*.json")):
        if (reason := distrusted(part)) is not None:
            raise DocumentError(f"{root}: no data set is made here, because {reason}; take another folder")
    make_folder(root / RECORDS)
    try:
        held = lock(root / RECORDS / "lock", f"process {os.getpid()}")
    except HeldError:
        raise DocumentError(f"{root}: another process is making a data set here") from None
    try:
        yield
    finally:
        os.close(held)


def _begin(source: Source, root: str, force: bool) -> None:
    plan, index = Path(root, RECORDS, "plan.json"), Path(root, INDEX)
    known = _known_plan(plan)
    if known is None and index.exists():  # published without its records
        old = read_index(index)
        known = old.digest
    else:
        old = None
    if known is not None and known != source.digest() and not force:
        raise DocumentError(f"{root}: holds the data set of another plan; --force makes it anew")
    if force or known != source.digest():
        for path in sorted(Path(root, RECORDS).glob("[0-9]*.json")):
            record = read_record(root, int(path.stem))
            if record is None:
                path.unlink()
            else:
                forget(root, int(path.stem), record)
        for file in old.files if old else ():
            if _OURS.fullmatch(file.path):
                Path(root, file.path).unlink(missing_ok=True)
    for part in (*Path(root).glob(".*.part"), *Path(root).glob("*/.*.part")):
        part.unlink(missing_ok=True)  # left by a run that was killed
    with atomic_write(plan, "wb") as written:
        written.write(msgspec.json.encode({"source": source.digest()}))


def _known_plan(path: Path) -> str | None:
    try:
        found: dict[str, str] = msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return None
    return found.get("source")


def _is_finished(source: Source, root: str, shard: int) -> bool:
    record = read_record(root, shard)
    return record is not None and finished(record, source, root)


def _remove_repeated(source: Source, shards: list[Shard], root: str) -> None:
    """Leave the first of every instance that stands in several shards, in the order of the plan."""
    seen: set[bytes] = set()
    for at, part in enumerate(shards):
        record = _record(root, at)
        held = [bytes.fromhex(each) for of_file in record.digests for each in of_file]
        if seen.isdisjoint(held):
            seen.update(held)
            continue
        of = source.plan.sets[part.of]
        kept = (
            (file.split, digest, instance)
            for file in record.files
            for instance in read_instances_of(Path(root, file.path))
            if bytes.fromhex(digest := digest_of(instance)) not in seen
        )
        again = write_instances(source, of, part, kept, root)
        left = {file.path for file in again.files}
        for file in record.files:
            if file.path not in left:
                Path(root, file.path).unlink()
        now = [bytes.fromhex(each) for of_file in again.digests for each in of_file]
        again.removed = record.removed + len(held) - len(now)
        write_record(root, at, again)
        seen.update(now)


def _index(source: Source, shards: list[Shard], root: str) -> DatasetIndex:
    plan = source.plan
    tallies = [Tally(name=each.called, recipe=each.recipe, seed=source.seed_of(each)) for each in plan.sets]
    index = DatasetIndex(
        plan=plan,
        digest=source.digest(),
        inputs=source.files,
        code=source_digest(),
        versions=versions(),
        sets=tallies,
    )
    for at, part in enumerate(shards):
        tallies[part.of].add(record := _record(root, at))
        index.files.extend(record.files)
    return index


def _record(root: str, shard: int) -> ShardRecord:
    record = read_record(root, shard)
    if record is None:
        raise DocumentError(f"{root}: shard {shard} is not there")
    return record
