"""Write the pages of docs/results from stored rows, or check that they are what the rows say.

python -m benchmarks.result_pages [--check]

`benchmarks/results/pages.toml` lists them. A section shows a table or text of `benchmarks/results/printed`, as the
command that it names printed it, or what a command makes of rows that are stored beside it.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib
import io
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.dras.tables import markdown
from transom._system.files import atomic_write
from transom.cli import run

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = ROOT / "docs" / "results"

ABOUT = """# Results

Tables behind the sentences of the pages. `python -m benchmarks.result_pages` writes them from the rows and tables in
`benchmarks/results`; each section names the command that measured it. Times hold for the machine that is stated, or
for two cores of a shared one: compare them with each other only.
"""


def sections(page: dict[str, Any]) -> Iterator[str]:
    """The sections of a page, in Markdown."""
    for each in page["sections"]:
        yield f"## {each['title']}\n\n`{each['command']}`\n"
        if "text" in each:
            yield f"\n{each['text']}\n"
        yield f"\n{shown(each)}\n\n"


def shown(section: dict[str, Any]) -> str:
    """The table or the text of a section."""
    if "prints" in section:
        return re.sub(r"^<!-- (.*) -->$", r"### \1\n", printed(section["prints"]), flags=re.MULTILINE)
    path = RESULTS / "printed" / section["file"]
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".txt":
        return f"```text\n{text}```"
    columns, *cells = ([cell.replace("|", "\\|") for cell in row] for row in csv.reader(io.StringIO(text)))
    return markdown(columns, cells)


def printed(command: Sequence[str]) -> str:
    """What a command of this package or of `transom` prints."""
    words = [str(path) for word in command for path in (sorted(ROOT.glob(word)) if "*" in word else [word])]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        if words[0] == "transom":
            run(words[1:])
        else:
            name = f"{words[0]}.__main__" if (ROOT / words[0].replace(".", "/")).is_dir() else words[0]
            importlib.import_module(name).main(words[1:])
    return re.sub(r"\n{3,}", "\n\n", out.getvalue()).strip()


def pages() -> dict[Path, str]:
    """Every page by its path."""
    listed = tomllib.loads((RESULTS / "pages.toml").read_text(encoding="utf-8"))["pages"]
    made = {}
    for page in listed:
        of = ", ".join(f"[{Path(name).stem}]({name})" for name in page["of"])
        body = "".join(sections(page)).rstrip()
        about = f"Figures behind {of}. {page.get('text', '')}".rstrip()
        made[PAGES / f"{page['name']}.md"] = f"# Results: {page['title']}\n\n{about}\n\n{body}\n"
    links = "".join(f"- [{page['title']}]({page['name']}.md)\n" for page in listed)
    names = "".join(f"{page['name']}\n" for page in listed)
    made[PAGES / "index.md"] = f"{ABOUT}\n{links}\n```{{toctree}}\n:hidden:\n\n{names}```\n"
    return made


def main(given: Sequence[str] | None = None) -> int:
    """Read the command line, write or check; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 where a page differs")
    check = parser.parse_args(given).check
    status = 0
    PAGES.mkdir(exist_ok=True)
    for path, text in pages().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        print(f"{path.relative_to(ROOT)} {'differs' if check else 'written'}")
        status = int(check)
        if not check:
            with atomic_write(path) as file:
                file.write(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
