"""Solvers, problems, policies, objectives, priority rules, cost models and decision rules by name.

They register under entry points, the built-in ones through the same door as those of other
packages; nothing is imported until it is asked for. A *specification* names one and sets
parameters: ``sa:steps=1000,final=0.01``; a value that holds a comma or a specification of its
own goes into brackets: ``window:solver=[sa:steps=1000],size=20``. ``./mine.py:Class`` names what a file of the user
holds (:mod:`transom.class_files`).

One name may stand for several things that take different types of problems, such as simulated annealing: each has an
entry of its own, ``sa``, ``sa.allocation`` ..., and the one whose ``solves`` fits the problem at hand is taken.
"""

from __future__ import annotations

import difflib
import inspect
import re
import sys
import types
import typing
from collections.abc import Iterable, Sequence
from dataclasses import is_dataclass
from functools import cache
from hashlib import blake2b
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from transom._system.durations import seconds_in
from transom._system.wording import real_number, whole_number
from transom.class_files import file_digests, headed, load_from_file, names_a_file
from transom.errors import SpecError

SOLVERS = "transom.solvers"
PROBLEMS = "transom.problems"
POLICIES = "transom.policies"
OBJECTIVES = "transom.objectives"
PRIORITY_RULES = "transom.priority_rules"
COST_MODELS = "transom.cost_models"
DECISION_RULES = "transom.decision_rules"
EVENT_RULES = "transom.event_rules"
TASK_POLICIES = "transom.task_policies"
METRICS = "transom.metrics"
PREDICTORS = "transom.predictors"

Seconds = Annotated[float, "duration"]
"""The type of a setting that counts seconds: a specification may also say ``30m``, ``1.5h`` or ``7d``."""

WholeSeconds = Annotated[int, "duration"]
"""The same of whole seconds."""

_WORDS = {
    SOLVERS: "solver",
    PROBLEMS: "problem",
    POLICIES: "policy",
    OBJECTIVES: "objective",
    PRIORITY_RULES: "priority rule",
    COST_MODELS: "cost model",
    DECISION_RULES: "decision rule",
    EVENT_RULES: "event rules",
    TASK_POLICIES: "policy for tasks",
    METRICS: "metric",
    PREDICTORS: "predictor",
}


_GONE = {SOLVERS: {"ortools-knapsack": "use 'cpsat', which is of OR-Tools too, or 'primal-dual', which is faster"}}
"""Names of earlier versions, and what to use instead."""

_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_LISTED = 10  # of the names that are known, in an error
_LABEL = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,99})=(.+)", re.DOTALL)
_LABELS = "a letter or digit, then up to 99 letters, digits, '.', '_' or '-'"


@cache
def _entries() -> dict[str, dict[str, EntryPoint]]:
    """Entries by group and name, all at once: finding them reads a file of every package that is installed."""
    installed = entry_points()
    return {
        group: {entry.name: entry for entry in installed.select(group=group) if entry.name not in _GONE.get(group, ())}
        for group in _WORDS
    }


def names(group: str) -> list[str]:
    """The registered names of a group, sorted."""
    return sorted({_stem(entry) for entry in _entries()[group]})


def entries(group: str, name: str) -> list[str]:
    """The entries that a name stands for, the plain one first.

    Raises
    ------
    SpecError : the name is unknown.
    """
    if names_a_file(name):
        return [name]
    name = known_as(group, name)
    found = sorted(entry for entry in _entries()[group] if _stem(entry) == name)
    if not found and (instead := _GONE.get(group, {}).get(name)):
        raise SpecError(f"there is no {_WORDS.get(group, group)} {name!r} any more: {instead}")
    if not found:
        raise unknown(_WORDS.get(group, group), name, names(group))
    return found


def known_as(group: str, name: str) -> str:
    """A name as it is registered, whatever its case; one that is unknown stays as it is."""
    known = names(group)
    return next((each for each in (name, name.lower()) if each in known), name)


def load(group: str, name: str, problem: type | None = None) -> Any:
    """The factory that is registered under ``name``.

    ``needs``, if it has that, lists packages that it imports later, and ``extra`` names the extra that brings them.

    Parameters
    ----------
    group : one of the groups above.
    name : a name, an entry (``sa.allocation``), or ``FILE.py:NAME``.
    problem : the type of problem that it has to take, where one name stands for several things.

    Raises
    ------
    SpecError : the name is unknown, what it needs is not installed, or a file cannot be run.
    """
    if names_a_file(name):
        return load_from_file(name)
    if "." in name and name in _entries()[group]:
        return _load_entry(group, name)
    found = entries(group, name)
    if problem is not None and len(found) > 1:
        for entry in found:
            factory = _load_entry(group, entry)
            if issubclass(problem, getattr(factory, "solves", ())):
                return factory
    return _load_entry(group, found[0])


