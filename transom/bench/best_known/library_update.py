"""What becomes of a library when something new is known: instances are added, results improve its entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from transom.bench.best_known.library import Entry, Improvement, Library, better, line_of
from transom.errors import DocumentError, TransomError
from transom.io import encode
from transom.io.formats import ResultDocument
from transom.io.instances import AS_STATED, ReadOptions, read_instances
from transom.problems import problem_type, size_of
from transom.result import Result


class Contradiction(TransomError):
    """Two claims about one problem cannot both be true; the message names both."""


class Claim(NamedTuple):
    """What somebody says of a problem: a value that was found, a bound that was proved.

    ``by`` is the method, ``where`` names the store, file or library that says so.
    """

    value: float | None
    bound: float | None
    infeasible: bool
    by: str
    where: str


def now() -> str:
    """The date and time as an improvement states them."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_entries(library: Library, files: Sequence[Path], options: ReadOptions = AS_STATED) -> Iterator[Entry]:
    """Entries for the instances of some files in the folder of a library, one at a time.

    An instance that the library knows under the same terms is left out; one that poses the same problem as another
    takes over what is known of that.

    Raises
    ------
    DocumentError : a file is not in the folder, cannot be read, or has other instances than its entries say.
    SpecError : a name is unknown.
    """
    folder = library.folder.resolve()
    known = {(entry.file, entry.line, entry.reading): entry for entry in library.entries}
    for path in files:
        if not path.resolve().is_relative_to(folder):
            raise DocumentError(f"{path}: does not lie in {library.folder}, the folder of the library")
        name = path.resolve().relative_to(folder).as_posix()
        for label, posed in read_instances([path], options):
            read_as = options._replace(problem=options.problem or posed.kind)
            line, digest = line_of(label, path), posed.digest()
            old = known.get((name, line, read_as))
            if old is not None and old.digest != digest:
                raise DocumentError(
                    f"{label}: is not the instance any more that its entry is for; 'transom library remove' forgets it"
                )
            if old is None:
                same = library.of(digest)
                yield Entry(
                    file=name, line=line, problem=options.problem or posed.kind, objective=options.objective,
                    objectives=options.objectives, cost_model=options.cost_model, wrap=options.wrap, digest=digest,
                    items=size_of(posed), capacity=capacity_of(posed), scale=getattr(posed, "scale", 1),
                    **(known_of(same[0]) if same else {}),
                )  # fmt: skip


def known_of(entry: Entry) -> dict[str, Any]:
    """What an entry says is known, by field."""
    return {name: getattr(entry, name) for name in ("bound", "proved_by", "best", "history")}


def capacity_of(problem: Any) -> int | tuple[int, ...]:
    """What items are packed into, as the type of the problem says: a capacity, one for each resource; 0 for nothing."""
    capacity = problem_type(problem.kind).part("capacity")
    return 0 if capacity is None else capacity(problem)


def method_of(result: Result) -> str:
    """The solver, or what it chose where it handed the problem on, so that one proof is not counted as two."""
    return str(result.parameters.get("chose") or result.solver)


def claim_of(result: Result, where: str) -> Claim:
    """What a result says."""
    return Claim(result.value, result.bound, result.status == "infeasible", method_of(result), where)


def known_claim(entry: Entry, library: Library) -> list[Claim]:
    """What the library says of an entry: the value and the bound may be from different methods."""
    claims = []
    where = f"{library.folder}/{entry.place} ({entry.problem})"
    if entry.best is not None:
        infeasible = entry.best.status == "infeasible"
        claims.append(Claim(entry.best.value, None, infeasible, entry.best.solver, where))
    if entry.bound is not None:
        claims.append(Claim(None, entry.bound, False, "+".join(entry.proved_by), where))
    return claims


