"""Formulas of the site, drawn by matplotlib as paths of SVG: pages load no script for them."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath

UNITS = 90
"""Units of a drawing per em: a little larger than the text, whose letters are wide."""

SHORT = {"tbinom": "binom", "le": "leq", "ge": "geq", "ne": "neq", "sum": r";\sum"}
"""Commands of LaTeX that mathtext knows by another name, or sets too close to what stands before."""

STEPS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}
"""Commands of SVG by the codes of matplotlib."""


def drawn(latex: str) -> str:
    """A formula as an SVG in the colour of the text around it, on the same baseline.

    Parameters
    ----------
    latex : what matplotlib's mathtext knows of LaTeX, without dollar signs.

    Raises
    ------
    ValueError : mathtext does not know a command.
    """
    text = re.sub(r"(?<=\\)[a-z]+", lambda name: SHORT.get(name[0], name[0]), " ".join(latex.split()))
    path = TextPath((0, 0), f"${text}$", size=100, prop=FontProperties(math_fontfamily="stix"))
    box = path.get_extents()
    width, depth, height = box.x1 + 4, max(0.0, -box.y0) + 2, max(0.0, box.y1) + 2
    style = {"width": width, "height": height + depth, "vertical-align": -depth}
    steps = []
    for points, code in path.iter_segments(simplify=False, curves=True):
        flipped = " ".join(f"{-value if k % 2 else value:.4g}" for k, value in enumerate(points))
        steps.append(STEPS[code] + ("" if code == Path.CLOSEPOLY else flipped))
    return (
        f'<svg role="img" aria-label="{escape(text)}" viewBox="0 {-height:.4g} {width:.4g} {height + depth:.4g}" '
        f'style="{";".join(f"{name}:{units / UNITS:.3f}em" for name, units in style.items())}">'
        f'<path fill="currentColor" d="{"".join(steps)}"/></svg>'
    )


def inline(self: Any, node: nodes.math) -> None:
    self.body.append(f'<span class="formula">{drawn(node.astext())}</span>')
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    tall = node.astext().replace(r"\frac", r"\dfrac")
    self.body.append(f'<div class="formula">{drawn(tall)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("drawn", inline_renderers=(inline, None), block_renderers=(block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
