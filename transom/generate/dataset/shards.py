"""Shards of a data set: generated independently, anywhere and in any order, each with a record of its contents.

A shard's instances go to one file for each split. The record is written last, so that a shard is finished if its
record is there and its files are as the record says.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import msgspec

from transom._system.files import atomic_write
from transom._system.source_digest import source_digest
from transom.errors import SpecError
from transom.generate.dataset.instance_statistics import Summary, statistics
from transom.generate.dataset.plan import DatasetSet, Shard, Source, Splitting
from transom.io import encode, read_documents
from transom.traces import ReadingRules, Workload, read_swf, write_swf

RECORDS = ".shards"
"""The folder of the records, in that of the data set."""


class FileRecord(msgspec.Struct, kw_only=True):
    """A file of a data set.

    Parameters
    ----------
    path : relative to the data set.
    set, split : what it belongs to.
    count : instances in it.
    sha256 : digest of the file.
    content : digest of what it holds; compressed bytes may differ between versions of zlib, this does not.
    """

    path: str
    set: str
    split: str
    count: int
    sha256: str
    content: str


class ShardRecord(msgspec.Struct, kw_only=True):
    """What has been made of a shard.

    Parameters
    ----------
    source, code : digests of the plan and of the code that made it.
    files : its files.
    digests : of the instances of each file, in their order.
    removed : instances that were left out because the same one stands before.
    statistics : of its instances, by name.
    """

    source: str
    code: str
    files: list[FileRecord] = []
    digests: list[list[str]] = []
    removed: int = 0
    statistics: dict[str, Summary] = {}


def make_shard(source: bytes, shard: int, folder: str) -> bytes:
    """Make a shard, unless it is finished.

    Parameters
    ----------
    source : JSON of a :class:`~transom.generate.dataset.plan.Source`.
    shard : its position in :meth:`Source.shards`.
    folder : of the data set; every process that makes shards sees it under this name.

    Returns
    -------
    JSON of the :class:`ShardRecord`, which also stands in the folder.

    Raises
    ------
    TransomError : the recipe refuses its parameters.
    OSError : a file cannot be written.
    """
    stated = msgspec.json.decode(source, type=Source)
    known = read_record(folder, shard)
    if known is not None and finished(known, stated, folder):
        return msgspec.json.encode(known)
    if known is not None:
        forget(folder, shard, known)
    part = stated.shards()[shard]
    of = stated.plan.sets[part.of]
    made = stated.made_by(of)
    splitting = Splitting(stated, of, made.sequential)

    def instances() -> Iterator[tuple[str, str, Any]]:
        for number in range(*part.blocks):
            for instance in made.block(stated.seed_of(of), number):
                digest = digest_of(instance)
                yield splitting.split(number, digest), digest, instance

    try:
        record = write_instances(stated, of, part, instances(), folder)
    except SpecError as error:
        raise SpecError(f"set {of.called!r}: {error}") from None
    write_record(folder, shard, record)
    return msgspec.json.encode(record)


def write_instances(
    source: Source, of: DatasetSet, part: Shard, instances: Iterable[tuple[str, str, Any]], folder: str
) -> ShardRecord:
    """Write the files of a shard.

    Parameters
    ----------
    instances : split, digest and instance; one whose digest came before is left out.
    """
    record = ShardRecord(source=source.digest(), code=source_digest())
    name, traces, root = f"{of.called}-{part.number:05d}", of.recipe == "workload", Path(folder)
    note = f"Made by: transom generate dataset, plan {source.plan.name}, set {of.called}, seed {source.seed_of(of)}"
    written: dict[tuple[str, str], list[str]] = {}  # by path and split: the digests
    lines: dict[str, IO[bytes]] = {}
    seen: set[str] = set()
    with ExitStack() as files:
        for split, digest, instance in instances:
            if digest in seen:
                record.removed += 1
                continue
            seen.add(digest)
            if traces:  # each in a file of its own
                path = f"{split}/{name}-{len(written) + 1}.swf.gz"
                write_swf(instance, root / path, ("Generated, not logged", note))
            else:
                path = f"{split}/{name}.jsonl.gz"
                if path not in lines:
                    lines[path] = files.enter_context(atomic_write(root / path, "wb"))
                lines[path].write(encode(instance) + b"\n")
            written.setdefault((path, split), []).append(digest)
            for key, value in statistics(instance).items():
                record.statistics.setdefault(key, Summary()).add(value)
    for (path, split), digests in written.items() if traces else sorted(written.items()):
        whole, content = checksums(root / path)
        record.files.append(
            FileRecord(path=path, set=of.called, split=split, count=len(digests), sha256=whole, content=content)
        )
        record.digests.append(digests)
    return record


def read_instances_of(path: Path) -> Iterator[Any]:
    """The instances of a file of a data set.

    Raises
    ------
    DocumentError, TraceError : the file is damaged; the message names the place.
    """
    if path.name.endswith(".swf.gz"):
        yield read_swf(path, ReadingRules(nonpositive="error", oversized="error"))
    else:
        for _, document in read_documents(path):
            yield document


def digest_of(instance: Any) -> str:
    """The digest of an instance; of a workload without its name, which is that of the file."""
    if isinstance(instance, Workload):
        instance = replace(instance, name="", repairs={})
    digest: str = instance.digest()
    return digest


def finished(record: ShardRecord, source: Source, folder: str) -> bool:
    """Whether a shard has been made of this plan by this code, and its files are as they were."""
    if (record.source, record.code) != (source.digest(), source_digest()):
        return False
    try:
        return all(checksums(Path(folder, file.path))[0] == file.sha256 for file in record.files)
    except OSError:
        return False


def checksums(path: Path) -> tuple[str, str]:
    """SHA-256 of a compressed file and of what it holds.

    Raises
    ------
    OSError : the file cannot be read.
    DocumentError : it is not a whole compressed file.
    """
    import gzip
    import zlib

    whole, content = sha256(), sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            whole.update(block)
    try:
        with gzip.open(path) as packed:
            while block := packed.read(1 << 20):
                content.update(block)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return whole.hexdigest(), ""
    return whole.hexdigest(), content.hexdigest()


def record_path(folder: str | os.PathLike[str], shard: int) -> Path:
    """Where the record of a shard stands."""
    return Path(folder, RECORDS, f"{shard:06d}.json")


def read_record(folder: str | os.PathLike[str], shard: int) -> ShardRecord | None:
    """The record of a shard; None if there is none that can be read."""
    try:
        return msgspec.json.decode(record_path(folder, shard).read_bytes(), type=ShardRecord)
    except (OSError, msgspec.DecodeError):
        return None


def write_record(folder: str | os.PathLike[str], shard: int, record: ShardRecord) -> None:
    """Write the record of a shard atomically."""
    with atomic_write(record_path(folder, shard), "wb") as file:
        file.write(msgspec.json.encode(record))


def forget(folder: str | os.PathLike[str], shard: int, record: ShardRecord) -> None:
    """Remove a shard: its record first, then its files."""
    record_path(folder, shard).unlink(missing_ok=True)
    for file in record.files:
        Path(folder, file.path).unlink(missing_ok=True)
