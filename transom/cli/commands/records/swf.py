"""``transom import swf``: a trace in Standard Workload Format as a Parquet file."""

from __future__ import annotations

from typing import Annotated

import typer

from transom.cli.options import common as options
from transom.cli.options import records
from transom.cli.output.imports import import_trace


def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A trace in Standard Workload Format, plain or gzip.")],
    out: records.Out,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="NAME,...",
            help="Names of all fields in their order, or of those behind the 18th, instead of those in the header.",
        ),
    ] = None,
    nodes: records.Nodes = None,
    anonymise: records.Anonymise = False,
    key: records.Key = None,
    json: options.Json = False,
) -> None:
    """Make a trace of one in Standard Workload Format, with all fields that its lines have.

    Further fields become columns: those called gpus, cores, eligible and so on are the columns of that name, others are
    kept beside them. A replay of the result equals that of the file.
    """
    from transom.traces.records.swf import read_swf_records

    names = tuple(name.strip() for name in columns.split(",")) if columns else ()
    chosen = records.rules("nodes", 0.0, None, nodes)
    import_trace("swf", [file], out, lambda: read_swf_records(file, chosen, names), anonymise, key, json)
