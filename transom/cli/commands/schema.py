"""``transom schema``: the JSON Schema of Transom's documents."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.output.console import print_json, print_table


def command(
    name: Annotated[str | None, typer.Argument(help="Name of a document type. Without it, list them.")] = None,
    json: options.Json = False,
) -> None:
    """List the document types of Transom, or print the JSON Schema of one."""
    import json as texts
    from contextlib import suppress

    from transom.errors import DocumentError
    from transom.io import schema
    from transom.io.conversion import names

    if name is not None:
        # A schema is JSON either way; a person gets it with line breaks.
        print_json(schema(name)) if json else print(texts.dumps(schema(name), indent=1))
        return
    known = []
    for each in names():
        with suppress(DocumentError):  # some type of problem has none
            known.append({"name": each, "format": f"transom/{each}/1", "about": _about(schema(each))})
    if json:
        print_json(known)
    else:
        print_table("", ["name", "format", "what it is"], [list(row.values()) for row in known], left=3)


def _about(schema: dict[str, Any]) -> str:
    return str(schema["$defs"][schema["$ref"].rpartition("/")[2]]["description"])
