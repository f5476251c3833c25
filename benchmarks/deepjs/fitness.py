"""Section 4.3: whether agents that were trained apart think alike of a pair of task and machine."""

from __future__ import annotations

from scipy.stats import pearsonr, spearmanr

from benchmarks.deepjs.replays import checkpoint
from transom.learned.checkpoints import load
from transom.learned.deepjs.learning import EpisodeBatch
from transom.learned.deepjs.network import Network, network_of, scored
from transom.models.arrays import SingleArray
from transom.rng import stream
from transom.traces.tasks import TaskWorkload

Scores = tuple[str, SingleArray, SingleArray]


def network(folder: str) -> Network:
    """That of a training."""
    found = load(checkpoint(folder), "deepjs")
    return network_of(found.card.network, found.weights)


def pairs_met(chunk: TaskWorkload, agent: Network, number: int) -> SingleArray:
    """Features of some of the pairs that an agent scores in an episode."""
    batch = EpisodeBatch(chunk, agent, 2)
    rng = stream(0, "pairs")
    batch.play(rng.random((2, batch.decisions)))
    log = batch.log(0)
    met = log.inputs[: int(log.last.max())]
    return met[rng.choice(len(met), min(number, len(met)), replace=False)]


def correlations(chunk: TaskWorkload, compared: dict[str, tuple[str, str]], number: int) -> list[Scores]:
    """Print how scores of two agents go together, on pairs that the first one meets."""
    print("\nfigure 5: correlation of the scores that two agents give the same pairs")
    print(f"{'agents':44}{'pairs':>7}{'Pearson':>9}{'p':>9}{'ranks':>8}")
    found = []
    for name, (one, other) in compared.items():
        agent = network(one)
        met = pairs_met(chunk, agent, number)
        a, b = scored(agent, met), scored(network(other), met)
        linear = pearsonr(a, b)
        print(f"{name:44}{len(met):>7}{linear.statistic:>9.2f}{linear.pvalue:>9.1g}{spearmanr(a, b).statistic:>8.2f}")
        found.append((f"{name}\nr = {linear.statistic:.2f}", a, b))
    return found
