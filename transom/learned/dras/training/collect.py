"""Rollouts for training and whole replays for evaluation, compiled with the scorer inside the loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from transom._system.compiling import compiled
from transom.errors import ModelError, SpecError
from transom.learned.dras.process.episodes import Episodes
from transom.learned.dras.process.features import CONTEXT, FEATURES, observe
from transom.learned.dras.process.inference import Workspace, choose, decide, new_workspace
from transom.learned.dras.process.process import (
    AHEAD,
    BEGIN,
    HOLDER,
    INSTANT,
    PICKED,
    AgentConfig,
    DecisionState,
    begin,
    check_config,
    finish,
)
from transom.learned.dras.process.rewards import Reward, RewardState, parse_reward
from transom.learned.dras.process.state_from_window import new_decision_state
from transom.learned.dras.process.stepping import act, step_to_next_decision
from transom.learned.scorer import ScorerWeights
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.rng import stream
from transom.simulation.core.drive import drive, new_log
from transom.simulation.core.events import QUEUED, State, advance
from transom.simulation.core.replay import Progress, Replay
from transom.simulation.core.schedule import COLUMNS, Schedule
from transom.simulation.passes.rule_replay import after, before
from transom.traces.workload import Workload

_WORK = 20_000_000  # waiting jobs and pairs of candidates between two looks at the progress bar and Ctrl-C


class Batch(NamedTuple):
    """T recorded decisions, those among two candidates or more, in order; ``W``, ``F``, ``G`` as in ``features``.

    Parameters
    ----------
    features : what was seen of each candidate, float32, shape ``(T, W, F)``, zero beyond ``count``.
    context : what all candidates had in common, float32, shape ``(T, G)``.
    count : number of candidates, shape ``(T,)``.
    action : the candidate that was chosen, shape ``(T,)``.
    log_probability : with which log-probability, shape ``(T,)``.
    reward : from this decision to the next one, shape ``(T,)``; what comes before the first of an episode is
        counted to that one.
    done : whether the episode ended before another decision, shape ``(T,)``.
    instant : running number of the scheduling instance over all episodes, shape ``(T,)``.
    """

    features: NDArray[np.float32]
    context: NDArray[np.float32]
    count: IntArray  # type: ignore[assignment]
    action: IntArray
    log_probability: FloatArray
    reward: FloatArray
    done: BoolArray
    instant: IntArray


class Agent(NamedTuple):
    """A scorer that decides: how it schedules, its weights, room for a decision, and how it chooses.

    ``epsilon`` < 0: choices are drawn from the softmax of the scores; 0 to 1: epsilon-greedy.
    """

    config: AgentConfig
    weights: ScorerWeights
    room: Workspace
    epsilon: float


class Machine(NamedTuple):
    """Nodes of the cluster, and what the agent does not see: the runtime of each job."""

    nodes: int
    runtime: IntArray


def collect(
    episodes: Episodes,
    scheme: AgentConfig,
    weights: ScorerWeights,
    decisions: int,
    rng: Generator,
    epsilon: float = -1.0,
    reward: str | Reward = "waiting",
) -> Batch:
    """Go on with the episodes until so many decisions are recorded.

    Parameters
    ----------
    episodes : which workloads, and where they stand; goes on with the next one when one ends. Another scheme or
        reward than before begins a new episode.
    scheme : how the agent schedules.
    weights : of the scorer that decides.
    decisions : how many to record, > 0.
    rng : for choices, and for the order of the episodes.
    epsilon : < 0: choices are drawn from the softmax of the scores; 0 to 1: epsilon-greedy.
    reward : a specification or its numbers.

    Raises
    ------
    SpecError : a number is out of range, or the reward is unknown.
    ModelError : no workload has an instant with two candidates.
    """
    if decisions <= 0:
        raise SpecError(f"collect: decisions must be > 0, got {decisions}")
    if epsilon > 1:
        raise SpecError(f"collect: epsilon must be at most 1, got {epsilon}")
    numbers = parse_reward(reward) if isinstance(reward, str) else reward
    check_config(scheme)
    check_weights(weights)
    batch = Batch(
        np.zeros((decisions, scheme.window, len(FEATURES)), np.float32),
        np.zeros((decisions, len(CONTEXT)), np.float32),
        np.zeros(decisions, np.int64),
        np.zeros(decisions, np.int64),
        np.zeros(decisions),
        np.zeros(decisions),
        np.zeros(decisions, np.bool_),
        np.zeros(decisions, np.int64),
    )
    agent = Agent(scheme, weights, new_workspace(scheme.window), float(epsilon))
    row, fruitless = 0, 0
    while True:
        episode = episodes.current
        if episode is None or episode.scheme != scheme or episode.reward != numbers:
            episode = episodes.next(scheme, numbers, rng)
        machine = Machine(episodes.nodes, episode.runtime)
        reached, ended = _record(
            episode.state, episode.decision_state, agent, machine, episode.rewards, rng, batch, row
        )
        episodes.instants = int(episode.decision_state.at[INSTANT])
        if ended:
            episodes.current = None
            episodes.finished += 1
            fruitless = 0 if reached > row else fruitless + 1
            if fruitless > len(episodes.workloads):
                raise ModelError("episodes: in none of the workloads there is anything to choose")
        row = reached
        if row == decisions:
            return batch


def check_weights(weights: ScorerWeights) -> None:
    """Refuse weights that do not take these observations.

    Raises
    ------
    ModelError : their shapes do not fit.
    """
    v, c = weights.features.shape[0], weights.context.shape[0]
    if (v, c) != (len(FEATURES), len(CONTEXT)):
        raise ModelError(
            f"scorer: takes {v} features and a context of {c}, these are {len(FEATURES)} and {len(CONTEXT)}"
        )


@compiled
def _record(
    s: State,
    c: DecisionState,
    agent: Agent,
    machine: Machine,
    paid: RewardState,
    rng: np.random.Generator,
    batch: Batch,
    row: int,
) -> tuple[int, bool]:
    """Record decisions from ``row`` on until the batch is full or the episode ends; (row, whether it ended).

    A full batch is left at the decision after its last one, so that all rewards in it are complete.
    """
    scheme, weights, view, epsilon = agent
    nodes, runtime = machine
    _, _, scores, chances = view
    features, context, counts, actions, log_probabilities, rewards, done, instants = batch
    decisions = len(counts)
    unfinished = False  # whether the decision before is in this batch and of this episode
    while True:
        count = step_to_next_decision(s, c, scheme, nodes, runtime, paid)
        if unfinished:
            rewards[row - 1] += paid.gathered[0]
            paid.gathered[0] = 0.0
        if count == 0:
            if unfinished:
                done[row - 1] = True
            return row, True
        if row == decisions:
            return row, False
        observe(s, c, scheme, nodes, features[row], context[row])
        k, log_probability = choose(weights, features[row], context[row], count, scores, chances, rng, epsilon)
        act(s, c, scheme, nodes, paid, k)
        counts[row], actions[row] = count, k
        log_probabilities[row], instants[row] = log_probability, c.at[INSTANT]
        row += 1
        unfinished = True


def replay(
    workload: Workload,
    scheme: AgentConfig,
    weights: ScorerWeights,
    rng: Generator | None = None,
    sampled: bool = False,
    label: str = "dras",
    progress: Progress | None = None,
) -> Schedule:
    """Replay a workload with a scorer that decides.

    Parameters
    ----------
    workload : jobs with their real runtimes, and the machine.
    scheme : how the agent schedules.
    weights : of the scorer.
    rng : for sampled decisions.
    sampled : whether decisions are drawn from the softmax of the scores; else the highest one is taken.
    label : what to call the policy in the schedule.
    progress : called with the number of started jobs.

    Raises
    ------
    SpecError : decisions are to be sampled without a generator.
    ModelError : the weights do not take these observations.
    """
    if sampled and rng is None:
        raise SpecError("replay: sampled decisions need a generator of random numbers")
    run = Replay(workload, "fcfs")
    source = stream(0) if rng is None else rng
    return run.schedule(label, run_scorer(run, scheme, weights, source, -1.0 if sampled else 0.0, progress))


def run_scorer(
    run: Replay,
    scheme: AgentConfig,
    weights: ScorerWeights,
    rng: Generator,
    epsilon: float,
    progress: Progress | None = None,
) -> dict[str, NDArray[np.int64]]:
    """Take a replay to its end with a scorer that decides, see :func:`replay`.

    Returns
    -------
    The decisions, by column of :data:`~transom.simulation.core.schedule.COLUMNS`.
    """
    check_weights(weights)
    state, nodes = run.state, run.cluster.num_nodes
    decision_state = new_decision_state(state, scheme, nodes, run.jobs.priority)
    agent, machine = Agent(scheme, weights, new_workspace(scheme.window), epsilon), Machine(nodes, run.runtime)
    log = _Log(new_log(), run.ids)

    def step(row: int, until: int, arrived: bool) -> tuple[int, bool]:
        return _replay(state, decision_state, agent, machine, rng, log, row, arrived)

    columns = dict(zip(COLUMNS, log.columns, strict=True))
    return drive(run, step, columns, progress or (lambda started: None), leaps=not run.stepwise)


class _Log(NamedTuple):
    """The decisions of a replay, shape ``(columns, decisions)``, and the ids that they name jobs by."""

    columns: IntArray
    ids: IntArray


@compiled
def _replay(
    s: State,
    c: DecisionState,
    agent: Agent,
    machine: Machine,
    rng: np.random.Generator,
    log: _Log,
    row: int,
    arrived: bool,
) -> tuple[int, bool]:
    # Decisions from ``row`` on, a single one whose events have ``arrived``; (the next row, whether the trace goes on).
    scheme, weights, view, epsilon = agent
    nodes, runtime = machine
    columns, ids = log
    until = row + 1 if arrived else columns.shape[1]
    place, at, work = c.at, s.at, 0
    while row < until and work < _WORK:
        if not arrived and not advance(s.jobs, s.queue, s.ends, s.expected, s.ended, s.free, s.children, at):
            return row, False
        arrived = False
        before(columns, row, at, s.free)
        begin(s, c, scheme)
        most = min(scheme.window, at[QUEUED])
        work += at[QUEUED] + most * most * decide(s, c, scheme, nodes, weights, view, rng, epsilon)
        finish(s, c, runtime)
        after(columns, row, place[PICKED], place[AHEAD], place[HOLDER], place[BEGIN], ids)
        row += 1
    return row, True
