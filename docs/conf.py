"""The documentation site: `make docs` builds it from the pages beside this file and the docstrings of the package."""

from __future__ import annotations

import re
from typing import Any

import transom

project = "Transom"
author = copyright = "The Transom developers"
release = version = transom.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
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

SECTIONS = {"Parameters", "Returns", "Raises", "Attributes"}
ENTRY = re.compile(r"^(?P<names>\*{0,2}\w[\w.*, ]*?) : (?P<text>.*)$")


def described(lines: list[str]) -> list[str]:
    """Turn entries `name : description` of our docstrings into what numpydoc knows: a name, then its description.

    Types stand in signatures only, so what follows a colon is never one.
    """
    out: list[str] = []
    inside = False
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and set(lines[number + 1]) == {"-"} and lines[number + 1]:
            inside = line.strip() in SECTIONS
        entry = ENTRY.match(line) if inside else None
        if entry:
            names = entry["names"]
            out += [names, f"    {entry['text']}"]
        else:
            out.append(line)
    return out


def process_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = described(lines)


def process_signature(app: Any, what: str, name: str, obj: Any, options: Any, *parts: str | None) -> tuple[Any, ...]:
    """Name aliases inside of other types as those alone are named."""
    return tuple(part and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", part) for part in parts)


def setup(app: Any) -> None:
    app.connect("autodoc-process-signature", process_signature)
    app.connect("autodoc-process-docstring", process_docstring, priority=100)  # before napoleon
