"""Options of commands that read streams of workflows, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transom.cli.options.digits import DURATION

if TYPE_CHECKING:
    from transom.simulation.workflows.stream import WorkflowStream

GapOption = Annotated[
    float | None,
    typer.Option(
        "--gap",
        metavar=DURATION,
        min=0,
        help="Of workflows that state no submission: submit them in a Poisson process, DURATION apart in the mean.",
    ),
]
CombineOption = Annotated[
    bool,
    typer.Option(
        "--combine",
        help="Of workflows: combine compatible tasks before the replay. Figures are those of the original tasks.",
    ),
]
SUITED = {
    "traces", "policy", "period", "nodes", "gap", "combine", "out", "seed", "tau", "figures", "formats", "force",
    "json", "reference",
}  # fmt: skip
"""Parameters of ``transom simulate`` that go with workflows."""


def holds_workflows(paths: Sequence[Path]) -> bool:
    """Whether files hold documents, JSON or XML, or projects (by their names), rather than the lines of a trace.

    Raises
    ------
    TransomError : there are several files and one of them holds none, or one cannot be read.
    """
    from transom.errors import SpecError, TransomError
    from transom.io.opening import beginning
    from transom.traces.batsim import is_workload

    def documented(path: Path) -> bool:
        if path.name.removesuffix(".gz").endswith((".sm", ".rcp")):
            return True
        if is_workload(str(path)):
            return False
        return beginning(path).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"<")

    if len(paths) == 1:
        try:
            return documented(paths[0])
        except TransomError:
            return False  # whoever reads traces has words for this
    for path in paths:
        if not documented(path):
            raise SpecError(f"{path}: holds no workflows; a trace is replayed by itself")
    return True


def read_stream(paths: Sequence[Path], nodes: int | None, gap: float | None, seed: int) -> WorkflowStream:
    """The workflows of some files as one stream, in the order of the files.

    Raises
    ------
    TransomError : a file cannot be read or holds something else; a workflow cannot be replayed; or submissions are
        drawn and stated. The message names the file.
    """
    from transom.errors import DocumentError, ModelError
    from transom.io import read_workflows
    from transom.rng import stream
    from transom.simulation.workflows.stream import check_replayable, drawn_arrivals, stream_of

    flows = []
    for path in paths:
        for flow in read_workflows(path):
            try:
                check_replayable(flow, nodes)
            except ModelError as error:
                raise DocumentError(f"{path}: {error}") from None
            flows.append(flow)
    if gap is not None:
        flows = drawn_arrivals(flows, gap, stream(seed, "workflows", "gaps"))
    return stream_of(flows, nodes, f"{paths[0].name} and {len(paths) - 1} more" if len(paths) > 1 else paths[0].name)
