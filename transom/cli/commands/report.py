"""``transom report``: results of the bench, or recorded replays, as one page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom._system.wording import counted
from transom.cli.commands.bench_score import Library, read_library
from transom.cli.options import common as options
from transom.cli.output.console import check_writable, note, print_json, progress
from transom.errors import SpecError


def command(
    results: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of results of the bench or Parquet files of rows; or folders of `simulate --out`.",
            metavar="RESULTS",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Output file: an .html page.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option("--title", help="Title of the page.")] = None,
    library: Library = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", help="Also write every figure as SVG and PDF into this folder.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Write results as one self-contained page.

    Results of the bench become tables, curves, single instances and failures. Folders of `simulate --out` become a
    page to explore: who gains and who loses, schedules to zoom into, jobs to look up, sliders that replay.
    """
    check_writable(out, ".html")
    if _are_replays(results):
        if library is not None or figures is not None:
            raise SpecError(f"{'--library' if library is not None else '--figures'} is for results of the bench")
        _explore(results, out, title, json)
        return
    if figures is not None:
        check_writable(figures / "figure.svg", ".svg")
    from transom.bench.store.merge import merge_results
    from transom.bench.store.store import read_plans, read_results
    from transom.report.page import render, write_report

    rows = merge_results(results)
    notes = []
    if len(results) > 1 and (twice := sum(len(read_results(path)) for path in results) - len(rows)):
        notes.append(f"{counted(twice, 'run')} in several of the results given: those that began last count.")
    plans = {plan.digest(): plan for path in results if path.is_dir() for plan in read_plans(path)}
    names = [plan.name for plan in plans.values() if plan.name]
    shown, drawn = progress(), []
    task = shown.add_task("figures", total=None)

    def tell(done: str) -> None:
        drawn.append(done)
        shown.update(task, advance=1, description=f"drawn: {done}")

    with shown:
        page = render(
            rows,
            title or (f"Solvers compared: {', '.join(dict.fromkeys(names))}" if names else "Solvers compared"),
            list(plans.values()),
            read_library(library),
            notes=notes,
            progress=tell,
        )
        shown.update(task, total=len(drawn), description="figures")  # how many there are is known at the end
    written = write_report(out, page, figures)
    size = out.stat().st_size / 2**20
    note(f"{counted(len(rows), 'run')}; {size:.1f} MiB in {out}")
    if len(written) > 1:
        note(f"{counted(len(written) - 1, 'figure')} in {figures}")
    if json:
        print_json({"page": str(out), "runs": len(rows), "figures": [str(path) for path in written if path != out]})
    else:
        print(out)


def _are_replays(paths: list[Path]) -> bool:
    """Whether all are folders of replays."""
    from transom.report.explorer.recorded import is_replay

    replays = [path for path in paths if is_replay(path)]
    if replays and len(replays) < len(paths):
        other = next(path for path in paths if path not in replays)
        raise SpecError(
            f"{replays[0]} holds replays and {other} does not; a page is of replays or of results of the bench"
        )
    return bool(replays)


def _explore(paths: list[Path], out: Path, title: str | None, json: bool) -> None:
    from transom._system.files import atomic_write
    from transom.report.explorer.page import explorer

    page = explorer(paths, title)
    with atomic_write(out) as file:
        file.write(page.html)
    size = out.stat().st_size / 2**20
    note(f"{counted(page.jobs, 'job')} under {', '.join(page.labels)}; {size:.1f} MiB in {out}")
    if json:
        print_json({"page": str(out), "jobs": page.jobs, "policies": page.labels, "answer": page.facts})
    else:
        print(out)
