"""Scores as scenarios of ASlib, the library of algorithm selection: which solver to take for which instance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom._system.files import atomic_write

if TYPE_CHECKING:
    import polars as pl

_FOLDS = 10
_YAML = "''"  # a single quote within single quotes
_STATUS = {"memory": "memout", "refused": "not_applicable", "error": "crash", "wrong": "crash", "crash": "crash"}
_STATUSES = ("ok", "timeout", "memout", "not_applicable", "crash", "other")
_GROUP = ("problem", "budget", "threads")


def write_scenarios(table: pl.DataFrame, folder: Path) -> list[Path]:
    """Write a scenario for each problem, budget in seconds and number of threads.

    A run is ``ok`` when it proved its answer within the budget, else ``timeout`` or how it failed. Its measures are the
    runtime [s] and the primal gap when the budget was over, from 0 to 1. Instances have one feature, their size.

    Parameters
    ----------
    table : of :func:`transom.bench.score.score.scored`.
    folder : gets a folder for each scenario, named after it.

    Returns
    -------
    These folders; none where no run has a budget in seconds.

    References
    ----------
    Bischl et al., ASlib: A benchmark library for algorithm selection, Artificial Intelligence 237 (2016), form 1.0.1.
    """
    import polars as pl

    written = []
    for (problem, budget, threads), rows in table.filter(pl.col("budget_seconds").is_not_null()).group_by(
        _GROUP, maintain_order=True
    ):
        name = "-".join((str(problem), str(budget).replace(" ", ""), *(() if threads == 1 else (f"{threads}threads",))))
        _write(rows.sort("instance", "solver", "seed"), name, folder / name)
        written.append(folder / name)
    return written


def _write(rows: pl.DataFrame, name: str, folder: Path) -> None:
    import polars as pl

    solvers = sorted(rows["solver"].unique().to_list())
    numbered = rows.with_columns(
        repetition=pl.int_range(1, pl.len() + 1).over("instance", "solver"),
        runstatus=pl.when("proved")
        .then(pl.lit("ok"))
        .otherwise(pl.col("outcome").replace_strict(_STATUS, default="timeout", return_dtype=pl.String)),
    )
    instances = rows.group_by("instance", maintain_order=True).agg(pl.col("size").first())
    several = numbered.height > numbered.select("instance", "solver").n_unique()
    _arff(
        folder,
        "algorithm_runs",
        name,
        {"instance_id": "STRING", "repetition": "NUMERIC", "algorithm": "STRING", "runtime": "NUMERIC",
         "gap": "NUMERIC", "runstatus": f"{{{', '.join(_STATUSES)}}}"},
        numbered.select("instance", "repetition", "solver", "time", "primal_gap", "runstatus").iter_rows(),
    )  # fmt: skip
    _arff(
        folder,
        "feature_values",
        name,
        {"instance_id": "STRING", "repetition": "NUMERIC", "size": "NUMERIC"},
        ((instance, 1, size) for instance, size in instances.iter_rows()),
    )
    _arff(
        folder,
        "feature_runstatus",
        name,
        {"instance_id": "STRING", "repetition": "NUMERIC", "stated": "{ok, timeout, memout, presolved, crash, other}"},
        ((instance, 1, "ok") for instance in instances["instance"]),
    )
    _arff(
        folder,
        "cv",
        name,
        {"instance_id": "STRING", "repetition": "NUMERIC", "fold": "NUMERIC"},
        ((instance, 1, k % _FOLDS + 1) for k, instance in enumerate(instances["instance"])),
    )
    with atomic_write(folder / "description.txt") as file:
        file.write(_description(name, float(rows["budget_seconds"][0]), solvers, several))


def _description(name: str, seconds: float, solvers: Sequence[str], several: bool) -> str:
    kinds = {"stochastic": solvers if several else (), "deterministic": () if several else solvers}
    lines = [
        f"scenario_id: {name}",
        "performance_measures: [runtime, gap]",
        "maximize: ['false', 'false']",
        "performance_type: [runtime, solution_quality]",
        f"algorithm_cutoff_time: {seconds:g}",
        "algorithm_cutoff_memory: '?'",
        "features_cutoff_time: '?'",
        "features_cutoff_memory: '?'",
        *(f"algorithms_{kind}: [{', '.join(_quoted(each, _YAML) for each in named)}]" for kind, named in kinds.items()),
        "features_deterministic: [size]",
        "features_stochastic: []",
        "default_steps: [stated]",
        "number_of_feature_steps: 1",
        "feature_steps:",
        "  stated:",
        "    provides: [size]",
    ]
    return "\n".join(lines) + "\n"


def _arff(folder: Path, name: str, relation: str, columns: dict[str, str], rows: Iterable[Sequence[Any]]) -> None:
    with atomic_write(folder / f"{name}.arff") as file:
        file.write(f"@RELATION {_quoted(f'{name}_{relation}')}\n\n")
        file.writelines(f"@ATTRIBUTE {column} {kind}\n" for column, kind in columns.items())
        file.write("\n@DATA\n")
        for row in rows:
            cells = ("?" if cell is None else _quoted(cell) if isinstance(cell, str) else f"{cell:.9g}" for cell in row)
            file.write(",".join(cells) + "\n")


def _quoted(text: str, quote: str = "\\'") -> str:
    """A text as it stands in ARFF, and with two single quotes for one in YAML: as it is where it is a plain word."""
    return text if text.replace("-", "a").replace("_", "a").isalnum() else "'" + text.replace("'", quote) + "'"