def _load_entry(group: str, entry: str) -> Any:
    title = f"{_WORDS.get(group, group)} {_stem(entry)!r}"
    try:
        factory = _entries()[group][entry].load()
    except (ImportError, AttributeError) as error:
        raise SpecError(f"{title} cannot be loaded: {error}") from error
    absent = [package for package in getattr(factory, "needs", ()) if find_spec(package) is None]
    if absent:
        extra = getattr(factory, "extra", None)
        cure = f": pip install 'transom[{extra}]'" if extra else ""
        raise SpecError(f"{title} needs {', '.join(absent)}, which is not installed{cure}")
    return factory


def _stem(entry: str) -> str:
    return entry.partition(".")[0]


def unknown(what: str, name: str, known: Iterable[str], other: str = "") -> SpecError:
    """The error for a name that is not known, with the nearest known one, and all of them or the ten nearest.

    ``other`` says what may stand instead of a name.
    """
    known = sorted(known)
    near = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    if len(known) > _LISTED:
        shown = difflib.get_close_matches(name, known, _LISTED, cutoff=0.0)
        return SpecError(f"unknown {what} {name!r}{hint} Nearest of {len(known)}: {', '.join(shown)}{other}")
    return SpecError(f"unknown {what} {name!r}{hint} Known: {', '.join(known)}{other}")


def make(group: str, spec: str, problem: type | None = None) -> Any:
    """Build what a specification describes, for problems of a type where one name stands for several things.

    Raises
    ------
    SpecError : the name or a parameter is unknown, or a value does not fit.
    """
    name, settings = parse(spec)
    factory = load(group, name, problem)
    if names_a_file(name) and not settings and _is_made(factory):
        return factory
    return build(factory, name, settings)


def _is_made(thing: Any) -> bool:
    """Whether a file holds the thing itself, not what makes it: an object, or a function that is a rule."""
    return not callable(thing) or (not isinstance(thing, type) and hasattr(thing, "timeless"))


def weights_of(*things: Any, spec: str = "") -> str:
    """What decides beside the specifications of some things, such as weights in a file that one names.

    That is their ``digest``, a text, of those that have one, and of what they hold (:func:`parts_of`), and the digests
    of the files that ``spec``, of which they were made, names, also as ``file=``; empty where there is none.
    """
    digests = (getattr(part, "digest", None) for part in parts_of(*things))
    stated = parse(spec)[1].get("file") if spec else None
    read = [] if stated is None else [blake2b(Path(stated).read_bytes(), digest_size=8).hexdigest()]
    return " ".join([*(digest for digest in digests if isinstance(digest, str)), *file_digests(spec), *read])


def parts_of(*things: Any) -> list[Any]:
    """Things with all that they hold, in attributes of any name, in lists and in mappings: solvers, rules, objectives.

    Numbers, texts, arrays, functions and what the standard library makes are left out. What has a ``digest``, a text,
    speaks for all that it holds.
    """
    found: list[Any] = []
    seen: set[int] = set()

    def visit(thing: Any) -> None:
        if isinstance(thing, dict):
            for value in thing.values():
                visit(value)
        elif isinstance(thing, (list, tuple)):
            for value in thing:
                visit(value)
        elif id(thing) not in seen and _made_by_a_package(thing):
            seen.add(id(thing))
            found.append(thing)
            if not isinstance(getattr(thing, "digest", None), str):
                for name in _attributes(thing):
                    visit(getattr(thing, name, None))

    visit(things)
    return found


def _made_by_a_package(thing: Any) -> bool:
    if isinstance(thing, (type, types.FunctionType, types.MethodType, types.ModuleType)):
        return False
    top = type(thing).__module__.partition(".")[0]
    return top not in sys.stdlib_module_names and top not in {"numpy", "numba", "torch"}


def _attributes(thing: Any) -> list[str]:
    slots = (getattr(kind, "__slots__", ()) for kind in type(thing).__mro__)
    stated = [name for names in slots for name in ((names,) if isinstance(names, str) else names)]
    return [*dict.fromkeys([*stated, *getattr(thing, "__dict__", ())])]


def labelled(text: str) -> tuple[str, str]:
    """Label and specification out of ``[LABEL=]SPEC``; the label is the name in the specification unless given.

    Of ``FILE.py:NAME`` it is the name in the file.

    Raises
    ------
    SpecError : the label is none, or no specification follows it.
    """
    if found := _LABEL.fullmatch(text):
        return found[1], found[2]
    name = headed(text)[0]
    if names_a_file(name):
        return name.partition(":")[2] or name, text
    label, equals, _ = name.partition("=")
    if equals and _LABEL.fullmatch(f"{label}=x"):
        raise SpecError(f"{text!r}: expected LABEL=SPEC, got no specification")
    if equals:
        raise SpecError(f"label {label!r}: expected {_LABELS}")
    return name, text


