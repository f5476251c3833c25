"""Replays that are kept: recorded in a folder, verified, and not computed twice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transom import __version__
from transom.errors import DocumentError, SpecError
from transom.files import whole_file
from transom.rng import stream
from transom.simulation.engine import Progress, simulate
from transom.simulation.metrics import TAU, Trim, summary
from transom.simulation.nodes import assign_nodes
from transom.simulation.policies import make_policy
from transom.simulation.recording import read_details, read_schedule, write_schedule
from transom.simulation.schedule import Schedule
from transom.simulation.verification import check_schedule
from transom.traces.workload import Workload

_LABEL = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)=(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Run:
    """One policy of a comparison: what to call it, its specification, and the seed."""

    label: str
    spec: str
    seed: int = 0


def parse_runs(policies: list[str], seed: int = 0) -> list[Run]:
    """Runs from ``[LABEL=]SPEC``; the label is the policy's name unless given.

    Raises
    ------
    SpecError : a policy or parameter is unknown, a value does not fit, or two runs have one label.
    """
    runs: list[Run] = []
    for text in policies:
        labelled = _LABEL.fullmatch(text)
        label, spec = (labelled[1], labelled[2]) if labelled else (text.partition(":")[0], text)
        make_policy(spec)
        if label in (run.label for run in runs):
            raise SpecError(f"two policies are called {label!r}; name one by LABEL=SPEC, such as {label}-2={spec}")
        runs.append(Run(label, spec, seed))
    return runs


def replay(
    workload: Workload,
    run: Run,
    folder: Path | None = None,
    details: dict[str, Any] | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> tuple[Schedule, bool]:
    """Replay and verify; with a folder, record there, or read what a finished run left there.

    Parameters
    ----------
    workload, run : what to replay.
    folder : where the run is recorded (``FOLDER/LABEL``); None keeps nothing.
    details : what else belongs in the record.
    force : replay even if a finished run of the same workload, policy and seed is there.
    progress : called with the number of started jobs.

    Returns
    -------
    The schedule, and whether it was read rather than computed.
    """
    card = _card(workload, run)
    target = folder / run.label if folder else None
    if target and not force and _is_recorded(target, card):
        return read_schedule(target), True
    schedule = simulate(workload, run.spec, seed=run.seed, label=run.label, progress=progress)
    # A schedule that does not stand is our bug, not the user's input.
    wrong = check_schedule(workload, schedule)
    assert not wrong, wrong
    if target:
        write_schedule(schedule, target, assign_nodes(schedule), {**(details or {}), **card})
    return schedule, False


def jittered(
    workload: Workload,
    run: Run,
    seconds: int,
    repeats: int,
    folder: Path | None = None,
    tau: float = TAU,
    trim: Trim | None = None,
    force: bool = False,
) -> Iterator[dict[str, float]]:
    """Summaries of replays of jittered copies of a workload, one after another.

    Repetition ``k`` moves the submissions alike for every policy, so that policies are compared on
    the same copies. With a folder, finished repetitions are kept there and not computed again.

    Parameters
    ----------
    workload, run : what to replay.
    seconds : submissions move by up to so much either way [s], >= 0.
    repeats : how many copies, > 0.
    folder, force : as in :func:`replay`.
    tau, trim : as in :func:`~transom.simulation.metrics.summary`.
    """
    path = folder / run.label / "repeats.json" if folder else None
    card = {**_card(workload, run), "jitter": seconds, "tau": tau, "trim": repr(trim or Trim())}
    done = [] if force or path is None else _read_summaries(path, card)
    yield from done[:repeats]
    for k in range(len(done), repeats):
        copy = workload.jittered(seconds, stream(run.seed, "jitter", k))
        schedule = simulate(copy, run.spec, seed=run.seed + k, label=run.label)
        done.append(summary(schedule, tau, trim))
        if path:
            with whole_file(path) as file:
                json.dump({"format": "transom/repeats/1", **card, "summaries": done}, file, indent=1)
        yield done[-1]


def _card(workload: Workload, run: Run) -> dict[str, Any]:
    return {"digest": workload.digest(), "spec": run.spec, "seed": run.seed, "transom": __version__}


def _is_recorded(folder: Path, card: dict[str, Any]) -> bool:
    try:
        details = read_details(folder)["details"]
    except (DocumentError, KeyError):
        return False
    return all(details.get(key) == value for key, value in card.items())


def _read_summaries(path: Path, card: dict[str, Any]) -> list[dict[str, float]]:
    try:
        kept = json.loads(path.read_text())
    except (OSError, ValueError):
        return []
    same = isinstance(kept, dict) and all(kept.get(key) == value for key, value in card.items())
    return list(kept["summaries"]) if same else []
