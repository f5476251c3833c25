"""Problems out of files: what ``solve``, ``check`` and plans take as instances.

Windows, lines of a topology-aware stream and some problems can be read as several kinds of problem, under *options*:
``objective``, what a job of a window (by default its nodes) or an instance of a placement is worth; ``objectives``,
what a selection of a window maximises, names with slashes between (by default the use of every resource);
``cost_model``, what hops cost (by default eq. (1) of Lan et al. 2023); ``wrap``, whether blocks wrap around (by default
they do); ``nodes``, of the machine that a workflow runs on, and ``amounts``, what it has of further resources, such as
``memory=64000000000``. Which apply, the type of the problem says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from transom.io import Document
    from transom.models.problem import ProblemType

_READ_AS = {"window": "knapsack", "line": "scas"}
"""What documents that are no problem are read as unless something is asked for."""

_IN_WORDS = {
    "objective": "the objective {}",
    "objectives": "the objectives {}",
    "cost_model": "the cost model {}",
    "nodes": "{} nodes",
    "amounts": "the amounts {}",
}


class Instance(NamedTuple):
    """A problem out of a file.

    ``label`` is the file, in a set with the line; ``jobs`` the ids of the jobs that it is about, None where the file
    does not state any.
    """

    label: str
    problem: Any
    jobs: list[int] | None


class ReadOptions(NamedTuple):
    """How documents are read.

    Parameters
    ----------
    problem : the kind of problem to make of them; None takes each as what it is: a window as a knapsack, a line of a
        stream as a static allocation.
    objective, cost_model, wrap, objectives, nodes, amounts : None for the default, or for what the document states.
    """

    problem: str | None = None
    objective: str | None = None
    cost_model: str | None = None
    wrap: bool | None = None
    objectives: str | None = None
    nodes: int | None = None
    amounts: str | None = None


AS_STATED = ReadOptions()
"""Every document as what it is, under defaults and what it states."""


def read_instances(files: Sequence[Path], options: ReadOptions = AS_STATED) -> Iterator[tuple[str, Any]]:
    """Read problems, one at a time, each with its label; parameters are those of :func:`read_labelled`."""
    return ((instance.label, instance.problem) for instance in read_labelled(files, options))


def read_labelled(files: Sequence[Path], options: ReadOptions = AS_STATED) -> Iterator[Instance]:
    """Read problems, one at a time.

    Parameters
    ----------
    files : documents of windows or problems, knapsacks of kplib, multi-objective knapsacks, or lines of a
        topology-aware stream.

    Raises
    ------
    SpecError : a name is unknown, or an option does not apply.
    DocumentError : a file cannot be read, or holds something else.
    """
    from transom.io import read_documents

    return from_documents((pair for path in files for pair in read_documents(path)), options)


def read_joined(files: Sequence[Path]) -> Iterator[tuple[str, Document]]:
    """The workflows of some files as one document, a window of workflows (:func:`~transom.reductions.joining.joined`).

    Raises
    ------
    DocumentError : a file cannot be read or holds something else, or their machines differ.
    """
    from transom.errors import DocumentError, ModelError
    from transom.io import name_of, read_documents
    from transom.models import Workflow
    from transom.reductions.joining import joined

    flows: list[Workflow] = []
    for path in files:
        for label, document in read_documents(path):
            if not isinstance(document, Workflow):
                raise DocumentError(f"{label}: holds {name_of(document)}; --together is for workflows")
            flows.append(document)
    label = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    try:
        yield label, joined(flows, Path(label).name)
    except ModelError as error:
        raise DocumentError(f"{label}: {error}") from None


def from_documents(documents: Iterable[tuple[str, Document]], options: ReadOptions = AS_STATED) -> Iterator[Instance]:
    """Make problems of documents, one at a time.

    Parameters
    ----------
    documents : each with its label.

    Raises
    ------
    SpecError : a name is unknown, or an option does not apply.
    DocumentError : a document holds something else.
    """
    from transom import registry
    from transom.errors import DocumentError, ModelError, SpecError
    from transom.models.placement import OBJECTIVES
    from transom.problems import problem_type

    if options.problem is not None:
        problem_type(options.problem)
    for group, spec in ((registry.OBJECTIVES, options.objective), (registry.COST_MODELS, options.cost_model)):
        if spec is not None and spec not in OBJECTIVES:
            registry.make(group, spec)
    given = {name: value for name, value in options._asdict().items() if name != "problem" and value is not None}
    for label, document in documents:
        try:
            yield Instance(label, *_posed(document, options.problem, given))
        except SpecError as error:
            raise SpecError(f"{label}: {error}") from None
        except (DocumentError, ModelError) as error:
            raise DocumentError(f"{label}: {error}") from None


def options_of(kind: str) -> set[str]:
    """The options under which documents are read as a kind of problem."""
    from transom.models.problem import found
    from transom.problems import problem_type

    made_from = problem_type(kind).made_from.values()
    return {name for maker in made_from for name in signature(found(maker)).parameters} & {*_IN_WORDS, "wrap"}


def takers_of(option: str) -> str:
    """The problems, in words, that an option is for."""
    from transom.problems import problem_types

    return " or ".join(dict.fromkeys(each.plural for each in problem_types() if option in options_of(each.kind)))


def read_under(document: Document, kind: str, given: Mapping[str, Any]) -> str:
    """Under which options a document was read as a kind of problem, in words; empty where none applies."""
    from transom.io.conversion import format_of
    from transom.models.problem import found
    from transom.problems import problem_type

    maker = problem_type(kind).made_from.get(format_of(document))
    parameters = {} if maker is None else signature(found(maker)).parameters
    values = {name: given.get(name, parameters[name].default) for name in parameters if name in (*_IN_WORDS, "wrap")}
    around = values.pop("wrap", None)
    stated = {name: value or "of every resource" for name, value in values.items() if value is not None}
    text = ", ".join(_IN_WORDS[name].format(value) for name, value in stated.items())
    text = f" under {text}" if text else ""
    return text if around is None else f"{text}{',' if text else ''} {'with' if around else 'without'} wrap-around"


def _posed(document: Document, wanted: str | None, given: Mapping[str, Any]) -> tuple[Any, list[int] | None]:
    from transom.errors import DocumentError
    from transom.io.conversion import format_of, name_of
    from transom.models.problem import found
    from transom.problems import problem_type

    form = format_of(document)
    if form == "result":
        raise DocumentError("holds a result; expected an instance, that is, a window or a problem")
    kind = problem_type(wanted or _READ_AS.get(form) or getattr(document, "kind", form))
    if form in kind.made_from:
        maker = found(kind.made_from[form])
        taken = signature(maker).parameters
        _refuse(kind, given, taken)
        values = {**given, "problem": kind.kind} if "problem" in taken else given
        posed, jobs = maker(document, **values)
        return posed, jobs
    if form != kind.document:
        raise DocumentError(f"holds {name_of(document)}, not a {kind.kind} problem")
    _refuse(kind, given, ())
    return document, None


def _refuse(kind: ProblemType, given: Mapping[str, Any], taken: Iterable[str]) -> None:
    """Say no to an option that does not apply, in one line."""
    from transom.errors import SpecError

    for name, value in given.items():
        if name in taken:
            continue
        option = "--no-wrap" if value is False else f"--{name.replace('_', '-')}"
        if name in options_of(kind.kind):
            raise SpecError(f"{kind.states}; {option} is for windows")
        raise SpecError(f"{option} is for {takers_of(name)}, this is {kind.name}")
