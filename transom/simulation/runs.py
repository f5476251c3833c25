"""Replays that are kept: recorded in a folder, verified, and not computed twice."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transom import registry
from transom._system.files import atomic_write
from transom._system.notices import log, timed
from transom._system.source_digest import source_digest
from transom._system.trusted import trusted_whole
from transom.errors import DocumentError, SpecError
from transom.models import Allocation
from transom.rng import stream
from transom.simulation.core.promise_log import PromiseLog
from transom.simulation.core.replay import Progress
from transom.simulation.core.schedule import Schedule
from transom.simulation.engine import simulate
from transom.simulation.nodes.allocator import Allocator
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.simulation.output.answer import Repetition
from transom.simulation.output.job_groups import groupings, mean_waits
from transom.simulation.output.metrics import TAU, Trim, summary
from transom.simulation.output.outage_verification import check_outages
from transom.simulation.output.recording import TEXTS, read_details, read_node_runs, read_schedule, write_schedule
from transom.simulation.output.verification import check_nodes, check_schedule
from transom.simulation.policies.by_name import deciding, make_policy
from transom.traces.job_facts import facts_digest, job_facts
from transom.traces.outages import Outages, outage_card
from transom.traces.workload import Workload

FIGURES = "figures"
"""The folder of pictures, beside those of the policies."""

REPEATS = "repeats.json"
"""The file of figures of jittered copies, in the folder of a policy."""

REPLAYED = "its policy is replayed again"
"""What is done instead of reading a recording that somebody else may have changed."""

_FORMAT = "transom/repeats/2"


@dataclass(frozen=True, slots=True)
class Run:
    """One policy of a comparison: what to call it, its specification, the seed, and how jobs get their nodes.

    ``allocator`` is for clusters with a topology; without one jobs get the lowest idle ids, and hops cost as in
    the paper. ``rules`` are the event rules, as a specification. ``policy`` is what the specification describes, made
    once and reset before each replay; by default a policy of jobs on nodes.

    Raises
    ------
    SpecError : the policy or a parameter is unknown, or a value does not fit.
    """

    label: str
    spec: str
    seed: int = 0
    allocator: Allocator | None = None
    rules: str = "textbook"
    outages: Outages | None = None
    policy: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.policy is None:
            object.__setattr__(self, "policy", make_policy(self.spec))


def parse_runs(policies: list[str], seed: int = 0, make: Callable[[str], Any] = make_policy) -> list[Run]:
    """Runs from ``[LABEL=]SPEC``; ``make`` builds the policy.

    Unless given, the label is the policy's name, with the settings that differ where others have that name
    (:func:`~transom.registry.labelled_apart`).

    Raises
    ------
    SpecError : a policy or parameter is unknown, a value does not fit, a label is none or that of the folder of
        pictures, or two runs have one.
    """
    runs: list[Run] = []
    for label, spec in registry.labelled_apart(policies):
        if label.lower() == FIGURES:
            raise SpecError(f"label {label!r}: a policy cannot be called so: {FIGURES}/ is the folder of pictures")
        policy = make(spec)
        if label in (run.label for run in runs):
            raise SpecError(f"two policies are called {label!r}; name one by LABEL=SPEC, such as {label}-2={spec}")
        runs.append(Run(label, spec, seed, policy=policy))
    return runs


def replay(
    workload: Workload,
    run: Run,
    folder: Path | None = None,
    details: dict[str, Any] | None = None,
    force: bool = False,
    progress: Progress | None = None,
    texts: Mapping[str, NDArray[Any]] | None = None,
) -> tuple[Schedule, bool]:
    """Replay and verify; with a folder, record there, or read what a finished run left there.

    Parameters
    ----------
    workload, run : what to replay.
    folder : where the run is recorded (``FOLDER/LABEL``); None keeps nothing.
    details : what else belongs in the record.
    force : replay even if a finished run of the same workload, policy, seed and code is there.
    progress : called with the number of started jobs.
    texts : what the jobs and their users are called (:func:`~transom.traces.further_fields.read_job_texts`).

    Returns
    -------
    The schedule, and whether it was read rather than computed.
    """
    target = folder / run.label if folder else None
    card = run_card(workload, run) if target else {}
    if target and not force and (kept := _recorded(target, card)) is not None:
        log(f"{run.label}: read from {target}, where it was finished before")
        return kept, True
    promises = PromiseLog(target) if target else None
    with timed(f"replaying {run.label}"):
        schedule = _computed(workload, run, run.seed, progress, promises)
    if target:
        runs = schedule.runs or assign_nodes(schedule)
        if schedule.runs is None:
            stand(check_nodes(schedule, runs))
        # From here on the old record is none: an interrupt must not leave halves of two.
        (target / "jobs.parquet").unlink(missing_ok=True)
        groups = groupings(workload.jobs, workload.runtime, workload.cluster, workload.origin)
        stated = {kind: np.array([*groups[kind].labels, ""])[groups[kind].of] for kind in TEXTS if kind in groups}
        known = {**(details or {}), **card}
        write_schedule(schedule, target, runs, known, promises, {**stated, **(texts or {})})
    return schedule, False


def repetitions(
    workload: Workload,
    run: Run,
    jitter: int,
    repeats: int,
    folder: Path | None = None,
    tau: float = TAU,
    trim: Trim | None = None,
    force: bool = False,
) -> Iterator[Repetition]:
    """Figures of replays of jittered copies of a workload, one after another, and mean waits of groups of jobs.

    Repetition ``k`` moves the submissions alike for every policy, so that policies are compared on
    the same copies, and draws from a seed of its own. With a folder, finished repetitions are kept
    there and not computed again.

    Parameters
    ----------
    workload, run : what to replay.
    jitter : submissions move by up to so much either way [s], >= 0.
    repeats : how many copies, > 0.
    folder, force : as in :func:`replay`.
    tau, trim : as in :func:`~transom.simulation.output.metrics.summary`.
    """
    path = folder / run.label / REPEATS if folder else None
    card = {**run_card(workload, run), "jitter": jitter, "tau": tau, "trim": repr(trim or Trim())}
    done = [] if force or path is None else _read_repetitions(path, card)
    yield from done[:repeats]
    for k in range(len(done), repeats):
        copy = workload.jittered(jitter, stream(run.seed, "jitter", k))
        schedule = _computed(copy, run, run.seed + k)
        groups = groupings(copy.jobs, copy.runtime, copy.cluster, copy.origin)
        done.append(Repetition(summary(schedule, tau, trim), mean_waits(schedule, groups, trim)))
        if path:
            rows = [{name: None if math.isnan(x) else x for name, x in each.figures.items()} for each in done]
            with atomic_write(path) as file:
                json.dump(
                    {
                        "format": _FORMAT,
                        "rules": run.rules,
                        "remarks": [each._asdict() for each in workload.diagnostics],
                        **card,
                        "summaries": rows,
                        "waits": [each.waits for each in done],
                    },
                    file,
                    indent=1,
                    allow_nan=False,
                )
        yield done[-1]


def _computed(
    workload: Workload, run: Run, seed: int, progress: Progress | None = None, promises: PromiseLog | None = None
) -> Schedule:
    schedule = simulate(
        workload,
        run.policy,
        spec=run.spec,
        seed=seed,
        label=run.label,
        progress=progress,
        allocator=run.allocator,
        rules=run.rules,
        promises=promises,
        outages=run.outages,
    )
    stand(check_schedule(workload, schedule))
    if schedule.runs is not None:
        stand(check_nodes(schedule, schedule.runs))
        if run.outages is not None:
            stand(check_outages(workload, schedule, schedule.runs, run.outages, seed))
    return schedule


def stand(wrong: list[str]) -> None:
    """Raise a RuntimeError if a judge found something wrong with what was computed here."""
    if wrong:  # our fault, not the user's: it keeps its traceback
        raise RuntimeError(f"the schedule does not stand: {'; '.join(wrong)}")


def run_card(workload: Workload, run: Run) -> dict[str, Any]:
    """What a replay depends on, in JSON's terms: jobs, policy, seed, code, and whatever else is not as usual."""
    card = {"digest": workload.digest(), "spec": run.spec, "seed": run.seed, "code": _code(run)}
    started = workload.origin.started
    card["epoch"] = workload.origin.epoch
    card["logged"] = None if started is None else blake2b(started.tobytes(), digest_size=8).hexdigest()
    if run.allocator is not None:
        card["allocator"] = asdict(run.allocator)
    if run.rules != "textbook":
        card["events"] = run.rules
    if run.outages is not None:
        card["outages"] = outage_card(run.outages)
    if workload.origin.cost is not None:
        card["costs"] = blake2b(workload.origin.cost.tobytes(), digest_size=8).hexdigest()
    if any(getattr(part, "by_facts", False) for part in deciding(run.policy)):
        card["facts"] = facts_digest(job_facts(workload))
    return card


