"""What the commands of ``transom generate`` do at the end: write documents, and say how many."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from transom._system.wording import counted
from transom.cli.output.console import print_json, remark


def write_and_report(out: Path, documents: Iterable[Any], noun: str, json: bool, key: str = "") -> None:
    """Write documents, and print their number as ``noun``, in JSON under ``key``, by default its plural."""
    from transom.io import write_documents

    number = write_documents(out, documents)
    if json:
        print_json({"out": str(out), key or f"{noun}s": number})
    else:
        remark(f"{out}: {counted(number, noun)}")
