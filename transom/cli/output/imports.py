"""What ``transom import`` prints and writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom._system.wording import counted
from transom.cli.output.console import check_writable, note, print_json, print_table, remark

if TYPE_CHECKING:
    from transom.traces.records.importing import Imported


def import_trace(
    kind: str,
    files: Sequence[str],
    out: Path,
    read: Callable[[], Imported],
    anonymise: bool,
    key: Path | None,
    json: bool,
) -> None:
    """Read records, hide names if asked for, write the trace and say what was done.

    Raises
    ------
    SpecError : there is a key and nothing to hide.
    DocumentError, TraceError : a file cannot be read or written.
    """
    from transom import __version__
    from transom.errors import SpecError
    from transom.traces.records.anonymise import anonymised, read_key, values_unsaid
    from transom.traces.records.swf_file import write_swf_trace
    from transom.traces.trace_file import write_trace

    if key is not None and not anonymise:
        raise SpecError("--key needs --anonymise")
    check_writable(out, ".parquet", ".swf")
    if out.name.endswith(".parquet.gz"):
        raise SpecError(f"{out}: Parquet files are packed already; expected .parquet, .swf or .swf.gz")
    secret = read_key(key) if anonymise else b""
    with values_unsaid() if anonymise else nullcontext():
        trace = read()
    if anonymise:
        trace = anonymised(trace, secret)
    # The names of files are those of the people who made them.
    names = {} if anonymise else {"files": list(files)}
    source = {**trace.card.source, "kind": kind, "version": __version__, **names}
    trace = trace._replace(card=replace(trace.card, source=source))
    if out.name.endswith(".parquet"):
        write_trace(out, trace.jobs, trace.card)
    else:
        write_swf_trace(out, trace.jobs, trace.card)
    if json:
        print_json({"trace": str(out), **_document(trace)})
        return
    card, findings = trace.card, trace.findings
    rows = [[what, f"{number:,}"] for what, number in card.repairs.items()]
    if rows:
        print_table(f"{counted(findings.records, 'record')} of {kind}", ("what was done", "records"), rows)
    size = card.machine[card.unit]
    many = f"{counted(len(trace.jobs), 'job')} on {size:,} {card.unit}"
    remark(f"{out}: {many}, {counted(len(card.partitions), 'partition')}")
    for text in findings.notes:
        note(text)


def _document(trace: Imported) -> dict[str, Any]:
    card, findings = trace.card.document(), trace.findings
    jobs = trace.jobs
    return {
        "kind": card["source"]["kind"],
        "records": findings.records,
        "jobs": len(jobs),
        "ran": int((jobs["runtime"] > 0).sum()),
        "unit": card["unit"],
        "machine": card["machine"],
        "machine_told_by": card["told_by"],
        "partitions": card["partitions"],
        "repairs": card["repairs"],
        "bad": findings.bad,
        "first_bad": findings.first,
        "notes": findings.notes,
    }
