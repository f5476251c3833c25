"""Sequences of windows: a trace replayed under a policy, as a run of the bench."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from transom.bench.plan.plan import Plan, TraceSet, set_name
from transom.bench.plan.rooted_specs import rooted
from transom.bench.plan.task import Outcome, Row, Task, check_weights
from transom.errors import DocumentError, SpecError, TransomError
from transom.registry import labelled_apart, weights_of
from transom.stop import Stop

if TYPE_CHECKING:
    from transom.generate.instance_generator import InstanceGenerator
    from transom.simulation.reading import Sequence

FORMAT = "transom/sequence/1"
VALUE = "mean_bounded_slowdown"
"""The metric that counts as the value of a replay; the less the better."""

_FIRST = 50  # jobs that are replayed before the clock starts, so that what a policy compiles is compiled


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a worker needs for a replay: the trace with one policy, and the seed of the jitter and the policy."""

    trace: TraceSet
    seed: int
    format: str = FORMAT


_DECODER = msgspec.json.Decoder(_Document)


def replay_tasks(plan: Plan, trace: TraceSet, make: bool = True) -> Iterator[Task]:
    """The replays of a workload: one for each policy and seed, in the order of the plan.

    The digest of the instance is of the jobs, the event rules and the jitter: what is the same for all policies. A
    file must be found under its path wherever the replays run. With ``make`` false the jobs of a recipe are not made,
    and the digest is one of its parameters: enough to count the replays.

    Raises
    ------
    ModelError, TraceError : the trace cannot be read.
    SpecError : a policy, recipe, rule or parameter is unknown or does not fit, or one policy stands here twice.
    """
    from transom.simulation.event_rules import Textbook, parse_rules, suited_policy
    from transom.simulation.policies.by_name import deciding, make_policy

    name = set_name(trace)
    named = labelled_apart([rooted(text, Path.cwd()) for text in trace.policies])
    try:
        rules = parse_rules(trace.rules)
        policies = [make_policy(spec) for _, spec in named]
        if not isinstance(rules, Textbook):
            for (_, spec), policy in zip(named, policies, strict=True):
                suited_policy(rules, policy, spec)
    except SpecError as error:
        raise SpecError(f"{name}: {error}") from None
    for label, spec in named:
        if twin := next((other for other, same in named if same == spec and other != label), None):
            raise SpecError(f"{name}: {twin!r} and {label!r} are one policy: {spec}")
    weights = {
        spec: weights_of(*deciding(policy), spec=spec) for (_, spec), policy in zip(named, policies, strict=True)
    }
    if make or trace.generate is None:
        digest = _digest(_sequence(trace), trace)
    else:
        _recipe(trace)
        digest = blake2b(_terms(trace) + str(trace.jitter).encode(), digest_size=16).hexdigest()
    for seed in dict.fromkeys(plan.seeds):
        for label, spec in named:
            document = _Document(msgspec.structs.replace(trace, name=name, policies=(spec,)), seed)
            yield Task(
                what="replay",
                set=name,
                label=name if not trace.jitter else f"{name}, moved by seed {seed}",
                document=msgspec.Raw(msgspec.json.encode(document)),
                instance=digest,
                problem="sequence",
                name=label,
                spec=spec,
                stop=Stop(),
                seed=seed,
                weights=weights[spec],
                grace=plan.grace,
                limit=plan.limit,
                memory=plan.memory,
            )


def replay_task(task: Task, announce: Callable[[Literal["run"]], None] = lambda stage: None) -> Row:
    """Execute a replay in this process and verify its schedule.

    The value is the mean bounded slowdown; all metrics stand in the row. A schedule that does not stand is ``wrong``.

    Parameters
    ----------
    task : the run.
    announce : called when the replay begins, after the trace is read and what the policy needs is compiled.
    """
    from transom.bench.plan.failures import failed
    from transom.bench.plan.provenance import provenance
    from transom.simulation.policies.by_name import deciding, make_policy

    try:
        entered = perf_counter()
        document = _DECODER.decode(task.document)
        read = _sequence(document.trace)
        if (found := _digest(read, document.trace)) != task.instance:
            raise DocumentError(f"{task.label}: the trace gives {found}, the task is about {task.instance}")
        check_weights(task, *deciding(make_policy(task.spec)))
        cold = _prepared(task, document.trace, read, entered)
        announce("run")
        return Row(
            **provenance(task), sense="min", size=len(read.workload), **_replayed(task, document, read), cold=cold
        )
    except TransomError as error:
        return failed(task, "error", str(error))
    except (Exception, SystemExit) as fault:  # what a policy raises is a result of the run
        return failed(task, "error", f"{type(fault).__name__}: {fault}")


