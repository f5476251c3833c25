"""``transom import pbs``: accounting logs of PBS as a trace."""

from __future__ import annotations

from transom.cli.options import common as options
from transom.cli.options import records
from transom.cli.output.imports import import_trace


def command(
    files: records.Files,
    out: records.Out,
    unit: records.UnitOption = "auto",
    nodes: records.Nodes = None,
    timezone: records.Timezone = None,
    bad: records.Bad = 0.1,
    anonymise: records.Anonymise = False,
    key: records.Key = None,
    json: options.Json = False,
) -> None:
    """Make a trace of the accounting logs of PBS Professional, OpenPBS or Torque.

    Give all files of a period, such as server_priv/accounting/2026*. Everything that is repaired or left out is
    counted and printed.
    """
    from transom.traces.records.pbs import read_pbs

    chosen = records.rules(unit, bad, timezone, nodes)
    import_trace("pbs", files, out, lambda: read_pbs(files, chosen), anonymise, key, json)
