"""``transom demo``: what the package does, on a generated trace, with nothing but the package."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from transom.cli.output.console import check_writable

_POLICIES = ("fcfs", "fcfs-easy", "sjf-easy", "saf-easy")


def command(
    out: Annotated[Path, typer.Option("--out", help="Folder for the trace, the windows, results and figures.")] = Path(
        "transom-demo"
    ),
) -> None:
    """Generate a trace, compare policies on it, cut scheduling windows out of it, solve them and check the answers.

    Each step is a command of its own, which is printed before it runs; what is finished in the folder is not done
    again.
    """
    trace, replays, windows, results = (
        out / name for name in ("trace.swf.gz", "replays", "windows.jsonl", "results.jsonl")
    )
    check_writable(windows, ".jsonl")
    if not trace.exists():
        model = ("--jobs", "5000", "--nodes", "512", "--load", "0.85", "--seed", "1")
        _run("A synthetic trace: 5,000 jobs on 512 nodes.", "generate", "workload", *model, "--out", trace)
    policies = [word for policy in _POLICIES for word in ("--policy", policy)]
    _run("What would these policies have done?", "simulate", trace, *policies, "--out", replays)
    cut = ("--every", "86400", "--minimum", "10", "--limit", "8")
    _run("Windows: what the scheduler saw once a day.", "snapshot", trace, *cut, "--out", windows)
    _run("Which waiting jobs use the free nodes best?", "solve", windows, "--seconds", "0.1", "--out", results)
    _run("The answers, judged from the data alone.", "check", windows, results)
    print(f"\nThe figures are in {replays}/figures: open timeline.png, wait_by_size.png and kiviat.png first.")
    print("With your own trace: transom simulate YOUR_TRACE.swf.gz --policy fcfs-easy --policy saf-easy --out mine")


def _run(why: str, *words: object) -> None:
    """Say why, and run a command of ours as a user would."""
    given = [str(word) for word in words]
    print(f"\n# {why}\n$ transom {shlex.join(given)}", flush=True)
    if status := subprocess.run([sys.executable, "-m", "transom", *given]).returncode:
        raise typer.Exit(status)