def labelled_apart(texts: Sequence[str]) -> list[tuple[str, str]]:
    """The same of several texts: where labels would be the same name, they also state the settings that differ.

    ``mars`` and ``mars:min=16`` are ``mars`` and ``mars-min-16``.

    Raises
    ------
    SpecError : a text is malformed.
    """
    pairs = [labelled(text) for text in texts]
    found = []
    for (label, spec), text in zip(pairs, texts, strict=True):
        same = [parse(of)[1] for (name, of), whole in zip(pairs, texts, strict=True) if name == label and of == whole]
        if spec == text and len(same) > 1:
            own = parse(spec)[1]
            stated = [key for key in own if any(other.get(key) != own[key] for other in same)]
            label = re.sub("[^A-Za-z0-9._-]+", "-", "-".join([label, *(f"{key}-{own[key]}" for key in stated)]))[:100]
        found.append((label, spec))
    return found


def parse(spec: str) -> tuple[str, dict[str, str]]:
    """Split ``name:key=value,key=[nested:a=1,b=2]`` into the name and the settings as text.

    Raises
    ------
    SpecError : the specification is malformed.
    """
    name, colon, rest = headed(spec)
    if "," in name and not names_a_file(name):
        raise SpecError(f"{spec!r}: name one here, and repeat the option for each of {name.replace(',', ', ')}")
    if not name or (colon and not rest):
        raise SpecError(f"specification {spec!r}: expected NAME or NAME:KEY=VALUE,...")
    settings: dict[str, str] = {}
    for part in _split(rest, spec) if rest else []:
        key, equals, value = part.partition("=")
        if not equals or not key or not value:
            raise SpecError(f"specification {spec!r}: expected KEY=VALUE, got {part!r}")
        if key in settings:
            raise SpecError(f"specification {spec!r}: {key!r} is set twice")
        settings[key] = _inside(value)
    return name, settings


def taken_out(spec: str, key: str) -> tuple[str, str | None]:
    """A specification without one of its settings, and the text of that setting; None where it is not set.

    Raises
    ------
    SpecError : the specification is malformed.
    """
    name, settings = parse(spec)
    parts = _split(headed(spec)[2], spec) if settings else []
    kept = ",".join(part for part in parts if part.partition("=")[0] != key)
    return name + (":" + kept if kept else ""), settings.get(key)


def listed(text: str) -> list[str]:
    """Split ``one,[two,of,it],three``; what holds a comma stands in brackets.

    Raises
    ------
    SpecError : brackets do not match.
    """
    return [_inside(part) for part in _split(text, text)]


def _inside(value: str) -> str:
    return value[1:-1] if value.startswith("[") and value.endswith("]") else value


def _split(text: str, spec: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if depth < 0:
            break
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    if depth:
        raise SpecError(f"specification {spec!r}: brackets do not match")
    return parts


def build(factory: Any, name: str, settings: dict[str, str]) -> Any:
    """Call a factory with settings given as text, converted to its annotated types; ``as-coded`` is ``as_coded``.

    Raises
    ------
    SpecError : the factory has no such parameter, or needs another one, or a value cannot be converted or is refused.
    """
    parameters = inspect.signature(factory).parameters
    needed = [each for each in parameters.values() if each.default is each.empty and each.kind not in _ANY_NUMBER]
    given = {key.replace("-", "_") for key in settings}
    if missing := [each.name for each in needed if each.name not in given]:
        raise SpecError(f"{name!r} needs {missing[0]!r}: {name}:{missing[0]}=...")
    if not settings:
        return factory()
    # Fields of a dataclass may be inherited from another file, whose names the class itself knows how to find.
    whole = is_dataclass(factory) or not inspect.isclass(factory)
    annotated = factory if whole else factory.__init__
    hints = typing.get_type_hints(annotated)
    durations = (Seconds, WholeSeconds, Seconds | None, WholeSeconds | None)
    hints |= {
        name: hint for name, hint in typing.get_type_hints(annotated, include_extras=True).items() if hint in durations
    }
    settings = {key.replace("-", "_"): value for key, value in settings.items()}
    for key in settings:
        if key not in parameters:
            known = ", ".join(parameters) or "none"
            raise SpecError(f"{name!r} has no parameter {key!r}. Known: {known}")
    return factory(**{key: _convert(value, hints.get(key, str), f"{name}:{key}") for key, value in settings.items()})


def _convert(text: str, hint: Any, where: str) -> Any:
    options = (
        typing.get_args(hint)
        if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
        else (hint,)
    )
    if type(None) in options and text.lower() == "none":
        return None
    for option in options:
        if option in (Seconds, WholeSeconds):
            try:
                return seconds_in(text, whole=option == WholeSeconds)
            except ValueError as error:
                raise SpecError(f"{where}: {error}") from None
        if typing.get_origin(option) is typing.Literal:
            if text in typing.get_args(option):
                return text
        elif option is bool:
            if text.lower() in ("true", "yes", "on", "false", "no", "off"):
                return text.lower() in ("true", "yes", "on")
        elif option in (int, float):
            try:
                return whole_number(text) if option is int else real_number(text)
            except ValueError:
                continue
        elif option is str:
            return text
    wanted = " or ".join(
        "|".join(typing.get_args(o)) if typing.get_origin(o) is typing.Literal else getattr(o, "__name__", str(o))
        for o in options
        if o is not type(None)
    )
    raise SpecError(f"{where}: expected {wanted}, got {text!r}")
