"""``transom generate dataset``: thousands of instances with splits and a card, out of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options.engine import Protection, chosen_cluster
from transom.cli.options.structs import with_structs
from transom.cli.output.console import check_folder, note, print_json, print_table, progress, remark

if TYPE_CHECKING:
    from transom.generate.dataset.dataset import Apply
    from transom.generate.dataset.index import DatasetIndex


@with_structs
def command(
    plan: Annotated[Path | None, typer.Argument(help="The plan: a TOML file (docs/datasets.md).")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Output folder. It is created if it does not exist.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Number of shards that are generated in parallel. By default 1."),
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            "--on",
            metavar="ENGINE",
            help="Where to work: local, or as for `transom bench run`, such as dask. All machines "
            "must see --out under the same path.",
        ),
    ] = "local",
    *,
    protection: Protection,
    force: Annotated[
        bool, typer.Option("--force", help="Generate everything again, and replace a data set of another plan.")
    ] = False,
    check: Annotated[
        Path | None, typer.Option("--check", metavar="DIR", help="Check the data set in this folder; generate nothing.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Generate a data set: compressed shards of instances with train, validation and test splits and a card.

    Finished shards are kept: after Ctrl-C or a crash, the same command resumes where it stopped. The same plan
    gives the same files with any number of workers.
    """
    from transom.errors import SpecError

    if check is not None:
        options.refuse({"PLAN": plan, "--out": out, "--force": force or None}, "--check")
        raise typer.Exit(_check(check, json))
    if plan is None or out is None:
        raise SpecError("expected PLAN and --out DIR, or --check DIR")
    from transom.generate.dataset.dataset import make_dataset
    from transom.generate.dataset.plan import read_dataset_plan

    source = read_dataset_plan(plan)
    check_folder(out)
    with progress(hidden=json) as bars:
        task = bars.add_task("shards", total=None)

        def report(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total)

        mapping = _mapping(on, workers, protection)
        index = make_dataset(source, out, mapping, force, report, lambda size: note(f"{out}: {size}"))
    _print(index, out, json)


def _mapping(on: str, workers: int | None, protection: Protection) -> Apply:
    from functools import partial

    if on == "local":
        from transom.generate.dataset.workers import on_this_machine

        protection.refuse(on)
        return partial(on_this_machine, workers or 1)
    from transom.bench.run.dask_engine import dask_map

    return partial(dask_map, chosen_cluster(on, workers or (1 if on == "dask" else None), 1, protection))


def _print(index: DatasetIndex, out: Path, json: bool) -> None:
    if json:
        sets = {each.name: {"splits": each.splits, "removed": each.removed} for each in index.sets}
        print_json({"out": str(out), "digest": index.digest, "instances": index.count, "sets": sets})
        return
    splits = index.splits
    rows = [
        [each.name, *(f"{each.splits.get(name, 0):,}" for name in splits), f"{each.removed:,}"] for each in index.sets
    ]
    remark(f"{out}: {counted(index.count, 'instance')} in {counted(len(index.files), 'file')}")
    print_table("", ["set", *splits, "repeated"], rows)


def _check(folder: Path, json: bool) -> int:
    from transom.generate.dataset.check import check_dataset

    wrong, files = [], 0
    for found in check_dataset(folder):
        if found is None:
            files += 1
        else:
            wrong.append(found)
            note(found)
    if json:
        print_json({"folder": str(folder), "files": files, "wrong": wrong})
    else:
        said = f"{counted(len(wrong), 'thing')} wrong" if wrong else "all as stated"
        print(f"{folder}: {counted(files, 'file')}, {said}")
    return 1 if wrong else 0
