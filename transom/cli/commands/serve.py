"""``transom serve batsim``: a policy that decides in somebody else's simulator."""

from __future__ import annotations

from typing import Annotated

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options.digits import DURATION
from transom.cli.output.console import note, print_json


def batsim_command(
    policy: options.Deciding = "fcfs-easy",
    socket: Annotated[
        str,
        typer.Option("--socket", metavar="ADDRESS", help="Where Batsim connects to: tcp://HOST:PORT or ipc://PATH."),
    ] = "tcp://127.0.0.1:28000",
    anywhere: Annotated[
        bool, typer.Option("--anywhere", help="Let other machines connect. By default, only this one can.")
    ] = False,
    patience: Annotated[
        float,
        typer.Option(
            "--patience", metavar=DURATION, min=1, help="How long to wait for the next message once Batsim is there."
        ),
    ] = 600,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Decide for one simulation of Batsim, version 4 or 5, as its decision component.

    The policy sees what a scheduler knows, as in a replay: limits on runtimes, never how long jobs really run. Start
    Batsim with --socket-endpoint ADDRESS; the command ends with the simulation. Jobs that can never run are rejected.
    """
    from transom.adapters.batsim import DecisionComponent
    from transom.adapters.batsim_socket import serve

    component = DecisionComponent(policy, seed)
    serve(component, socket, lambda address: note(f"{policy} waits for Batsim at {address}"), anywhere, patience)
    for what, count in component.ignored.items():
        note(f"{counted(count, 'event')} that no policy needs: {what}")
    counts = dict(component.counts)
    if json:
        print_json({"policy": policy, **counts, "ignored": dict(component.ignored)})
        return
    started, rejected = counts["started"], counts["rejected"]
    print(f"{counted(counts['submitted'], 'job')}: {started} started, {rejected} rejected, {counts['ended']} ended")
