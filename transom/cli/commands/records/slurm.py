"""``transom import slurm``: Slurm's accounting data as a trace."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from transom.cli.options import common as options
from transom.cli.options import records
from transom.cli.output.imports import import_trace

Format = Literal["sacct", "squeue", "json", "scontrol", "jobcomp"]
"""What wrote a file."""


def command(
    files: records.Files,
    out: records.Out,
    format: Annotated[
        Format | None,
        typer.Option("--format", help="What wrote the files. By default, each file is recognised by its beginning."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="NAME,...", help="Columns of a table that has no header line."),
    ] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option(
            "--conf",
            metavar="FILE",
            help="Machine, partitions and topology: slurm.conf, topology.conf, or what scontrol show nodes, partitions "
            "or topology prints. Repeat for several.",
        ),
    ] = None,
    unit: records.UnitOption = "auto",
    nodes: records.Nodes = None,
    timezone: records.Timezone = None,
    bad: records.Bad = 0.1,
    anonymise: records.Anonymise = False,
    key: records.Key = None,
    json: options.Json = False,
) -> None:
    """Make a trace of what Slurm has recorded.

    Reads the output of sacct --parsable2 (any columns), sacct --json, squeue and scontrol show job (text or JSON), and
    the file of jobcomp/filetxt. Everything that is repaired or left out is counted and printed.
    """
    from transom.traces.records.importing import Site
    from transom.traces.records.slurm import read_slurm
    from transom.traces.records.slurm_conf import read_site

    names = tuple(name.strip() for name in columns.split(",")) if columns else ()
    chosen = records.rules(unit, bad, timezone, nodes)
    kind = format
    site = read_site(conf) if conf else Site()
    import_trace("slurm", files, out, lambda: read_slurm(files, chosen, kind, names, site), anonymise, key, json)
