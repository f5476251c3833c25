"""The common style of all figures: sizes, fonts, colours, units of axes, file formats."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Sequence
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from transom._system.durations import day
from transom._system.files import atomic_path
from transom.errors import ModelError
from transom.models.arrays import IntArray, expected
from transom.simulation.core.outage_log import OUTAGE_KINDS
from transom.simulation.core.schedule import MODES, Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")
T = TypeVar("T")

WIDTH = 7.0
"""Width of a figure over two columns of a page [inch]."""

# Okabe and Ito's palette without its yellow, which is lost on white paper.
_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES: tuple[Any, ...] = ("-", "--", ":", "-.")

MODE_COLOURS = {"ready": "#88CCEE", "reserved": "#332288", "backfilled": "#DD7788"}
"""Colours of the start modes, after Tol's muted scheme; they also differ in lightness."""

OUT_OF_SERVICE = "#444444"
"""Colour of nodes that are out of service."""

FORMATS = ("png", "pdf", "svg")
"""Kinds of file that :func:`save` writes."""

_CANVASES = {
    "png": ("matplotlib.backends.backend_agg", "FigureCanvasAgg"),
    "pdf": ("matplotlib.backends.backend_pdf", "FigureCanvasPdf"),
    "svg": ("matplotlib.backends.backend_svg", "FigureCanvasSVG"),
}

# Without the time of writing: the same figure gives the same bytes.
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}

_SETTINGS: dict[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.1,
    "grid.linewidth": 0.4,
    "grid.color": "#DDDDDD",
    "axes.axisbelow": True,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,  # text stays text
    "svg.fonttype": "none",
    "svg.hashsalt": "transom",
}


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """Run a function under the style of these figures, independent of the user's settings."""

    @wraps(draw)
    def inner(*args: P.args, **kwargs: P.kwargs) -> T:
        import matplotlib

        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(_SETTINGS)
            return draw(*args, **kwargs)

    return inner


def mode_legend(axes: Axes, outages: IntArray | None = None, idle: bool = False) -> None:
    """Legend of the start modes, of kinds of outages and, if wanted, of idle nodes, above the axes."""
    from matplotlib.patches import Patch

    handles = [Patch(color=MODE_COLOURS[mode], label=mode) for mode in MODES]
    if outages is not None and len(outages):
        kinds = ", ".join(OUTAGE_KINDS[kind] for kind in np.unique(outages))
        handles.append(Patch(color=OUT_OF_SERVICE, label=kinds))
    if idle:
        handles.append(Patch(facecolor="white", edgecolor="#999999", label="idle"))
    axes.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=len(handles),
        borderaxespad=0.2,
        handlelength=1,
    )


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure [inch] outside the global state of pyplot; notebooks show it as it is saved."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    vars(figure)["_repr_png_"] = partial(encoded, figure, "png")  # where pyplot is not imported
    return figure


@styled
def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG (200 dots per inch), PDF or SVG; the same figure gives the same bytes.

    Raises
    ------
    ModelError : the extension is none of these.
    """
    target = Path(path)
    kind = target.suffix[1:].lower()
    if kind not in FORMATS:
        raise ModelError(f"{target}: figures are written as {', '.join(FORMATS)}")
    with atomic_path(target) as temporary, open(temporary, "wb") as file:
        _write(figure, file, kind)
    return target


@styled
def encoded(figure: Figure, kind: str) -> bytes:
    """What :func:`save` writes into a file of that kind (png, pdf or svg)."""
    file = io.BytesIO()
    _write(figure, file, kind)
    return file.getvalue()


def _write(figure: Figure, file: IO[bytes], kind: str) -> None:
    """What ``savefig`` writes, which draws all twice: a first time to learn the layout, as drawing does anyway."""
    shown, dpi = figure.canvas, figure.dpi
    module, name = _CANVASES[kind]
    # First, for the one there is may belong to a window, which changes its size with the resolution.
    canvas = getattr(import_module(module), name)(figure)
    try:
        figure.dpi = _SETTINGS["savefig.dpi"]
        getattr(canvas, f"print_{kind}")(file, metadata=_METADATA[kind])
    finally:
        figure.dpi = dpi
        figure.set_canvas(shown)


def policy_styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour and line style of each policy, by its position in the comparison; distinct for up to 28 policies."""
    return {
        name: {
            "color": _PALETTE[place % len(_PALETTE)],
            "linestyle": _LINES[place // len(_PALETTE) % len(_LINES)],
        }
        for place, name in enumerate(names)
    }


def comparable(schedules: Sequence[Schedule]) -> None:
    """Check that schedules can share a figure.

    Raises
    ------
    ModelError : these are no schedules, there is none, one has no jobs, two have one name, or they differ in workload,
        machine or event rules.
    """
    expected(schedules, Sequence, "figure: schedules", "a list of schedules")
    for schedule in schedules:
        expected(schedule, Schedule, "figure: schedule", "what simulate returns")
    if not schedules:
        raise ModelError("figure: there is no schedule to draw")
    for schedule in schedules:
        if len(schedule) == 0:
            raise ModelError(f"figure: the schedule of {schedule.policy!r} has no jobs")
        for what in ("workload", "cluster", "rules"):
            a, b = getattr(schedules[0], what), getattr(schedule, what)
            if a != b:
                raise ModelError(f"figure: schedules differ in {what}: {a!r} and {b!r}")
    names = [schedule.policy for schedule in schedules]
    if len(set(names)) < len(names):
        raise ModelError(f"figure: two schedules have one name: {', '.join(names)}")


def time_unit(seconds: float) -> tuple[int, str]:
    """The unit for a span of time: its length [s] and its name."""
    if seconds > 21 * 86_400:
        return 7 * 86_400, "weeks"
    if seconds > 3 * 86_400:
        return 86_400, "days"
    if seconds > 3 * 3600:
        return 3600, "h"
    return (60, "min") if seconds > 180 else (1, "s")


def since(schedule: Schedule, first: int, unit: str) -> str:
    """The label of an axis of times since the first submission [s], with its date where the trace states one."""
    start = "the first submission" if schedule.epoch is None else day(schedule.epoch + first)
    return f"time since {start} [{unit}]"


def heading(axes: Axes, text: str) -> None:
    """A left-aligned title above the axes, shortened to fit."""
    axes.set_title(shortened(text, 60), loc="left")


def with_rules(schedule: Schedule, what: str) -> str:
    """The heading of a schedule, with its event rules unless they are the textbook ones."""
    return what if schedule.rules == "textbook" else f"{what}, {schedule.rules} events"


def shortened(name: str, length: int = 28) -> str:
    """A name that fits into a legend; a dollar sign in it does not start a formula."""
    short = name if len(name) <= length else name[: length - 3] + "..."
    return re.sub(r"(?<!\\)\$", r"\$", short)


def thousands(axis: Any, whole: bool = False) -> None:
    """Write large tick labels as 12,000; ``whole`` allows ticks at whole numbers only."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    if whole:
        axis.set_major_locator(MaxNLocator("auto", integer=True))

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value == int(value) else f"{value:g}"))