def _code(run: Run) -> str:
    """A digest of what decides: this package, the files of what others registered, and weights (``digest``)."""
    parts = deciding(run.policy)
    if run.allocator is not None and run.allocator.solver is not None:
        parts.append(registry.make(registry.SOLVERS, run.allocator.solver, Allocation))
    return code_digest(parts, run.spec)


def code_digest(parts: Sequence[Any], spec: str) -> str:
    """A digest of this package, of the files of what others registered among ``parts``, of weights they hold, and of
    the files that ``spec``, of which they were made, names."""
    state = blake2b(source_digest().encode(), digest_size=8)
    state.update(registry.weights_of(*parts, spec=spec).encode())
    for module in sorted({type(part).__module__ for part in parts}):
        file = getattr(sys.modules.get(module), "__file__", None)
        if file and not module.startswith("transom."):
            state.update(Path(file).read_bytes())
    return state.hexdigest()


def _recorded(folder: Path, card: dict[str, Any]) -> Schedule | None:
    if not (folder / "jobs.parquet").exists() or not trusted_whole(folder, REPLAYED):
        return None
    try:
        details = read_details(folder)["details"]
        same = all(details.get(key) == value for key, value in card.items())
        if not same or _other_kind(details, card):
            return None
        schedule = read_schedule(folder)
        if schedule.spread is None and schedule.outages is None:
            return schedule
        return replace(schedule, runs=read_node_runs(folder))
    except (DocumentError, KeyError):
        return None  # missing, damaged or of other versions: no record


