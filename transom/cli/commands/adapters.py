"""``transom adapters raps``: what makes a policy decide in somebody else's simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom.cli.options import common as options
from transom.cli.output.console import check_writable, note, print_json


def raps_command(
    policy: options.Deciding = "fcfs-easy",
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="File for the module. By default, it is printed."),
    ] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Write a scheduler module for RAPS (ExaDigiT) in which a policy decides.

    It belongs into raps/schedulers/transom.py, and "transom" into the names of schedulers in raps/sim_config.py;
    Transom has to be installed beside RAPS. Then run RAPS with --scheduler transom and any --policy but replay.
    """
    from transom._system.files import atomic_write
    from transom.adapters.raps import MODULE
    from transom.simulation import make_policy

    make_policy(policy)
    text = MODULE.format(policy=policy, seed=seed)
    if out is not None:
        check_writable(out, ".py")
        with atomic_write(out) as file:
            file.write(text)
        note(str(out))
    if json:
        print_json({"policy": policy, "module": text, "out": None if out is None else str(out)})
    elif out is None:
        print(text, end="")
