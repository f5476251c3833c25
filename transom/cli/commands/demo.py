"""``transom demo``: what the package does, on a generated trace, with nothing but the package."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.output.console import check_writable, display, print_json, remark

_POLICIES = ("fcfs-easy", "fcfs", "sjf-easy", "saf-easy")
"""The first is the one that the answer compares the others with."""


def command(
    out: Annotated[Path, typer.Option("--out", help="Folder for the trace, the windows, results and figures.")] = Path(
        "transom-demo"
    ),
    json: options.Json = False,
) -> None:
    """Generate a trace, compare policies, cut windows out of it, solve them and check the answers.

    Each step is a command of its own, which is printed before it runs. Steps that are finished in the folder are
    not repeated. With --json, the document lists each command and what its own --json prints.
    """
    trace, replays, windows, results = (
        out / name for name in ("trace.swf.gz", "replays", "windows.jsonl", "results.jsonl")
    )
    check_writable(windows, ".jsonl")
    steps: list[tuple[str, tuple[object, ...]]] = []
    if not trace.exists():
        model = ("--jobs", "5000", "--nodes", "512", "--load", "0.85", "--seed", "1")
        steps.append(("A synthetic trace: 5,000 jobs on 512 nodes.", ("generate", "workload", *model, "--out", trace)))
    policies = [word for policy in _POLICIES for word in ("--policy", policy)]
    cut = ("--every", "86400", "--minimum", "10", "--limit", "8")
    steps += [
        ("What would these policies have done?", ("simulate", trace, *policies, "--out", replays)),
        ("Windows: what the scheduler saw once a day.", ("snapshot", trace, *cut, "--out", windows)),
        ("Which waiting jobs use the free nodes best?", ("solve", windows, "--seconds", "0.1", "--out", results)),
        ("The answers, judged from the data alone.", ("check", windows, results)),
    ]
    outcomes = [_run(why, [str(word) for word in words], json) for why, words in steps]
    figures = replays / "figures"
    if json:
        print_json({"folder": str(out), "steps": outcomes, "figures": str(figures)})
        return
    remark(f"\nThe figures are in {figures}: open timeline.png, wait_by_size.png and kiviat.png first.")
    remark("With your own trace: transom simulate YOUR_TRACE.swf.gz --policy fcfs-easy --policy saf-easy --out mine")


def _run(why: str, words: list[str], json: bool) -> dict[str, Any]:
    """Say why, and run a command of ours as a user would; what it prints, if that is JSON."""
    import msgspec

    line = f"transom {shlex.join(words)}"
    if not json:
        remark(f"\n# {why}\n$ {line}")
    flags = (
        ["--json"] * json + ["--quiet"] * display.quiet + ["--verbose"] * display.verbose + ["--wide"] * display.wide
    )
    sys.stdout.flush()
    done = subprocess.run([sys.executable, "-m", "transom", *words, *flags], stdout=subprocess.PIPE if json else None)
    if done.returncode:
        raise typer.Exit(done.returncode)
    return {"command": line, "printed": [msgspec.json.decode(each) for each in (done.stdout or b"").splitlines()]}
