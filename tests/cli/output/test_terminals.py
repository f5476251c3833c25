"""Terminals of any encoding, and those that take no escape codes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

SHOWN = """
import sys
from transom.cli.output.console import make_readable, note, print_json, print_table, progress
for stream in (sys.stdout, sys.stderr):
    make_readable(stream)
print_table("Größe", ["name", "mean ± deviation"], [["Čapek", "1.5 ± 0.2"], ["plain", "2.5"]])
print_json({"name": "Čapek \\udcff"})
with progress() as bars:
    for _ in bars.track(range(3), description="Wörter – windows"):
        pass
note("café")
"""


def run(**environment: str) -> subprocess.CompletedProcess[bytes]:
    known = {name: value for name, value in os.environ.items() if name not in ("PYTHONIOENCODING", "PYTHONUTF8")}
    return subprocess.run([sys.executable, "-c", SHOWN], capture_output=True, check=True, env=known | environment)


def on_terminal(**environment: str) -> str:
    """What a terminal gets, from both streams."""
    reads, writes = pty.openpty()
    named = {"TERM": "xterm", "COLUMNS": "100", "PYTHONIOENCODING": "", **environment}
    known = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "PYTHONUTF8")} | named
    known = {name: value for name, value in known.items() if value}
    with subprocess.Popen([sys.executable, "-c", SHOWN], stdout=writes, stderr=writes, env=known) as process:
        os.close(writes)
        parts = []
        while True:
            try:
                parts.append(os.read(reads, 65_536))
            except OSError:  # which stands for the end
                break
        os.close(reads)
    assert process.returncode == 0
    return b"".join(parts).decode().replace("\r\n", "\n")


@pytest.mark.parametrize("encoding", ["ascii", "ascii:strict", "latin-1", "utf-8"])
def test_every_encoding_gets_something_readable(encoding: str) -> None:
    name = encoding.partition(":")[0]
    done = run(PYTHONIOENCODING=encoding)
    title, _, head, rule, first, second, _, facts = done.stdout.decode(name).splitlines()
    assert title == {"ascii": "Gr\\xf6\\xdfe"}.get(name, "Größe")
    assert (set(rule.strip()), len(rule)) == ({"─" if name == "utf-8" else "-"}, len(head))
    deviation = "1.5 +- 0.2" if name == "ascii" else "1.5 ± 0.2"
    assert first.split(maxsplit=1) == ["Čapek" if name == "utf-8" else "\\u010capek", deviation]
    assert len(first) == len(second) == len(rule)
    assert json.loads(facts) == {"name": "Čapek \\udcff"}
    assert done.stderr.decode(name) == ("caf\\xe9\n" if name == "ascii" else "café\n")


def test_a_terminal_of_the_c_locale_gets_ascii() -> None:
    assert "+- 0.2" in on_terminal(LC_ALL="C", NO_COLOR="1")
    assert "± 0.2" in on_terminal(LC_ALL="C.UTF-8", NO_COLOR="1")
    assert "± 0.2" in run(LC_ALL="C").stdout.decode(), "files and pipes get what Python writes there"


def test_escape_codes_go_only_to_terminals_that_take_them() -> None:
    shown = on_terminal(PYTHONIOENCODING="utf-8")
    assert "\x1b[1mGröße\x1b[0m" in shown
    assert "Wörter – windows" in shown
    for plain in ({"TERM": "dumb"}, {"NO_COLOR": "1"}):
        shown = on_terminal(PYTHONIOENCODING="utf-8", **plain)
        assert "Größe" in shown
        assert "\x1b" not in shown


def test_a_command_names_a_file_of_any_name(tmp_path: Path, root: Path) -> None:
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xfc\xe9.jsonl")
    for encoding in ("ascii", "latin-1", "utf-8"):
        line = [sys.executable, "-m", "transom", "schema", odd]
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run(line, capture_output=True, check=False, env=environment)
        assert done.returncode == 2
        assert b"\\udcfc\\udce9.jsonl" in done.stderr
        assert done.stderr.count(b"\n") == 1
