"""The table of ``auto`` out of results, kind by kind; kinds without results keep their trees of the package."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from transom._system.files import atomic_write
from transom.bench.plan.plan import Plan
from transom.bench.portfolio.training import make_choice
from transom.bench.portfolio.training_data import read_cases
from transom.errors import DocumentError
from transom.solvers.auto.features import features, names_for
from transom.solvers.auto.machine_speed import seconds_of_a_probe
from transom.solvers.auto.table import FORMAT, SECONDS, Choice, Leaf, Making, Split, Table, packaged, parse_table

COMMAND = "python -m benchmarks.portfolio"
"""What makes the table of the package again, from the plans on."""

_SLOWDOWNS = (1.0, 2.0, 5.0)
"""A schedule has to do well on machines that are slower or busy, too: a case is made for each, of less weight."""


def make_table(stores: Sequence[Path]) -> tuple[Table, list[str]]:
    """The table out of stores of results; the instances are read or made again from their plans.

    Returns
    -------
    The table, and the kinds without results, whose trees are those of the packaged table.

    Raises
    ------
    StoreError, DocumentError : a folder holds no results or no plan, or there is nothing to learn from.
    """
    import polars as pl

    from transom.bench.store.store import read_plans, read_results

    plans: dict[str, str] = {}
    facts: dict[str, dict[str, float]] = {}
    for store in stores:
        if not store.exists():
            raise DocumentError(f"{store}: no such file or folder")
        if not (listed := read_plans(store)):
            raise DocumentError(f"{store}: holds no plan, from which the instances could be made again")
        for plan in listed:
            plans[plan.name or store.name] = plan.digest()
            facts.update(_facts(plan))
    frame = pl.concat([read_results(store) for store in stores])
    cases = read_cases(frame, facts, slowdowns=_SLOWDOWNS)
    if not cases:
        raise DocumentError("portfolio: there are no results with a limit of time to learn from")
    probe, known = float(f"{seconds_of_a_probe():.3g}"), packaged()
    problems, kept = {}, []
    for kind in dict.fromkeys([*known.problems, *(case.kind for case in cases)]):
        if mine := [case for case in cases if case.kind == kind]:
            problems[kind] = make_choice(mine)
        else:
            kept.append(kind)
            problems[kind] = _on_another_machine(known.problems[kind], known.made.probe, probe)
    before = known.made if kept else None
    made = Making(
        date=datetime.now(UTC).date().isoformat(),
        command=COMMAND,
        plans={**(before.plans if before else {}), **plans},
        code=_all(frame["code"].unique().to_list(), before.code if before else ()),
        machines=_all(map(_machine, frame["machine"].unique().to_list()), before.machines if before else ()),
        budgets=tuple(sorted({*(case.budget for case in cases), *(before.budgets if before else ())})),
        probe=probe,
    )
    return Table(FORMAT, made, problems), kept


def _all(new: Iterable[str], before: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*new, *before}))


def _on_another_machine(choice: Choice, learnt: float, now: float) -> Choice:
    """A choice whose questions about time are about seconds of this machine.

    Parameters
    ----------
    learnt, now : what a probe takes on the machine where it was learnt, and here [s].
    """
    return msgspec.structs.replace(choice, timed=_shifted(choice.timed, math.log10(now / learnt)))


def _shifted(node: Split | Leaf, by: float) -> Split | Leaf:
    if isinstance(node, Leaf):
        return node
    at_most = node.at_most + (by if node.feature == SECONDS else 0.0)
    return Split(node.feature, at_most, _shifted(node.yes, by), _shifted(node.no, by))


def write_table(path: Path, table: Table) -> None:
    """Write a table as JSON that people can read; it is read again before it is there."""
    text = msgspec.json.format(msgspec.json.encode(table), indent=1)
    parse_table(text, str(path))
    with atomic_write(path) as file:
        file.write(text.decode() + "\n")


def _facts(plan: Plan) -> Iterator[tuple[str, dict[str, float]]]:
    from transom.bench.plan.tasks import read_set

    for each in plan.instances:
        for instance in read_set(each):
            if names_for(instance.problem.kind):
                yield instance.problem.digest(), features(instance.problem)


def _machine(facts: str) -> str:
    """The processor and the cores of a machine in words; its name is nobody's business."""
    known = msgspec.json.decode(facts)
    return f"{known.get('processor', 'unknown processor')}, {known.get('cores', '?')} cores"