def _other_kind(kept: dict[str, Any], card: dict[str, Any]) -> bool:
    """Whether only one of two replays has an allocator, outages, or event rules that are not the textbook's."""
    return any((name in kept) != (name in card) for name in ("allocator", "events", "outages"))


def read_repetitions(folder: Path) -> tuple[dict[str, Any], list[Repetition]]:
    """What ``repeats.json`` of a recorded policy says of its replays, and their figures; nothing where there is none.

    Raises
    ------
    DocumentError : the file is not what :func:`repetitions` writes.
    """
    path = folder / REPEATS
    if not path.exists():
        return {}, []
    try:
        kept = json.loads(path.read_text())
        if kept["format"] != _FORMAT:
            raise ValueError
        nan = math.nan
        figures = [{name: nan if x is None else float(x) for name, x in each.items()} for each in kept.pop("summaries")]
        waits = [
            {kind: {name: (int(jobs), float(wait)) for name, (jobs, wait) in of.items()} for kind, of in each.items()}
            for each in kept.pop("waits")
        ]
        return kept, [Repetition(*both) for both in zip(figures, waits, strict=True)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise DocumentError(f"{path}: damaged, or of another version; record it again with --force") from None


def _read_repetitions(path: Path, card: dict[str, Any]) -> list[Repetition]:
    if not path.exists() or not trusted_whole(path.parent, REPLAYED):
        return []
    try:
        kept, done = read_repetitions(path.parent)
    except DocumentError:
        return []
    same = all(kept.get(key) == value for key, value in card.items()) and not _other_kind(kept, card)
    return done if same else []
