"""What a plan is about, read once: its instances, its replays, and which solvers do not apply where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import TemporaryFile

import msgspec

from transom.bench.plan.instances import Met, instances_of
from transom.bench.plan.plan import Plan, TraceSet, set_name
from transom.bench.plan.sequences import replay_tasks
from transom.bench.plan.task import Task
from transom.errors import SpecError
from transom.solving import refusal, wrong_type


@dataclass(slots=True)
class Unsupported:
    """A solver that takes none of the instances of a kind in a set.

    Parameters
    ----------
    set, name, problem : the set, the solver and the kind.
    reason : what it says of the first instance.
    instances : how many there are.
    """

    set: str
    name: str
    problem: str
    reason: str
    instances: int = 0


class Contents:
    """The instances and replays of a plan.

    Attributes
    ----------
    met : the instances without their problems; documents wait in a file without a name until their runs come.
    replays : of each trace.
    instances : how many each set has.
    unmade : how many of them were only counted: no solver was asked about them.
    unsupported : which solvers do not apply where.
    """

    def __init__(self) -> None:
        self.met: list[Met] = []
        self.replays: list[list[Task]] = []
        self.instances: dict[str, int] = {}
        self.unmade = 0
        self.unsupported: tuple[Unsupported, ...] = ()
        self._file = TemporaryFile()  # noqa: SIM115  (it goes with this object)
        self._ends: list[int] = [0]

    def add(self, met: Met) -> None:
        """Keep an instance."""
        from transom.io import encode

        self.met.append(met._replace(problem=None))
        self.instances[met.set] = self.instances.get(met.set, 0) + 1
        self.unmade += met.problem is None
        self._ends.append(self._ends[-1] + (0 if met.problem is None else self._file.write(encode(met.problem))))

    def document(self, number: int) -> msgspec.Raw:
        """The document of an instance, by its place among ``met``."""
        self._file.seek(self._ends[number])
        return msgspec.Raw(self._file.read(self._ends[number + 1] - self._ends[number]))


def read_contents(plan: Plan, make: bool = True) -> Contents:
    """Read the files of a plan, make the instances of its recipes, and ask each solver about each instance.

    Parameters
    ----------
    plan : the plan.
    make : whether the instances of recipes are made. Otherwise they are counted where the recipe says how many there
        are and of which kind, and every solver of that kind counts for each: quick, but it notices neither a refusal
        nor an instance that two recipes have in common.

    Raises
    ------
    DocumentError, TraceError, ModelError : a file cannot be read, or holds something else.
    SpecError : a solver, policy, recipe or parameter is unknown or does not fit, one solver stands in a set under two
        names, or none takes anything in the whole plan.
    """
    contents = Contents()
    takes: dict[tuple[str, str, str], Unsupported | None] = {}
    for met in instances_of(plan, make):
        contents.add(met)
        for named in met.named:
            terms = (met.set, named.name, met.kind)
            if terms in takes and takes[terms] is None:
                continue
            solver = named.solver.for_type(met.model)
            reason = wrong_type(solver, met.model) if met.problem is None else refusal(solver, met.problem)
            if reason is None:
                takes[terms] = None
            else:
                says = takes.setdefault(terms, Unsupported(*terms, reason))
                assert says is not None
                says.instances += 1
    for trace, replays in _replays(plan, make):
        contents.instances[set_name(trace)] = 1
        contents.unmade += not make and trace.generate is not None
        contents.replays.append(replays)
    contents.unsupported = tuple(says for says in takes.values() if says is not None)
    if contents.unsupported and None not in takes.values() and not any(contents.replays):
        says = contents.unsupported[0]
        raise SpecError(f"solver {says.name!r} takes nothing in this plan; {says.set}: {says.problem}: {says.reason}")
    return contents


def _replays(plan: Plan, make: bool) -> Iterator[tuple[TraceSet, list[Task]]]:
    """The replays of each trace, but for those that an earlier set has as well."""
    seen: set[str] = set()
    for trace in plan.traces:
        replays = [run for run in replay_tasks(plan, trace, make) if run.key() not in seen]
        seen.update(run.key() for run in replays)
        yield trace, replays
