"""``transom protocol rlscheduler``: policies over the ten sequences on which the field compares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options import completion
from transom.cli.output.console import describe, note, number, print_json, print_table, progress, remark, remarked
from transom.cli.output.learned_policies import RULES, ReferenceOption, card_lines, print_cards

if TYPE_CHECKING:
    from transom.adapters.rules.rlscheduler import RLScheduler


Backfill = Literal["none", "easy"]
"""Whether jobs are started ahead of one that waits for nodes."""


def command(
    trace: options.Trace,
    policy: Annotated[
        list[str],
        typer.Option(
            "--policy",
            autocompletion=completion.policies,
            help="Policy: [LABEL=]SPEC, such as sjf, without a backfilling suffix. Repeat to compare.",
        ),
    ],
    rules: Annotated[
        str,
        typer.Option(
            "--rules",
            metavar="RULES",
            help="Event rules: rlscheduler[:KEY=VALUE,...], whose picked job is locked until it starts, with the keys "
            "sign (real, published), sequences, length, first, after and seed; or textbook.",
        ),
    ] = "rlscheduler",
    backfill: Annotated[
        Backfill, typer.Option("--backfill", help="Start jobs ahead of one that waits for nodes: EASY, or not at all.")
    ] = "none",
    sequences: Annotated[
        int | None, typer.Option("--sequences", min=1, help="Number of sequences.  [default: 10]")
    ] = None,
    length: Annotated[
        int | None, typer.Option("--length", min=1, help="Consecutive jobs of a sequence.  [default: 1024]")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Seed of the sequences and of policies.  [default: 1]")
    ] = None,
    first: Annotated[
        int | None,
        typer.Option("--first", min=1, help="Draw sequences from this many first jobs.  [default: 10000]"),
    ] = None,
    after: Annotated[
        int | None,
        typer.Option("--after", min=0, help="Sequences begin at this position of the trace or later.  [default: 0]"),
    ] = None,
    reference: ReferenceOption = True,
    nodes: options.Nodes = None,
    json: options.Json = False,
) -> None:
    """Compare policies over random sequences of a trace, as RLScheduler's authors do.

    Each sequence starts on an empty machine. Jobs are read by RLScheduler's rules. Under --rules rlscheduler any policy
    picks one of the first 128 waiting jobs (priority rules: of all), which is locked until it starts. With --json, a
    line for each policy holds the means over the sequences and each sequence.
    """
    from transom.adapters.rules.rlscheduler_protocol import compare, parse_entries

    stated = {"sequences": sequences, "length": length, "seed": seed, "first": first, "after": after}
    protocol, textbook = _rules(rules, {name: value for name, value in stated.items() if value is not None})
    entries = parse_entries(policy, backfill, textbook)
    workload, protocol = protocol.read(trace, nodes)
    cards = card_lines(((each.label, each.policy) for each in entries), workload.cluster.num_nodes)
    if cards and reference and not json:
        beside = parse_entries([rule.removesuffix("-easy") for rule in RULES], backfill, textbook)
        known = {each.spec for each in entries}
        entries += [each._replace(label=f"{each.label} (reference)") for each in beside if each.spec not in known]
    if not textbook:
        from dataclasses import replace

        protocol = replace(protocol, backfill=backfill)
    starts = protocol.starts(len(workload))
    for line in describe(workload):
        note(line)
    note(f"  sequences of {counted(protocol.length, 'job')} begin at {', '.join(map(str, starts))}")
    with progress(hidden=json) as bars:
        tasks = {each.label: bars.add_task(each.label, total=len(starts)) for each in entries}
        lines = compare(entries, workload, protocol, textbook, lambda label: bars.advance(tasks[label]))
    print_cards(cards, json)
    if json:
        drawn = {name: getattr(protocol, name) for name in ("seed", "length", "first", "after")}
        for each in lines:
            print_json({"protocol": protocol.name, "trace": str(trace), **each, **drawn})
        return
    said = lines[0]["rules"]
    title = (
        f"{workload.name} under {said} events, {'EASY' if backfill == 'easy' else 'no'} backfilling: "
        f"{counted(len(starts), 'sequence')} of {counted(protocol.length, 'job')} (seed {protocol.seed})"
    )
    _print(remarked(title, workload), lines)


def _rules(text: str, stated: dict[str, Any]) -> tuple[RLScheduler, bool]:
    """The rules with the settings of options, and whether the textbook's events replace theirs."""
    from dataclasses import replace

    from transom.adapters.rules.rlscheduler import RLScheduler
    from transom.errors import SpecError
    from transom.registry import parse
    from transom.simulation.event_rules import Textbook, parse_rules

    rules = parse_rules(text)
    if isinstance(rules, Textbook):
        return RLScheduler(**stated), True
    if not isinstance(rules, RLScheduler):
        raise SpecError(f"--rules {text}: this protocol takes rlscheduler or textbook")
    settings = parse(text)[1]
    for name in (*stated, "backfill"):
        if name in settings:
            raise SpecError(f"--rules {text}: {name} is stated by --{name}")
    return replace(rules, **stated), False


def _print(title: str, lines: list[dict[str, Any]]) -> None:
    from transom._system.durations import column_unit
    from transom.adapters.rules.rlscheduler_protocol import SIGNED
    from transom.simulation.policies.clocks import clock_remarks

    sign, unit = column_unit((each["wait"] for each in lines), 2)
    published = [each["published"] for each in lines]
    columns = [
        "policy", "backfilling", "clock", "bounded slowdown", "median", "its 95 % limits", f"wait [{sign}]", "slowdown",
        "utilisation [%]", *(["published"] if any(published) else []),
    ]  # fmt: skip
    rows = []
    for line, beside in zip(lines, published, strict=True):
        limits = line["intervals"]["bounded_slowdown"]
        rows.append([
            line["policy"],
            line["backfill"],
            line["clock"] or "-",
            number(line["bounded_slowdown"]),
            number(line["medians"]["bounded_slowdown"]),
            "-" if limits is None else f"{number(limits[0])} to {number(limits[1])}",
            number(line["wait"] / unit),
            number(line["slowdown"], 1),
            number(100 * line["utilisation"], 1),
            *([number(beside["bounded_slowdown"] or float("nan"))] if beside else []),
        ])  # fmt: skip
    print_table(f"{title}; means over sequences", columns, rows, left=3)
    for text in clock_remarks((line["policy"], line["clock"]) for line in lines):
        remark(text)
    if published[0]:
        remark(f"published for RLScheduler's learned policy: {number(published[0]['learned'])}")
    if any(line["spec"] in SIGNED and "sign=" not in line["rules"] for line in lines) and published[0]:
        remark(f"{' and '.join(SIGNED)} were published with the wrong sign: --rules rlscheduler:sign=published")
