"""The decisions of an audit log: how they are written down, and how they are made again."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from transom.class_files import trust_files
from transom.errors import DocumentError, TransomError
from transom.io.documents import decode, encode
from transom.models import Window
from transom.simulation.nodes.allocator import Allocator
from transom.slurm.advice import Adviser, Start
from transom.slurm.audit import Audit, read_audit
from transom.slurm.window import Seen


def note_decision(audit: Audit, seen: Seen, starts: list[Start], kept_back: Sequence[str] = ()) -> str:
    """Write down what was seen and decided, and which starts are kept back; the digest of what was seen."""
    document = encode(seen.window).decode()
    digest = sha256(document.encode()).hexdigest()
    ids = {name: i for i, name in enumerate(seen.names)}
    audit.write(
        "decision",
        digest=digest,
        window=document,
        idle=seen.idle.tolist(),
        kept_from=[[begin, sorted(nodes)] for begin, nodes in seen.kept_from],
        leaf_limits=[*map(list, seen.leaf_limits.items())],
        starts=[[start.job.id, [ids[name] for name in start.nodes]] for start in starts],
        jobs={start.job.name: start.where for start in starts},
        kept_back=list(kept_back),
    )
    return digest


class Redone(NamedTuple):
    """How a log compares with its decisions made again: how many there are, and the digests of those that differ."""

    decisions: int
    differing: list[str]


def decide_again(path: Path, trusted: bool = False) -> Redone:
    """Decide all windows of a log again; ``trusted`` allows files of classes that it names to be run.

    Raises
    ------
    DocumentError : the file is no audit log, or has no decision that follows a beginning.
    """
    adviser, count, differing = None, 0, []
    for line in read_audit(path):
        try:
            if line["kind"] == "begin":
                allocate = line["allocate"]
                if trusted:
                    trust_files(line["policy"])
                    trust_files(allocate or "")
                adviser = Adviser(line["policy"], None if allocate is None else Allocator(allocate), line["seed"])
            elif line["kind"] == "decision":
                if adviser is None:
                    raise DocumentError("stands before the beginning of a run")
                count += 1
                if not _as_before(adviser, line, str(path)):
                    differing.append(line["digest"])
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            why = str(error) if isinstance(error, TransomError) else "is damaged"
            raise DocumentError(f"{path}: a {line.get('kind')} of {line.get('at')} {why}") from None
    return Redone(count, differing)


def _as_before(adviser: Adviser, line: dict[str, Any], source: str) -> bool:
    window = decode(line["window"].encode(), source)
    if not isinstance(window, Window):
        raise DocumentError("states no window")
    kept = [(begin, frozenset(nodes)) for begin, nodes in line["kept_from"]]
    limits = dict(line.get("leaf_limits", ()))  # logs of before have none
    chosen = adviser.choose(window, np.array(line["idle"], np.int64), kept, limits)
    return bool([[job, list(nodes)] for job, nodes in chosen.nodes.items()] == line["starts"])