def refuse_contradictions(entry: Entry, claims: Iterable[Claim]) -> None:
    """Compare the best value of all with the best bound of all.

    Raises
    ------
    Contradiction : the value is better than the bound, or there is a value where none can be.
    """
    values = [claim for claim in claims if claim.value is not None]
    bounds = [claim for claim in claims if claim.bound is not None]
    nothing = [claim for claim in claims if claim.infeasible]
    if not values:
        return
    best = min(values, key=lambda claim: _sign(entry) * (claim.value or 0.0))
    if nothing:
        raise Contradiction(
            f"{entry.place}: {entry.problem}: {best.by} found {best.value} ({best.where}), but {nothing[0].by} proved "
            f"that there is no solution ({nothing[0].where})"
        )
    if bounds:
        tight = max(bounds, key=lambda claim: _sign(entry) * (claim.bound or 0.0))
        assert best.value is not None
        assert tight.bound is not None
        if better(best.value, tight.bound, entry.sense):
            raise Contradiction(
                f"{entry.place}: {entry.problem}: {best.by} found {best.value} ({best.where}), but {tight.by} proved "
                f"that nothing is better than {tight.bound} ({tight.where})"
            )


def adds_to(entry: Entry, claim: Claim, optimal: bool) -> bool:
    """Whether a claim, if it is true, makes a better value, a better bound or a proof of an entry's result known."""
    if claim.infeasible:
        return entry.best is None
    if claim.value is not None and (entry.value is None or better(claim.value, entry.value, entry.sense)):
        return True
    if optimal and not entry.proved:
        return True
    return claim.bound is not None and (entry.bound is None or better(entry.bound, claim.bound, entry.sense))


def improved(entry: Entry, result: Result, library: Library, source: str, row: str | None, when: str) -> Entry:
    """An entry after a result of its problem that was checked; itself if the result adds nothing.

    The value and the bound are taken apart: a worse value may come with a better bound. A further method that proves
    what is proved is added to those that did, which is no step of the history. Of two complete fronts the points have
    to be the same.

    Raises
    ------
    Contradiction : the result and the entry cannot both be true.
    """
    claim = claim_of(result, source)
    refuse_contradictions(entry, [*known_claim(entry, library), claim])
    optimal, settled = result.status == "optimal", result.status in ("optimal", "infeasible")
    if entry.type.fronts and optimal and entry.proved:
        _refuse_other_front(entry, result, claim)
    found = result.value is not None and (entry.value is None or better(result.value, entry.value, entry.sense))
    proof = settled and (entry.best is None or entry.best.status not in ("optimal", "infeasible"))
    tighter = result.bound is not None and (entry.bound is None or better(entry.bound, result.bound, entry.sense))
    proves = tighter or (settled and not entry.proved)
    changed = entry
    if settled and not proves and claim.by not in entry.proved_by:
        changed = msgspec.structs.replace(changed, proved_by=(*entry.proved_by, claim.by))
    if not (found or proof or proves):
        return changed
    if found or proof:
        # As it will be read, so that the same content gives the same bytes: a budget of 60 is then one of 60.0.
        best = msgspec.json.decode(encode(replace(result, curve=())), type=ResultDocument)
        changed = msgspec.structs.replace(changed, best=best)
    if proves:
        changed = msgspec.structs.replace(changed, bound=result.bound, proved_by=(claim.by,))
    step = Improvement(when=when, source=source, row=row, solver=claim.by, value=changed.value, bound=changed.bound)
    return msgspec.structs.replace(changed, history=(*entry.history, step))


def _refuse_other_front(entry: Entry, result: Result, claim: Claim) -> None:
    known: Any = entry.result()
    ours = {tuple(values) for values in known.solution.values.tolist()}
    front: Any = result.solution
    theirs = {tuple(values) for values in front.values.tolist()}
    if ours != theirs:
        raise Contradiction(
            f"{entry.place}: selection: {claim.by} proved a front of {len(theirs)} points ({claim.where}), but "
            f"{'+'.join(entry.proved_by)} one of {len(ours)} with other points (the library)"
        )


def _sign(entry: Entry) -> float:
    return 1.0 if entry.sense == "min" else -1.0
