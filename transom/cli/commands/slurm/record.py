"""``transom slurm record``: what happened in a Slurm, as a trace."""

from __future__ import annotations

from typing import Annotated

import typer

from transom.cli.options import common as options
from transom.cli.options import records
from transom.cli.output.imports import import_trace


def command(
    out: records.Out,
    eligible: Annotated[
        bool, typer.Option("--eligible", help="Count jobs as submitted when they became eligible.")
    ] = False,
    unit: records.UnitOption = "auto",
    anonymise: records.Anonymise = False,
    key: records.Key = None,
    json: options.Json = False,
) -> None:
    """Write what the Slurm of this machine remembers of its jobs as a trace, with the nodes of each.

    Jobs of `transom slurm play` have the ids of their trace. Slurm forgets a job some minutes after its end
    (MinJobAge); `transom import slurm` takes its accounting records, which last.
    """
    from transom.slurm.playing import record

    import_trace("slurm", ["scontrol show job"], out, lambda: record(eligible, unit), anonymise, key, json)