def _replayed(task: Task, document: _Document, read: Sequence) -> dict[str, Any]:
    from transom.rng import stream
    from transom.simulation import simulate
    from transom.simulation.output.metrics import summary
    from transom.simulation.output.verification import check_nodes, check_schedule
    from transom.simulation.policies.clocks import clock_of

    workload = read.workload
    noted = {} if (clock := clock_of(task.spec)) is None else {"parameters": {"clock": clock}}
    if document.trace.jitter:
        # The copy that `transom simulate --seed SEED --repeats 1` replays.
        workload = workload.jittered(document.trace.jitter, stream(document.seed, "jitter", 0))
    gc.collect()  # else what earlier runs left is cleared up on the clock of this one
    begun = perf_counter()
    schedule = simulate(workload, task.spec, seed=document.seed, label=task.name, rules=read.rules)
    wall = perf_counter() - begun
    wrong = check_schedule(workload, schedule)
    if schedule.runs is not None:
        wrong += check_nodes(schedule, schedule.runs)
    outcome: Outcome = "wrong" if wrong else "ok"
    if wrong:
        return {"outcome": outcome, "cause": "; ".join(wrong), "wall": wall}
    metrics = {name: value for name, value in summary(schedule).items() if math.isfinite(value)}
    if (estimates := workload.facts["estimates"])["perfect"]:
        metrics["perfect_estimates"] = estimates["share"] or 1.0
    value = metrics.get(VALUE)
    return {
        **noted,
        "outcome": outcome,
        "status": "unknown" if value is None else "feasible",
        "reason": "finished",
        "value": value,
        "curve": () if value is None else ((wall, value, None),),
        "seconds": wall,
        "wall": wall,
        "metrics": metrics,
        "overhead": perf_counter() - begun - wall,
    }


def _prepared(task: Task, trace: TraceSet, read: Sequence, since: float) -> float:
    """Compile what the policy needs; how long that and reading took [s]."""
    from transom.simulation import simulate

    first = read.workload.take(list(range(min(_FIRST, len(read.workload)))))
    simulate(first, task.spec, seed=task.seed, rules=read.rules)
    return perf_counter() - since


def _sequence(trace: TraceSet) -> Sequence:
    """The jobs of a trace set; the last ones are kept, because the replays of one follow each other."""
    return _read(_terms(trace))


def _terms(trace: TraceSet) -> bytes:
    """What the jobs follow from."""
    return msgspec.json.encode(msgspec.structs.replace(trace, name="", policies=(), jitter=0))


def _recipe(trace: TraceSet) -> InstanceGenerator:
    from transom.generate.recipes import recipe

    if trace.nodes is not None:
        raise SpecError(f"{trace.generate}: nodes are a parameter of the recipe")
    return recipe(str(trace.generate), trace.parameters)


@lru_cache(maxsize=2)
def _read(data: bytes) -> Sequence:
    from transom.simulation.event_rules import SequenceRules, parse_rules
    from transom.simulation.reading import Sequence, read_sequence
    from transom.traces import Workload, cut

    trace = msgspec.json.decode(data, type=TraceSet)
    rules = parse_rules(trace.rules)
    if trace.file is not None:
        if isinstance(rules, SequenceRules) and not trace.start and trace.jobs is None:
            raise SpecError(
                f"{trace.file}: a sequence is replayed under {trace.rules}: start and jobs say which; "
                "the protocol of random ones is that of transom simulate"
            )
        return read_sequence(Path(trace.file), rules, trace.nodes, trace.start, trace.jobs)
    made = next(iter(_recipe(trace).make(trace.workload_seed, 1)), None)
    if not isinstance(made, Workload):
        raise SpecError(f"{trace.generate}: this recipe makes no workloads")
    whole = not trace.start and trace.jobs is None
    return Sequence(made if whole else cut(made, trace.start, trace.jobs), rules)


def _digest(read: Sequence, trace: TraceSet) -> str:
    terms = (read.workload.digest(), read.rules.replayed, trace.jitter)
    return blake2b(msgspec.json.encode(terms), digest_size=16).hexdigest()
