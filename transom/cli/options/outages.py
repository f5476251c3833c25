"""The options ``--outages`` and ``--on-failure``: which nodes go out of service, and what becomes of their jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from transom.traces.outages import Outages


OnFailure = Literal["requeue", "lose"]
"""What becomes of jobs whose nodes go out of service under them."""


OutagesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--outages",
        metavar="FILE|LAW",
        help="Node failures, drains and maintenance: a CSV file with the columns kind, begin, end, "
        "nodes, announced, or random failures such as mtbf=30d,mttr=4h, drawn with "
        "--seed. Repeat to combine both.",
    ),
]
OnFailureOption = Annotated[
    OnFailure, typer.Option("--on-failure", help="What happens to jobs whose nodes go out of service.")
]


def chosen_outages(
    texts: list[str] | None, on_failure: OnFailure, nodes: int, context: typer.Context
) -> Outages | None:
    """The outages that are stated, None if none are.

    Raises
    ------
    SpecError : a law is malformed, or --on-failure is stated without --outages.
    TraceError : a file cannot be read.
    """
    from transom.errors import SpecError
    from transom.traces.outages import parse_outages

    if texts:
        return parse_outages(texts, nodes, on_failure)
    source = context.get_parameter_source("on_failure")
    if source is not None and source.name == "COMMANDLINE":
        raise SpecError("--on-failure needs --outages")
    return None


def recorded_outages(details: dict[str, Any], where: str) -> Outages | None:
    """The outages that a recording states, None if it states none.

    Raises
    ------
    DocumentError : they are not known.
    """
    from transom.errors import DocumentError
    from transom.traces.outages import outages_of

    if "outages" not in details:
        return None
    try:
        return outages_of(details["outages"])
    except (KeyError, TypeError, ValueError) as error:
        raise DocumentError(f"{where}: the outages in its metadata are not known: {error}") from None
