"""Proofs, gaps and answers of the suites of the bench."""

from __future__ import annotations

import hashlib
import math
import tempfile
from typing import Any

import polars as pl

from benchmarks.baseline.checkout import Checkout

# Of each suite so many instances a set and the solvers that carry the proofs, so that all take four minutes of CPU
# time; those of other libraries stand in `first` and `smoke`, which run as they are, a tenth of a second a run.
SUITES = {
    "first": (0, ""),
    "smoke": (0, ""),
    "knapsack": (8, "auto dp primal-dual greedy"),
    "selection": (2, "auto exhaustive pareto-dp epsilon lexicographic weighted constrained dot-product fcfs"),
    "csp": (2, "auto csp-dp csp-lagrangian csp-flow"),
    "tjap": (1, "auto scas-dp scas-lagrangian scas-flow dcas-exact free-exact dp-polish best-fit sequential"),
    "placement": (2, "auto placement-exact local-search greedy tetris drf"),
    "workflow": (1, "auto local-search heft longest-path lpt shortest-first"),
    "sequences": (0, ""),
}
POINTS_OF_PROOFS, POINTS_OF_GAP = 2.0, 0.02
"""How much a solver may lose on a suite within a budget [points]."""


def benched(checkout: Checkout, suite: str) -> list[dict[str, Any]]:
    """The rows of a suite, with budgets of CPU time."""
    with tempfile.TemporaryDirectory() as temporary:
        words = ["-m", "transom", "bench", "run", suite, "--workers", "1", "--clock", "cpu"]
        take, solvers = SUITES[suite]
        if take:
            words += ["--take", str(take), *(word for solver in solvers.split() for word in ("--solver", solver))]
            words += ["--seconds", "0.1", "--seconds", "1"]
        elif suite == "sequences":
            words += ["--seed", "0"]
        checkout.run(*words, "--quiet", "--out", f"{temporary}/out")
        rows = pl.read_parquet(f"{temporary}/out/rows/*.parquet")
    return rows.sort("set", "label", "budget_seconds", "spec").to_dicts()


def store_suites(checkout: Checkout, rounds: int = 2) -> dict[str, Any]:
    """Of each suite the best values, and by problem, solver and budget the least and the largest number of proofs and
    mean gap of so many runs, how many proofs came late (after half of the budget), and a digest of the answers
    where no run took so long."""
    return {suite: _suite([benched(checkout, suite) for _ in range(rounds)]) for suite in SUITES}


def _suite(runs: list[list[dict[str, Any]]], known: dict[str, float] | None = None) -> dict[str, Any]:
    """What is stored of the runs of a suite; gaps are to the best value of these runs and to what is known."""
    best, proved = dict(known or {}), set()
    for row in (row for run in runs for row in run if row["what"] == "solve" and row["value"] is not None):
        label, value, pick = row["label"], row["value"], max if row["sense"] == "max" else min
        best[label] = pick(best.get(label, value), value)
        if row["status"] == "optimal":
            proved.add(label)
    cells: dict[str, dict[str, Any]] = {}
    for run in runs:
        grouped: dict[str, list[dict[str, Any]]] = {}
        for row in run:
            budget = f", {row['budget_seconds']:g} s" if row["budget_seconds"] is not None else ""
            grouped.setdefault(f"{row['problem'] or 'replay'}, {row['spec']}{budget}", []).append(row)
        for name, rows in grouped.items():
            cell = cells.setdefault(name, {"runs": len(rows), "proofs": [], "late": 0, "gap": [], "answers": []})
            proofs = [row for row in rows if row["status"] in ("optimal", "infeasible")]
            cell["proofs"].append(len(proofs))
            cell["late"] = max(cell["late"], sum(_late(row) for row in proofs))
            cell["gap"].append(round(sum(_gap(row, best) for row in rows) / len(rows), 5))
            values = [f"{row['value']:.9g}" if row["value"] is not None else row["metrics"] for row in rows]
            ended = not any(_late(row) for row in rows)
            cell["answers"].append(hashlib.sha256("\n".join(values).encode()).hexdigest()[:16] if ended else None)
    for cell in cells.values():
        cell["answers"] = cell["answers"][0] if len(set(cell["answers"])) == 1 else None
        for score in ("proofs", "gap"):
            cell[score] = [min(cell[score]), max(cell[score])]
    return {
        "best": {label: float(f"{best[label]:.12g}") for label in sorted(best)},
        "proved": sorted(proved),
        "solvers": cells,
    }


def _late(row: dict[str, Any]) -> bool:
    """Whether a run took more than half of its budget: on a busy machine it may end otherwise."""
    return row["what"] == "solve" and 2 * float(row["seconds"] or 0) > float(row["budget_seconds"])


def _gap(row: dict[str, Any], best: dict[str, float]) -> float:
    """Distance to the best value that is known [points]."""
    if row["what"] != "solve" or row["status"] == "infeasible":
        return 0.0
    if row["value"] is None:
        return 100.0
    value, known = float(row["value"]), best[row["label"]]
    return 100 * abs(value - known) / max(abs(value), abs(known), 1e-300)


def compare_suites(stored: dict[str, Any], checkout: Checkout, against: Checkout | None) -> int:
    """Print what a suite loses in two runs, one after the other: a busy machine may cost one of them a proof."""
    failed = 0
    for suite in SUITES:
        old = _suite([benched(against, suite)]) if against else stored[suite]
        lost = _lost(old, benched(checkout, suite))
        if lost:
            again = _lost(old, benched(checkout, suite))
            lost = {name: text for name, text in lost.items() if name in again}
        print(
            f"{suite}:", *([f"{name}: {text}" for name, text in lost.items()] or ["as it was"]), sep="\n  ", flush=True
        )
        failed += len(lost)
    return failed


def _lost(old: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, str]:
    """Lost proofs, larger gaps, other answers and other proved values, by what they are of."""
    new, lost = _suite([rows], old["best"]), {}
    for row in rows:
        if row["outcome"] not in ("ok", "refused"):
            lost[f"{row['label']}, {row['spec']}"] = f"{row['outcome']}: {row['cause']}"
        if row["status"] == "optimal" and row["label"] in old["proved"]:
            value = old["best"][row["label"]]
            if not math.isclose(row["value"], value, rel_tol=1e-9):
                lost[f"{row['label']}, {row['spec']}"] = f"proves {row['value']}, {value} was proved"
    for name, then in old["solvers"].items():
        if (now := new["solvers"].get(name)) is None:
            lost[name] = "did not run"
            continue
        least = then["proofs"][0] - then["late"] - POINTS_OF_PROOFS / 100 * then["runs"]
        if now["proofs"][0] < least:
            lost[name] = (
                f"{now['proofs'][0]} proofs of {now['runs']}, {then['proofs'][0]} then, {then['late']} of them late"
            )
        elif now["gap"][0] > then["gap"][1] + POINTS_OF_GAP:
            lost[name] = f"gap {now['gap'][0]:.3f} points, at most {then['gap'][1]:.3f} then"
        elif then["answers"] and now["answers"] and then["answers"] != now["answers"]:
            lost[name] = "other answers"
    return lost
