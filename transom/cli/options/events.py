"""The option ``--rules`` of ``transom simulate``: under which event rules, and what does not go with them."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from transom.cli.options import common as options
from transom.cli.options.reading import Reading, read_workload

if TYPE_CHECKING:
    from transom.simulation.event_rules import EventRules
    from transom.simulation.runs import Run
    from transom.traces import Workload

Rules = Annotated[
    str,
    typer.Option(
        "--rules",
        metavar="RULES",
        help="Event rules: textbook, or those of another program, for cross-checks: cqsim, accasim, "
        "rlscheduler[:KEY=VALUE,...] with the keys sign (real, published), sequences, "
        "length, first and seed, and for tasks cloudsimpy. Packages can add others.",
    ),
]


class Read(NamedTuple):
    """A trace as it was read: the jobs, the rules they are replayed under, and what a recording says of both.

    ``protocol`` says that sequences are drawn from these jobs.
    """

    workload: Workload
    rules: EventRules
    card: dict[str, Any]
    protocol: bool = False


def given(context: typer.Context) -> dict[str, Any]:
    """The options that were stated on the command line, by parameter name."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name: context.params[name] for name, source in sources.items() if source and source.name == "COMMANDLINE"}


def read_under(
    text: str, context: typer.Context, reading: Reading, trace: Path, nodes: int | None, runs: list[Run]
) -> Read:
    """Read a trace as the options say and as programs with these event rules would.

    Under ``cqsim`` jobs without a requested time are left out unless an option says otherwise. Under ``rlscheduler``
    jobs are read by its own rules and stand by id; without --start and --jobs, sequences are to be drawn from them.

    Parameters
    ----------
    text : the specification of the rules.
    context : of the command, for its other options.
    reading : those about how jobs are read.
    trace, nodes : the file, and the size of the machine if it is stated.
    runs : the policies, which the rules must take.

    Raises
    ------
    SpecError : the rules are unknown, do not take a policy, or do not go with another option.
    """
    from transom.errors import SpecError
    from transom.registry import parse
    from transom.simulation.event_rules import SequenceRules, Textbook, parse_rules, suited_policy
    from transom.simulation.reading import read_sequence, reading_under

    rules, stated, where = parse_rules(text), given(context), f"--rules {text}"
    start, jobs = context.params["start"], context.params["jobs"]
    card = {"nodes": nodes, "start": start, "jobs": jobs}
    if not isinstance(rules, Textbook):
        card["events"] = rules.name
        options.refuse(
            spelt(stated, "cluster", "resources", "partition_nodes", "period", "outages", "on_failure"), where
        )
        reading = reading._replace(merge_partitions=True)
        for run in runs:
            suited_policy(rules, run.policy, run.spec)
    if not isinstance(rules, SequenceRules):
        if not {"walltime", "estimates"} & stated.keys():
            reading = reading._replace(walltime=reading_under(rules).walltime)
        seed = context.params["seed"]
        workload = read_workload(trace, nodes, start, jobs, rules.name, seed, reading)
        return Read(workload, rules, {**card, **reading._asdict(), "seed": seed})

    options.refuse(spelt(stated, *Reading._fields, "jitter", "repeats"), where)
    if "seed" in stated:
        raise SpecError(f"{where}: --seed draws nothing here; which sequences are drawn says {rules.name}:seed=NUMBER")
    settings = parse(text)[1]
    if not {"start", "jobs"} & stated.keys():
        options.refuse(spelt(stated, "by", "figures", "formats", "warm_up", "cool_down"), where)
        return Read(*rules.read(trace, nodes), card, protocol=True)
    for name in rules.protocol:
        if name in settings:
            raise SpecError(f"{where}: {name} does not go with --start and --jobs, which state one sequence")
    return Read(*read_sequence(trace, rules, nodes, start, jobs), card)


def refuse_others(context: typer.Context, suited: Container[str], where: str) -> None:
    """Say no to the options of a command that were stated and do not go with something.

    Raises
    ------
    SpecError : one of them is not among those that are suited.
    """
    stated = given(context)
    options.refuse(spelt(stated, *(name for name in stated if name not in suited)), where)


def spelt(stated: dict[str, Any], *names: str) -> dict[str, Any]:
    """Values of options as they are spelt on the command line, None where an option is not stated."""
    return {"--" + {"formats": "format"}.get(name, name).replace("_", "-"): stated.get(name) for name in names}
