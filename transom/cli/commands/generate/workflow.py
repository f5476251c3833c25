"""``transom generate workflow``: random workflows, alone or as a stream."""

from __future__ import annotations

from typing import Any

from transom.cli.options import common as options
from transom.cli.options.recipe import with_recipes
from transom.cli.output.console import check_writable
from transom.cli.output.instances import write_and_report
from transom.generate.instances.workflow_recipes import RandomWorkflows
from transom.generate.recipes import recipe


@with_recipes({"random tasks": RandomWorkflows})
def command(
    out: options.DocumentsOut,
    given: dict[str, Any],
    count: options.Count = 1,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate workflows: tasks with dependencies, in layers, chains, forks and joins, or trees.

    Tasks of one program have similar runtimes; runtimes of different programs differ a lot. With --gap, the workflows
    are a stream of Poisson arrivals.
    """
    check_writable(out, ".jsonl", ".json")
    write_and_report(out, recipe("workflow", given).make(seed, count), "workflow", json)
