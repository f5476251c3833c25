"""Policies evaluated on parts of a trace, by several processes; none is evaluated twice.

Every figure is a line of a journal beside the output, written before it is used: who is killed loses nothing, and a
search with the same seed goes the same way again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from transom._system.journal import Journal, read_lines
from transom._system.process_pool import process_pool
from transom._system.source_digest import source_digest
from transom._system.trusted import trusted
from transom.class_files import trusted_files
from transom.errors import DocumentError, PolicyError
from transom.registry import weights_of
from transom.simulation.policies.by_name import make_policy
from transom.traces.workload import Workload
from transom.tune.figures import LOGGED, Figures, figures

if TYPE_CHECKING:
    from transom.bench.run.dask_engine import DaskMap

Asked = tuple[str, str]
"""A policy and the name of a part."""


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the journal: the figures of a policy on a part, None where it leaves jobs waiting for ever."""

    card: str
    policy: str
    part: str
    figures: Figures | None


Answer = tuple[Asked, Figures | None]

Run = Callable[[Iterable[Asked]], Iterator[Answer]]
"""What evaluates policies, and gives the figures as they come."""


class Given(NamedTuple):
    """What an evaluation needs beside policy and part: all parts, the seed, and the names of further figures."""

    parts: dict[str, Workload]
    seed: int
    names: tuple[str, ...]


Pool = Callable[[Given], AbstractContextManager[Run]]
"""Where policies are evaluated."""


def processes(workers: int) -> Pool:
    """So many processes of this machine; with one, it is this one."""
    return lambda given: process_pool(workers, _evaluate_here, "policy", _prepare, (given,))


def on_cluster(apply: DaskMap) -> Pool:
    """The workers of a Dask cluster, which read the files that policies name under the same paths."""

    @contextmanager
    def pool(given: Given) -> Iterator[Run]:
        shared = [apply.share(each) for each in (source_digest(), trusted_files(), given)]
        yield lambda asked: apply(_evaluate_there, asked, shared)

    return pool


_ROW = msgspec.json.Decoder(Row)


class Evaluator:
    """Evaluates policies.

    Parameters
    ----------
    run : gives the figures of policies on parts as they come.
    journal : takes them down.
    card : what they depend on beside policy and part.
    known : what is known from before, by what it depends on.
    """

    def __init__(
        self, run: Run, journal: Journal, card: str, known: Mapping[tuple[str, Asked], Figures | None]
    ) -> None:
        self._run, self._journal, self._card, self._before = run, journal, card, known
        self._known: dict[Asked, Figures | None] = {}
        self._cards: dict[str, str] = {}
        self.resumed = 0
        self.asked: dict[Asked, None] = {}

    def __call__(self, asked: Iterable[Asked]) -> dict[Asked, Figures | None]:
        """The figures of policies on parts, None where jobs would never start."""
        wanted = list(dict.fromkeys(asked))
        self.asked |= dict.fromkeys(wanted)
        for each in wanted:
            if each not in self._known and (key := (self._card_of(each[0]), each)) in self._before:
                self._known[each] = self._before[key]
                self.resumed += 1
        for each, found in self._run(each for each in wanted if each not in self._known):
            self._journal.append(msgspec.json.encode(Row(self._card_of(each[0]), *each, found)))
            self._known[each] = found
        return {each: self._known[each] for each in wanted}

    def _card_of(self, policy: str) -> str:
        """What the figures of a policy depend on, the files that it names among it."""
        if policy not in self._cards:
            weights = "" if policy == LOGGED else weights_of(make_policy(policy), spec=policy)
            self._cards[policy] = f"{self._card} {weights}".strip()
        return self._cards[policy]

    @property
    def policies(self) -> int:
        """How many policies were asked for on at least one part."""
        return len({policy for policy, _ in self.asked})


@contextmanager
def evaluator(
    parts: Mapping[str, Workload], journal: Path, pool: Pool, seed: int, names: Sequence[str] = ()
) -> Iterator[Evaluator]:
    """What evaluates policies on parts of a trace.

    Parameters
    ----------
    parts : by name.
    journal : the file that keeps the figures.
    pool : where they are evaluated.
    seed : of policies that draw random numbers: the same for all.
    names : of further figures.

    Raises
    ------
    DocumentError : the journal cannot be read or written.
    """
    state = blake2b(" ".join([source_digest(), str(seed), *names]).encode(), digest_size=8)
    for name, part in parts.items():
        started = part.origin.started
        state.update(f"{name} {part.digest()}".encode() + (b"" if started is None else started.tobytes()))
    card = state.hexdigest()
    try:
        lines = Journal(journal)
        known = _read(journal)
    except OSError as error:
        raise DocumentError(f"{journal}: cannot be written: {error.strerror}") from None
    try:
        with pool(Given(dict(parts), seed, tuple(names))) as answers:
            yield Evaluator(answers, lines, card, known)
    finally:
        lines.close()


def _read(path: Path) -> dict[tuple[str, Asked], Figures | None]:
    if not trusted(path, "policies are evaluated again"):
        return {}
    found = {}
    for number, line in read_lines(path):
        try:
            row = _ROW.decode(line)
        except msgspec.DecodeError:
            raise DocumentError(f"{path}: line {number}: not one of `transom tune`; remove the file") from None
        found[row.card, (row.policy, row.part)] = row.figures
    return found


_here: list[Given] = []


def _prepare(given: Given) -> None:
    _here[:] = [given]


def _evaluate_here(asked: Asked) -> Answer:
    return _evaluate(asked, _here[0])


def _evaluate_there(asked: Asked, code: str, files: dict[str, str], given: Given) -> Answer:
    from transom.bench.run.dask_engine import trust_here

    trust_here(code, files)
    return _evaluate(asked, given)


def _evaluate(asked: Asked, given: Given) -> Answer:
    policy, part = asked
    try:
        return asked, figures(given.parts[part], policy, given.seed, given.names)
    except PolicyError:
        return asked, None
