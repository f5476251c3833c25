"""From accounting to a page: commands of a tutorial and their CPU seconds: ``python -m benchmarks.five_commands``.

They run twice, in processes of their own, each time in a folder that is thrown away: the first round compiles what is
not in the cache yet, and keeps past forecasts of ``transom when`` there.
"""

from __future__ import annotations

import re
import resource
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tutorials" / "operator.md"


def commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of console blocks, each on a line with a dollar, and what is shown of their output."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown.strip()


def main() -> None:
    """Run and measure."""
    for kernels in ("cold", "warm"):
        total = 0.0
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "instances").symlink_to(ROOT / "instances")
            for command, _ in commands(PAGE.read_text(encoding="utf-8")):
                words = shlex.split(command)
                before = _cpu()
                subprocess.run([sys.executable, "-m", *words], cwd=folder, check=True, capture_output=True)
                used = _cpu() - before
                total += used
                print(f"{kernels}  {used:6.1f} CPU s  {shlex.join(words)}")
        print(f"{kernels}  {total:6.1f} CPU s  together")


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
