"""Summaries of window sequences: the metrics of a policy on a workload over the seeds of its replays.

The digest of a sequence is of its jobs, event rules and jitter: policies are compared within it, and nothing is ever
averaged over two of them. The sample is the seeds, each a moved copy of the same workload. Metrics have no bounds, so
that nothing is known of where a mean over all copies lies: the median has limits, from six seeds on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from transom.bench.plan.task import FAILED
from transom.bench.score.limits import median_limits

if TYPE_CHECKING:
    import polars as pl


def replay_summaries(frame: pl.DataFrame) -> pl.DataFrame:
    """The metrics of every policy on every sequence.

    Parameters
    ----------
    frame : rows of a store; solves are left out.

    Returns
    -------
    One row per sequence, policy and metric: ``set``, ``instance`` (its digest), ``policy`` (its name, with the
    specification where the name stands for several), ``runs``, ``failed``, ``metric`` (null for a policy without a
    finished replay), ``clock`` of the rule that orders its queue (:mod:`transom.simulation.policies.clocks`; null
    where there is none), ``mean``, ``least``, ``most`` and ``median`` of the finished replays, and the 95 % limits
    ``median_low`` and ``median_high`` (:func:`~transom.bench.score.limits.median_limits`), null with fewer than six of
    them.
    """
    import polars as pl

    columns = {
        "set": pl.String, "instance": pl.String, "policy": pl.String, "runs": pl.Int64, "failed": pl.Int64,
        "metric": pl.String, "clock": pl.String, "mean": pl.Float64, "least": pl.Float64, "most": pl.Float64,
        "median": pl.Float64, "median_low": pl.Float64, "median_high": pl.Float64,
    }  # fmt: skip
    lines: list[dict[str, Any]] = []
    replays = frame.filter(pl.col("what") == "replay")
    several = pl.col("spec").n_unique().over("set", "instance", "name") > 1
    replays = replays.with_columns(name=pl.when(several).then(pl.format("{} ({})", "name", "spec")).otherwise("name"))
    for key, rows in replays.group_by("set", "instance", "name", maintain_order=True):
        head = dict(zip(("set", "instance", "policy"), key, strict=True))
        head |= {"runs": len(rows), "failed": int(rows["outcome"].is_in(FAILED).sum())}
        noted = (msgspec.json.decode(text or "{}").get("clock") for text in rows["parameters"])
        head["clock"] = next((clock for clock in noted if clock is not None), None)
        measured: dict[str, list[float]] = {}
        for text in rows.filter(pl.col("outcome") == "ok")["metrics"]:
            for name, value in msgspec.json.decode(text).items():
                measured.setdefault(name, []).append(float(value))
        if not measured:
            lines.append(head)
        for name, values in measured.items():
            low, high = (None, None) if (limits := median_limits(values)) is None else map(float, limits)
            line = {**head, "metric": name, "mean": float(np.mean(values)), "least": min(values), "most": max(values)}
            lines.append({**line, "median": float(np.median(values)), "median_low": low, "median_high": high})
    return pl.DataFrame(lines, schema=columns)
