"""``transom conform``: start times of other programs beside those of the textbook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options import completion
from transom.cli.options.digits import DURATION
from transom.cli.options.events import Read, read_under, refuse_others
from transom.cli.options.outages import OutagesOption, with_outages
from transom.cli.options.reading import Reading
from transom.cli.options.resources import Resources, equipped
from transom.cli.options.structs import with_structs
from transom.cli.output.console import describe, note, print_json

if TYPE_CHECKING:
    from transom.conform.dialects import Dialect, Explained
    from transom.errors import TransomError
    from transom.simulation.event_rules import EventRules
    from transom.traces import Workload


@with_structs
def command(
    context: typer.Context,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="STARTS|COMMAND...",
            help="Start times: CSV with the columns job and start, a trace in the Standard Workload Format, or "
            "jobs.parquet. With --golden, a command.",
        ),
    ],
    trace: Annotated[
        Path | None,
        typer.Option("--trace", help="The trace that was scheduled. With --golden, a folder with real traces."),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            "--policy", metavar="SPEC", autocompletion=completion.policies, help="The policy to compare with."
        ),
    ] = "fcfs-easy",
    dialect: Annotated[
        list[Path] | None,
        typer.Option("--dialect", metavar="FILE", help="A further dialect, as TOML. Repeat for several."),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Draw both schedules around the first difference (PNG, PDF or SVG).")
    ] = None,
    golden: Annotated[
        str | None,
        typer.Option(
            "--golden",
            metavar="DIR",
            help="Run COMMAND TRACE POLICY on each golden schedule of a folder: bundled, or one of yours.",
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar=DURATION, help="Time limit of the command on a golden schedule.")
    ] = 60.0,
    resources: Resources = None,
    outages: OutagesOption = None,
    start: options.Start = 0,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    nodes: options.Nodes = None,
    *,
    reading: Reading,
) -> None:
    """Compare the start times of any program with those of the textbook.

    Prints how many starts differ, the first wrong one with the rule that it breaks, and the dialect that explains all
    of them, if a known one does. Columns have any common spelling, and times are on the clock of the trace [s]; end
    and nodes are optional. The exit status is 1 if starts differ.

    With --golden, a command is run on small workloads, each for one rule, and judged: transom conform --golden bundled
    -- ./mine --fast. It is given a trace and the name of a policy, and prints the columns job and start.
    """
    from transom.errors import SpecError

    if golden is not None:
        refuse_others(context, {"words", "trace", "golden", "timeout", "json"}, "--golden")
        options.check_positive("--timeout", timeout)
        _run_golden(golden, words, trace, timeout, json)
        return
    if trace is None or len(words) > 1:
        raise SpecError("conform needs one file of start times and --trace; a command needs --golden")
    starts = Path(words[0])
    from transom.conform.dialects import explaining, known_dialects, read_dialect
    from transom.conform.judging import judge
    from transom.conform.starts import aligned, read_starts
    from transom.simulation.policies.by_name import make_policy
    from transom.simulation.runs import parse_runs
    from transom.traces.job_ids import read_labels

    dialects = [*(read_dialect(each) for each in dialect or ()), *known_dialects()]
    for each in dialects:
        if odd := each.reading.keys() - set(Reading._fields):
            raise SpecError(f"dialect {each.name}: [reading] has no option {min(odd)}")
    chosen = make_policy(policy)
    read = read_under("textbook", context, reading, trace, nodes, [])
    workload = equipped(read.workload, trace, resources, seed).workload
    labels = read_labels(trace, workload.jobs.id)
    numbers = dict(zip(labels, workload.jobs.id.tolist(), strict=True)) if labels else {}
    rows = read_starts(starts, {label: job for label, job in numbers.items() if not label.isdecimal()})
    theirs = aligned(workload, rows)
    out = with_outages(parse_runs([policy]), outages, "requeue", workload, context)[1]
    verdict = judge(theirs, chosen, policy, out.outages, seed)
    if not json:
        for line in (*describe(workload), *out.notes, *out.unasked, *theirs.notes):
            note(line)
    found: list[Explained] = []
    left = 0
    if verdict.differ:
        # Most traces have no resources: a dialect is read anew from the file, as its program does.
        def again(dialect: Dialect, spec: str) -> tuple[Workload, EventRules]:
            changed = reading._replace(**dialect.reading)
            taken: Read = read_under(dialect.rules, context, changed, trace, nodes, parse_runs([spec]))
            return equipped(taken.workload, trace, resources, seed).workload, taken.rules

        def refused(each: Dialect, error: TransomError) -> None:
            if each in dialects[: len(dialect or ())]:
                note(f"dialect {each.name} is left out: {error}")

        most = 3 * len(workload) + 300_000
        found, left = explaining(rows, dialects, policy, chosen, again, refused, most, seed)
    document = {
        **verdict.document(),
        "dialect": found[0].dialect.name if found else None,
        "explained_by": [{"dialect": each.dialect.name, "policy": each.policy, "rules": each.rules} for each in found],
        "policy": policy,
        "notes": list(theirs.notes),
    }
    if figure is not None and verdict.first is not None:
        from transom.conform.picture import first_difference
        from transom.plot import save

        save(first_difference(theirs, verdict, starts.name), figure)
        note(f"figure: {figure}")
    if json:
        print_json(document)
    else:
        _print(document, found, left)
    if verdict.differ:
        raise typer.Exit(1)


def _print(document: dict[str, Any], found: list[Explained], left: int) -> None:
    differ, jobs, first = (document[key] for key in ("differ", "jobs", "first"))
    print(f"{differ:,} of {counted(jobs, 'start')} differ from {document['policy']}")
    if first is None:
        return
    then, right = (_second(first[key]) for key in ("start", "expected"))
    print(f"first: job {first['job']} starts {then}, expected {right}: {first['rule']}")
    print(f"  {first['why']}")
    for each in found:
        print(f"dialect that explains all: {each.dialect.name} (--policy {each.policy} --rules {each.rules})")
        print(f"  {each.dialect.about}")
    if not found:
        unfinished = f"; {left} of them were not tried to the end" if left else ""
        print(f"no known dialect explains all{unfinished}")


def _run_golden(golden: str, words: list[str], traces: Path | None, seconds: float, json: bool) -> None:
    """Run a command on all golden schedules of a folder, and say what came of each."""
    import tempfile

    from transom.conform.golden import BUNDLED, read_golden, run_case
    from transom.errors import SpecError

    if traces is not None and not traces.is_dir():
        raise SpecError(f"--trace {traces}: with --golden, this is a folder with real traces")
    came = []
    for case in read_golden(BUNDLED if golden == "bundled" else Path(golden)):
        with tempfile.TemporaryDirectory(prefix="transom-") as folder:
            came.append(run_case(case, words, seconds, Path(folder), traces))
        each = came[-1]
        if not json and each.status != "passed":
            print(f"{each.name} ({each.rule}): {each.status}: {each.says}")
    counts = {
        status: sum(each.status == status for each in came) for status in ("passed", "differs", "failed", "skipped")
    }
    if json:
        print_json({"cases": [each._asdict() for each in came], **counts})
    else:
        print(", ".join(f"{number} {status}" for status, number in counts.items()))
    if counts["passed"] + counts["skipped"] < len(came) or not counts["passed"]:
        raise typer.Exit(1)


def _second(time: int | None) -> str:
    return "never" if time is None else f"at {time:,} s"
