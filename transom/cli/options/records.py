"""Options of ``transom import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from transom.cli.options.common import LARGEST

Unit = Literal["auto", "nodes", "cores"]
"""What sizes of jobs count."""


Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Files, plain or gzip; - is standard input.")]
Out = Annotated[
    Path, typer.Option("-o", "--out", help="The trace to write: .parquet, or .swf or .swf.gz, which hold less.")
]
UnitOption = Annotated[
    Unit, typer.Option("--unit", help="What sizes of jobs count. auto: nodes, where the records state them.")
]
Nodes = Annotated[
    int | None,
    typer.Option(
        "--nodes",
        min=1,
        max=LARGEST,
        help="Size of the machine in the unit. By default that of the configuration, else the most in use at once.",
    ),
]
Timezone = Annotated[
    str | None,
    typer.Option("--timezone", metavar="NAME", help="Zone of times that state none, such as Europe/Berlin. [UTC]"),
]
Bad = Annotated[
    float,
    typer.Option("--bad", min=0, max=1, metavar="SHARE", help="Skip records that cannot be read, up to this share."),
]
Anonymise = Annotated[
    bool,
    typer.Option("--anonymise", help="Replace users, accounts, groups and reservations by keyed hashes; drop names."),
]
Key = Annotated[
    Path | None,
    typer.Option(
        "--key", metavar="FILE", help="Key of the hashes, made there if it is absent. By default a new one, not kept."
    ),
]
