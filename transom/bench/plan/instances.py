"""The instances of a plan: read or made one after another, each once, with the solvers that are to meet it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from transom.bench.plan.plan import InstanceSet, Plan, set_name
from transom.bench.plan.rooted_specs import rooted
from transom.errors import SpecError
from transom.io.instances import Instance, ReadOptions, from_documents
from transom.problems import problem_type, problem_types, types_of
from transom.registry import labelled_apart
from transom.solvers.named import NamedSolver

if TYPE_CHECKING:
    from transom.generate.instance_generator import InstanceGenerator
    from transom.io import Document

_Given = TypeVar("_Given")


class Named(NamedTuple):
    name: str
    spec: str
    solver: NamedSolver


class Met(NamedTuple):
    """An instance, and the solvers that have not met it in an earlier set."""

    set: str
    label: str
    kind: str
    model: type
    problem: Any  # None if it is not made
    digest: str
    named: list[Named]


def instances_of(plan: Plan, make: bool = True) -> Iterator[Met]:
    """The instances of all sets; with ``make`` false those of recipes are counted where that can be, and not made."""
    seen: dict[str, frozenset[str]] = {}
    shared: dict[frozenset[str], frozenset[str]] = {}
    sets = [(each, set_name(each), _named(plan, each)) for each in plan.instances]
    for each, name, named in sets:
        files = [Path(file).name for file in each.files]
        distinct = len(set(files)) == len(files)
        for label, kind, model, problem, digest in (None if make else _counted(each, name)) or _read(each):
            if distinct:  # then tables need not show the folders, which differ from machine to machine
                label = Path(label).name
            before = seen.get(f"{kind} {digest}", frozenset())
            specs = before | {solver.spec for solver in named}
            seen[f"{kind} {digest}"] = shared.setdefault(specs, specs)
            left = [solver for solver in named if solver.spec not in before]
            yield Met(name, label, kind, model, problem, digest, left)


_Instance = tuple[str, str, type, Any, str]  # label, kind, model, problem (None if it is not made), digest


def _read(each: InstanceSet) -> Iterator[_Instance]:
    for instance in read_set(each):
        problem = instance.problem
        yield instance.label, problem.kind, type(problem), problem, problem.digest()


def _counted(each: InstanceSet, name: str) -> Iterator[_Instance] | None:
    """The instances of a recipe, without making them; None where it does not tell how many or of which kind."""
    if each.generate is None:
        return None
    made, kind = _recipe(each, name), each.problem or _only_kind(each.generate)
    if kind is None or made.num_blocks is not None:
        return None
    model = problem_type(kind).model
    terms = msgspec.json.encode(msgspec.structs.replace(each, name="", solvers=(), count=1, take=None))
    digest = blake2b(terms, digest_size=16).hexdigest()
    numbers = range(1, each.count + 1)
    chosen = numbers if each.take is None else _spread(numbers, each.count, each.take)
    return ((f"{name}:{number}", kind, model, None, f"{digest}:{number}") for number in chosen)


def _only_kind(recipe: str) -> str | None:
    """The kind of what a recipe makes, if it makes one kind alone."""
    types = {kind.kind for each in problem_types() if recipe in each.recipes for kind in types_of(each.model)}
    return types.pop() if len(types) == 1 else None


def _named(plan: Plan, each: InstanceSet) -> list[Named]:
    found: list[Named] = []
    for name, spec in labelled_apart([rooted(text, Path.cwd()) for text in each.solvers or plan.solvers]):
        if twin := next((other.name for other in found if other.spec == spec), None):
            raise SpecError(f"{set_name(each)}: {twin!r} and {name!r} are one solver: {spec}")
        try:
            found.append(Named(name, spec, NamedSolver(spec)))
        except SpecError as error:
            raise SpecError(f"{set_name(each)}: {error}") from None
    return found


def read_set(each: InstanceSet) -> Iterator[Instance]:
    """The instances of a set, read or made one at a time.

    Raises
    ------
    DocumentError, ModelError : a file cannot be read, or holds something else.
    SpecError : a recipe, a name or a parameter is unknown, or a choice would be ignored.
    """
    documents = _documents(each)
    if each.take is not None:
        documents = _spread(documents, sum(1 for _ in _documents(each)), each.take)
    return from_documents(
        documents, ReadOptions(each.problem, each.objective, each.cost_model, each.wrap, each.objectives)
    )


def _documents(each: InstanceSet) -> Iterator[tuple[str, Document]]:
    from transom.io import read_documents

    if each.generate is None:
        return (pair for path in each.files for pair in read_documents(path))
    name = set_name(each)
    made = _recipe(each, name)
    return ((f"{name}:{number}", document) for number, document in enumerate(made.make(each.seed, each.count), 1))


def _recipe(each: InstanceSet, name: str) -> InstanceGenerator:
    from transom.generate.recipes import recipe

    if each.generate == "workload":
        raise SpecError(f"{name}: the recipe 'workload' makes traces, which stand under [[traces]]")
    try:
        return recipe(str(each.generate), each.parameters)
    except SpecError as error:
        raise SpecError(f"{name}: {error}") from None


def _spread(among: Iterable[_Given], count: int, take: int) -> Iterator[_Given]:
    """Every n-th of ``count``, so that ``take`` are left."""
    chosen = {at * count // take for at in range(take)} if take < count else None
    return (each for at, each in enumerate(among) if chosen is None or at in chosen)
