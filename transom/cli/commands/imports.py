"""``transom import``: records of resource managers, and traces in Standard Workload Format, as traces."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from transom.cli.options import common as options
from transom.cli.options import records
from transom.cli.output.imports import import_trace

Format = Literal["sacct", "squeue", "json", "scontrol", "jobcomp"]
"""What wrote a file."""


def slurm_command(
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
            help="Machine, partitions, topology and maintenance: slurm.conf, topology.conf, or what scontrol show "
            "nodes, partitions, topology or reservation prints. Repeat for several.",
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
    from transom.traces.records.importing import ImportRules, Site
    from transom.traces.records.slurm import read_slurm
    from transom.traces.records.slurm_conf import read_site

    names = tuple(name.strip() for name in columns.split(",")) if columns else ()
    chosen = ImportRules(unit, bad, timezone, nodes)
    kind = format
    site = read_site(conf, timezone) if conf else Site()
    import_trace("slurm", files, out, lambda: read_slurm(files, chosen, kind, names, site), anonymise, key, json)


def pbs_command(
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
    from transom.traces.records.importing import ImportRules
    from transom.traces.records.pbs import read_pbs

    chosen = ImportRules(unit, bad, timezone, nodes)
    import_trace("pbs", files, out, lambda: read_pbs(files, chosen), anonymise, key, json)


def lsf_command(
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
    from transom.traces.records.importing import ImportRules
    from transom.traces.records.lsf import read_lsf

    chosen = ImportRules(unit, bad, None, nodes)
    import_trace("lsf", files, out, lambda: read_lsf(files, chosen), anonymise, key, json)


def swf_command(
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
    from transom.traces.records.importing import ImportRules
    from transom.traces.records.swf import read_swf_records

    names = tuple(name.strip() for name in columns.split(",")) if columns else ()
    chosen = ImportRules("nodes", 0.0, None, nodes)
    import_trace("swf", [file], out, lambda: read_swf_records(file, chosen, names), anonymise, key, json)


def batsim_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A workload of Batsim, JSON, plain or gzip.")],
    out: records.Out,
    platform: Annotated[
        str | None,
        typer.Option(
            "--platform",
            metavar="FILE",
            help="A platform of SimGrid, XML: how many hosts compute, and how fast. By default, nb_res of the workload "
            "is the machine, and only delays have a runtime.",
        ),
    ] = None,
    nodes: records.Nodes = None,
    json: options.Json = False,
) -> None:
    """Make a trace of a workload of Batsim.

    Runtimes follow from delays, from computation on the slowest host of --platform, and from sequences of these. Jobs
    that communicate, read, write or replay have no runtime in the trace, and replays leave them out, counted.
    """
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from transom.traces.batsim import read_platform, workload_as_swf
    from transom.traces.records.importing import ImportRules
    from transom.traces.records.swf import read_swf_records

    text = workload_as_swf(file, None if platform is None else read_platform(platform))
    with TemporaryDirectory() as folder:
        trace = Path(folder) / f"{Path(file).name.split('.')[0] or 'batsim'}.swf"
        trace.write_bytes(text)
        chosen = ImportRules("nodes", 0.0, None, nodes)
        import_trace("batsim", [file], out, lambda: read_swf_records(str(trace), chosen, ()), False, None, json)
