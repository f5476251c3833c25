"""Pages of one file: template, style, script and data put together, everything escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


def assembled(folder: str, styles: Sequence[str], scripts: Sequence[str], **values: Any) -> str:
    """The page of a template, which may use the macros of ``macros.html.j2``.

    Parameters
    ----------
    folder : a package with ``page.html.j2``.
    styles, scripts : files, relative to this package, in the order in which they stand.
    values : what the template names; escaped. Its filters are ``json`` and ``data``, JSON that cannot end its element.
    """
    script = joined(tuple(scripts))
    return _template(folder).render(
        style=_own("\n".join(_file("transom.report", name) for name in styles)),
        script=_own(script),
        script_digest=b64encode(sha256(script.encode()).digest()).decode(),
        **values,
    )


def _json(data: Any) -> str:
    import msgspec

    return msgspec.json.encode(data).decode()


def _data(data: Any) -> Markup:
    """Data as JSON that cannot end the element it stands in."""
    text = _json(data)
    for sign in "<>&":  # they occur in strings alone
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return _own(text)


def _own(text: str) -> Markup:
    from markupsafe import Markup

    return Markup(text)


@cache
def _file(folder: str, name: str) -> str:
    return (files(folder) / name).read_text(encoding="utf-8")


@cache
def joined(names: tuple[str, ...]) -> str:
    """The script of a page: its parts within one function."""
    parts = "\n".join(_file("transom.report", name) for name in names)
    return f'"use strict";\n(() => {{\n{parts}}})();'


@cache
def _template(folder: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"json": _json, "data": _data}
    return environment.from_string(_file("transom.report", "macros.html.j2") + _file(folder, "page.html.j2"))
