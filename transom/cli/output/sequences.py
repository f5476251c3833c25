"""RLScheduler's protocol: policies side by side over random sequences of a trace."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom._system.wording import counted
from transom.cli.output.console import check_recording, describe, note, print_json, progress, remarked
from transom.cli.output.learned_policies import card_lines, print_cards, references
from transom.cli.output.schedule_tables import print_summaries
from transom.cli.output.side_by_side import Comparison

if TYPE_CHECKING:
    from transom.cli.options.events import Read
    from transom.simulation.event_rules import SequenceRules
    from transom.simulation.runs import Run


def compare_sequences(asked: Comparison, read: Read, runs: list[Run], trace: Path, tau: float) -> None:
    """Replay each drawn sequence on an empty machine under each policy; print means over the sequences.

    Parameters
    ----------
    asked : what is kept and shown; ``LABEL.START`` is recorded for each policy and sequence.
    read : the jobs and the rules, which say how sequences are drawn.
    runs : the policies.
    trace : the file, as it was named.
    tau : bound of the bounded slowdown [s].
    """
    import numpy as np

    from transom.simulation.output.metrics import aggregate, summary
    from transom.simulation.policies.by_name import deciding
    from transom.simulation.policies.clocks import clock_of
    from transom.simulation.runs import replay

    rules: SequenceRules = read.rules  # type: ignore[assignment]
    workload, out, json = read.workload, asked.out, asked.json
    starts = rules.starts(len(workload))
    cards = card_lines(((run.label, deciding(run.policy)) for run in runs), workload.cluster.num_nodes)
    beside = references(runs) if cards and asked.reference and not json else []
    if out:
        for run in runs:
            check_recording(out / f"{run.label}.{starts[0]}")
    for line in describe(workload):
        note(line)
    note(f"  sequences of {counted(rules.length, 'job')} begin at {', '.join(map(str, starts))}")
    print_cards(cards, json)
    runs = [*runs, *beside]
    by_id = np.argsort(workload.jobs.id)
    figures: list[list[dict[str, float]]] = [[] for _ in runs]
    with progress() as bars:
        tasks = [bars.add_task(run.label, total=len(starts) * rules.length) for run in runs]
        for start in starts:
            sequence = workload.take(by_id[start : start + rules.length])
            card = {**read.card, "start": start, "jobs": rules.length}
            details = {"trace": str(trace), "rules": card, **sequence.facts}
            for run, task, rows in zip(runs, tasks, figures, strict=True):
                one = replace(run, label=f"{run.label}.{start}", rules=rules.within(sequence).replayed)
                done = rules.length * len(rows)
                report = partial(_advance, bars, task, done)
                folder = None if run in beside else out
                rows.append(summary(replay(sequence, one, folder, details, asked.force, report)[0], tau))
                bars.update(task, completed=done + rules.length)
    drawn = {name: getattr(rules, name) for name in rules.protocol}
    if json:
        print_json(
            {
                "trace": str(trace),
                "workload": workload.digest(),
                "jobs": len(workload),
                "nodes": workload.cluster.num_nodes,
                **workload.facts,
                "repairs": dict(workload.repairs),
                "rules": rules.stated,
                "protocol": {**drawn, "starts": starts},
                "policies": [
                    {
                        "policy": run.label,
                        "spec": run.spec,
                        **({} if (clock := clock_of(run.policy)) is None else {"clock": clock}),
                        "rules": rules.stated,
                        "over_sequences": {name: each._asdict() for name, each in aggregate(rows).items()},
                        "sequences": [
                            {
                                "start": start,
                                "folder": str(out / f"{run.label}.{start}") if out else None,
                                "metrics": row,
                            }
                            for start, row in zip(starts, rows, strict=True)
                        ],
                    }
                    for run, rows in zip(runs, figures, strict=True)
                ],
            }
        )
        return
    title = (
        f"{workload.name} under {rules.stated} events, sequences of {counted(rules.length, 'job')} (seed {rules.seed})"
    )
    print_summaries(remarked(title, workload), runs, [rows[0] for rows in figures], figures, "sequence")
    if out:
        note(f"jobs and decisions: {out}/LABEL.START/jobs.parquet, decisions.parquet")


def _advance(bars: Any, task: Any, done: int, started: int) -> None:
    bars.update(task, completed=done + started)
