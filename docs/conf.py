"""The documentation site: `make docs` builds it from the pages beside this file and the docstrings of the package."""

from __future__ import annotations

import gc
import re
import sys
from pathlib import Path
from typing import Any

import transom

sys.path.insert(0, str(Path(__file__).parent))

gc.set_threshold(100_000)  # trees of documents are many objects and little garbage: an eighth of the time

project = "Transom"
author = copyright = "The Transom developers"
release = version = transom.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "formulas",
]
html_math_renderer = "drawn"
exclude_patterns = ["figures/*"]

html_theme = "furo"
html_title = "Transom"
html_theme_options = {"navigation_with_keys": True}
html_static_path = ["_static"]
html_css_files = ["site.css"]
copybutton_prompt_text = "$ "

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # some pages begin sections below the second level

autosummary_generate = False
autodoc_member_order = "groupwise"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
# Named as in the code, instead of the unions that these stand for.
autodoc_type_aliases = {
    name: name
    for name in ("ArrayLike", "BoolArray", "FloatArray", "IntArray", "Problem", "Status", "Reason", "Backfilling")
}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_attr_annotations = False  # types stand in signatures only
maximum_signature_line_length = 88
python_use_unqualified_type_names = True

SECTIONS = {"Parameters", "Raises", "Attributes"}
ENTRY = re.compile(r"^(?P<names>\*{0,2}\w[\w.*, ]*?) : (?P<text>.*)$")
ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
RETURNED: list[str] = []


def before_napoleon(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn sections of our docstrings into what numpydoc knows.

    Types stand in signatures only: what follows `name :` is a description, never a type, and what is returned is
    described in prose, which is kept for :func:`after_napoleon`.
    """
    given, section = lines[:], ""
    lines.clear()
    RETURNED.clear()
    for line, below in zip(given, [*given[1:], ""], strict=True):
        if below and set(below) == {"-"}:
            section = line
        entry = ENTRY.match(line) if section in SECTIONS else None
        if section == "Returns":
            RETURNED.append(line)
        else:
            lines += [entry["names"], f"    {entry['text']}"] if entry else [line]


def after_napoleon(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Put what is returned behind the parameters."""
    if RETURNED:
        field = [":returns:", *(f"    {line}" for line in RETURNED[2:] if line), ""]
        later = [n for n, line in enumerate(lines) if line.startswith((":raises", ".. rubric::"))]
        at = later[0] if later else len(lines)
        lines[at:at] = field if at and not lines[at - 1] else ["", *field]


def process_signature(app: Any, what: str, name: str, obj: Any, options: Any, *parts: str | None) -> tuple[Any, ...]:
    """Name aliases inside of other types as those alone are named; nobody constructs a protocol."""
    if getattr(obj, "_is_protocol", False):
        return "", None
    return tuple(part and ALIAS.sub(r"\1", part).replace("<factory>", "...") for part in parts)


def skip_member(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out fields of named tuples, whose docstrings only number them: they stand among the parameters."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None


def setup(app: Any) -> None:
    app.connect("autodoc-skip-member", skip_member)
    app.connect("autodoc-process-docstring", before_napoleon, priority=100)
    app.connect("autodoc-process-docstring", after_napoleon, priority=900)
    app.connect("autodoc-process-signature", process_signature)
