"""``transom import lsf``: the accounting log of LSF as a trace."""

from __future__ import annotations

from transom.cli.options import common as options
from transom.cli.options import records
from transom.cli.output.imports import import_trace


def command(
    files: records.Files,
    out: records.Out,
    unit: records.UnitOption = "auto",
    nodes: records.Nodes = None,
    bad: records.Bad = 0.1,
    anonymise: records.Anonymise = False,
    key: records.Key = None,
    json: options.Json = False,
) -> None:
    """Make a trace of lsb.acct, the accounting log of LSF.

    The log holds no runtime limits, so walltimes are not known: use --estimates in a replay. Everything that is
    repaired or left out is counted and printed.
    """
    from transom.traces.records.lsf import read_lsf

    chosen = records.rules(unit, bad, None, nodes)
    import_trace("lsf", files, out, lambda: read_lsf(files, chosen), anonymise, key, json)
