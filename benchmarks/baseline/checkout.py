"""A checkout of the project, whose code runs in processes of their own; where data and results lie."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks" / "results" / "baseline"
STORED = FOLDER / "stored.json"
TRACES = ROOT.parent / "shared" / "traces"
FLOWS = ROOT.parent / "shared" / "workflows"
LUBLIN = ROOT / "instances" / "workloads" / "lublin_5000.swf.gz"


class Checkout(NamedTuple):
    """A checkout of the project, whose code runs in processes of their own."""

    root: Path

    def run(
        self, *words: str, status: int | None = 0, **environment: str
    ) -> tuple[float, subprocess.CompletedProcess[str]]:
        """Run Python with these arguments; CPU seconds of it and of its children."""
        before = os.times()
        done = subprocess.run(
            [sys.executable, "-P", *words],
            env={**os.environ, "PYTHONPATH": str(self.root), **environment},
            cwd=self.root,
            capture_output=True,
            text=True,
        )
        after = os.times()
        if status is not None and done.returncode != status:
            sys.exit(f"{self.root}: python {' '.join(words)}: status {done.returncode}\n{done.stderr.strip()[-2000:]}")
        return after.children_user + after.children_system - before.children_user - before.children_system, done

    def commit(self) -> str:
        """The commit that is checked out."""
        asked = ["git", "-C", str(self.root), "rev-parse", "HEAD"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
