"""``transom report``: results of the bench as one page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom.cli.commands.bench_score import Library, read_library
from transom.cli.options import common as options
from transom.cli.output.console import check_writable, note, print_json, progress


def command(
    results: Annotated[
        list[Path], typer.Argument(help="Folders of results, or Parquet files of rows.", metavar="RESULTS")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Output file: an .html page.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option("--title", help="Title of the page.")] = None,
    library: Library = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", help="Also write every figure as SVG and PDF into this folder.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Write results as one self-contained page: tables, curves, single instances, failures."""
    check_writable(out, ".html")
    if figures is not None:
        check_writable(figures / "figure.svg", ".svg")
    from transom.bench.store.merge import merge_results
    from transom.bench.store.store import read_plans, read_results
    from transom.report.page import render, write_report

    rows = merge_results(results)
    notes = []
    if len(results) > 1 and (twice := sum(len(read_results(path)) for path in results) - len(rows)):
        notes.append(f"{twice:,} runs were in several of the results given; those that began last count.")
    plans = {plan.digest(): plan for path in results if path.is_dir() for plan in read_plans(path)}
    names = [plan.name for plan in plans.values() if plan.name]
    shown = progress()
    task = shown.add_task("figures", total=None)
    with shown:
        page = render(
            rows,
            title or (f"Solvers compared: {', '.join(dict.fromkeys(names))}" if names else "Solvers compared"),
            list(plans.values()),
            read_library(library),
            notes=notes,
            progress=lambda done: shown.update(task, description=f"drawn: {done}"),
        )
    written = write_report(out, page, figures)
    size = out.stat().st_size / 2**20
    note(f"{len(rows):,} runs; {size:.1f} MiB in {out}")
    if len(written) > 1:
        note(f"{len(written) - 1} figures in {figures}")
    if json:
        print_json({"page": str(out), "runs": len(rows), "figures": [str(path) for path in written if path != out]})
    else:
        print(out)
