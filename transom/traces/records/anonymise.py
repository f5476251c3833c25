"""Names taken out of a trace: keyed hashes for who, nothing for what was run and where."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from transom.errors import SpecError, TraceError
from transom.traces.records.importing import Imported
from transom.traces.records.values import STATES

if TYPE_CHECKING:
    import polars as pl

_WHO = {"user_name": "u", "account": "a", "group": "g", "reservation": "r"}
_WHERE = {"partition": "p", "qos": "q", "cluster": "c"}
_DROPPED = ("name", "node_list", "req_node_list", "tres")
_LABEL = r"^\d+(?:_(?:\d+|\[[\d,:%. -]*\]))?(?:\+\d+)?$"
_BYTES = 32
_SHORTEST = 3  # letters of a name that is looked for inside other names


def read_key(path: Path | None) -> bytes:
    """The key in a file, which is made where there is none, for its owner alone; without a file a new key.

    Raises
    ------
    SpecError : the file cannot be read or made, or holds fewer than 16 bytes.
    """
    if path is None:
        return secrets.token_bytes(_BYTES)
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # for its owner alone
            with open(handle, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(_BYTES) + "\n")
            os.replace(temporary, path)
        key = path.read_bytes().strip()
    except OSError as error:
        raise SpecError(f"{path}: the key cannot be read or made: {error.strerror or error}") from None
    if len(key) < 16:
        raise SpecError(f"{path}: a key has 16 bytes or more, got {len(key)}")
    return key


def anonymised(trace: Imported, key: bytes) -> Imported:
    """The same trace without names.

    Users, accounts, groups and reservations become keyed hashes (BLAKE2b): the same key gives the same hashes, and
    without it nobody can try names. Numbers of users count from 1 in the order of their first job. Names of jobs and
    of nodes, and lists of resources, are dropped. Partitions, qualities of service and clusters keep their names,
    except for those that contain the name of a user, an account or a group. Labels that are no numbers of jobs and
    states that Slurm does not know, as in damaged records, are dropped.

    Parameters
    ----------
    trace : as it was read.
    key : of the hashes, 16 bytes or more.
    """
    import polars as pl

    jobs, card = trace.jobs, trace.card
    hidden = {column: _texts(jobs[column]) for column in _WHO}
    names = [name.lower() for column in ("user_name", "account", "group") for name in hidden[column]]
    hashed = {column: {name: _hashed(name, key, letter) for name in hidden[column]} for column, letter in _WHO.items()}
    for column, letter in _WHERE.items():
        found = {*_texts(jobs[column]), *(card.partitions if column == "partition" else ())}
        hashed[column] = {name: _hashed(name, key, letter) for name in found if _contains(name.lower(), names)}
        trace.findings.count(f"names of a {column} that contain another name, hashed", len(hashed[column]))
    jobs = jobs.with_columns(
        *(pl.col(column).replace(names) for column, names in hashed.items() if names),
        *(pl.lit("").alias(column) for column in _DROPPED),
        pl.when(pl.col("label").str.contains(_LABEL)).then("label").otherwise(pl.col("id").cast(pl.String)),
        pl.when(pl.col("state").is_in(STATES)).then("state").otherwise(pl.lit("")).alias("state"),
        pl.col("user").replace_strict(*_in_order(jobs["user"]), default=-1, return_dtype=pl.Int64),
    )
    partitions = {hashed["partition"].get(name, name): _without_lists(each) for name, each in card.partitions.items()}
    topology = {name: each for name, each in card.topology.items() if name != "nodes"}
    repairs = dict(trace.findings.repairs)
    # What cannot be read may be a name, in a file of somebody's.
    notes = [text for text in trace.findings.notes if trace.findings.first not in text or not trace.findings.first]
    findings = replace(trace.findings, first="", notes=notes)
    return Imported(jobs, replace(card, partitions=partitions, topology=topology, repairs=repairs), findings)


def _texts(column: pl.Series) -> list[str]:
    return [text for text in column.unique(maintain_order=True).to_list() if text]


def _hashed(name: str, key: bytes, letter: str) -> str:
    return f"{letter}_{blake2b(name.encode(), key=key[:64], person=letter.encode(), digest_size=8).hexdigest()}"


def _contains(text: str, names: Iterable[str]) -> bool:
    return any(name == text or (len(name) >= _SHORTEST and name in text) for name in names)


def _in_order(user: pl.Series) -> tuple[list[int], list[int]]:
    known = [number for number in user.unique(maintain_order=True).to_list() if number >= 0]
    return known, list(range(1, len(known) + 1))


def _without_lists(partition: Mapping[str, object]) -> dict[str, object]:
    """Numbers and truth values only: texts may be lists of nodes, accounts and groups."""
    return {key: value for key, value in partition.items() if not isinstance(value, (str, list, tuple, dict))}


@contextmanager
def values_unsaid() -> Iterator[None]:
    """Errors without the values that they quote.

    Raises
    ------
    TraceError : the one of the block, without its values.
    """
    try:
        yield
    except TraceError as error:
        raise TraceError(re.sub(r"(cannot read|, got) (?:'.*'|\".*\")", r"\1 a text", str(error))) from None
