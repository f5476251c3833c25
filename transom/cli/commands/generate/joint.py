"""``transom generate joint``: random joint choices of jobs and nodes."""

from __future__ import annotations

from typing import Any

from transom.cli.options import common as options
from transom.cli.options.recipe import with_recipes
from transom.cli.output.console import check_writable
from transom.cli.output.instances import write_and_report
from transom.generate.instances.joint_recipes import RandomJoints
from transom.generate.recipes import recipe


@with_recipes({"random jobs": RandomJoints})
def command(
    out: options.DocumentsOut,
    given: dict[str, Any],
    count: options.Count = 1,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate joint choices: which jobs start, weighted by node-hours, and on which idle nodes of a tree."""
    check_writable(out, ".jsonl", ".json")
    write_and_report(out, recipe("joint", given).make(seed, count), "joint choice", json, "joint")
