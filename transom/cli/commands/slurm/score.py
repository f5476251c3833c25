"""``transom slurm score``: how logged advice compares with what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom.cli.options import common as options
from transom.cli.options import records as records_options
from transom.cli.output.console import number, print_json, print_table


def command(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="The file of `transom slurm advise --log`.")],
    records: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RECORD]...",
            help="Slurm's records of what happened, as `transom import slurm` takes them. By default, the Slurm of "
            "this machine is asked, which forgets jobs some minutes after their end.",
        ),
    ] = None,
    timezone: records_options.Timezone = None,
    json: options.Json = False,
) -> None:
    """Compare logged advice with when the jobs started.

    The delay is from the first advice to start a job to its start: how much later Slurm started it than the policy
    would have. What the policy would have done afterwards is not known: that takes a replay of the records.
    """
    from transom.errors import SpecError
    from transom.slurm.advice_log import read_log, score
    from transom.slurm.happened import starts_of_records, starts_of_slurm

    if timezone is not None and not records:
        raise SpecError("--timezone belongs to records; the Slurm of this machine is asked in UTC")
    rows = read_log(log)
    found = score(rows, starts_of_records(records, timezone) if records else starts_of_slurm())
    if json:
        for each in found:
            print_json(each._asdict())
        return
    columns = [
        "policy",
        "advised",
        "started",
        "before advice",
        "later by > 1 min",
        "median [s]",
        "mean [s]",
        "Slurm's [s]",
    ]
    print_table(
        f"{log}: from the first advice to the start; Slurm's own expectation beside it, median of its error",
        columns,
        [
            [each.policy, *(str(n) for n in each[1:5]), *("" if t is None else number(t, 1) for t in each[5:])]
            for each in found
        ],
    )
