"""The tables: every policy beside every other, Table 2 of the paper, and what trainings did."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.deepjs.fitness import network, pairs_met
from benchmarks.deepjs.replays import RULES, UNTRAINED, Replays, against, checkpoint
from transom.learned.deepjs.network import scored
from transom.models.arrays import IntArray


def comparison(replays: Replays, policies: dict[str, str], rules: str, factor: float) -> None:
    """Makespans above the bound, and chunks won and lost against first-fit and longest-first."""
    told = "known" if factor == 1 else f"known to a factor of {factor:g}"
    print(f"\nunder {rules} events, durations {told}: makespans above the lower bound, and chunks on which they are")
    print("shorter / equal / longer than those of first-fit and of longest-first, with the p of a sign test")
    print(f"{'policy':34}{'mean [s]':>10}{'above [%]':>10}{'median':>8}{'first-fit':>16}{'longest-first':>17}{'p':>9}")
    first_fit, longest = (replays.makespans(name, rules, factor) for name in ("first-fit", "longest-first"))
    for name, spec in policies.items():
        found = replays.makespans(spec, rules, factor)
        above = 100 * (found / replays.bounds - 1)
        beside = against(found, longest)
        print(
            f"{name:34}{found.mean():>10.1f}{above.mean():>10.2f}{np.median(above):>8.2f}"
            f"{against(found, first_fit)!s:>16}{beside!s:>17}{beside.p:>9.1g}",
            flush=True,
        )


def leader(replays: Replays, trained: dict[str, str], factor: float) -> None:
    """Say who is ahead: the simple rule or the agents."""
    longest = replays.makespans("longest-first", factor=factor)
    ahead = float((longest / replays.bounds).mean())
    worse = [
        name for name, spec in trained.items()
        if float((replays.makespans(spec, factor=factor) / replays.bounds).mean()) > ahead
    ]  # fmt: skip
    print(f"longest-first, a rule of one line, is nearer to the bound than {len(worse)} of {len(trained)} agents")


def table_2(replays: Replays, trained: dict[str, str], rules: str) -> list[float]:
    """Table 2 of the paper, for each seed; the shares of chunks on which agents are better than first-fit [%]."""
    print(f"\nTable 2 under {rules} events: makespan of the other minus that of the agent, number of chunks")
    print(f"{'agent':34}{'other':>18}{'< 0':>6}{'= 0':>6}{'> 0':>6}{'> 0 [%]':>9}{'mean [s]':>10}{'deviation':>11}")
    shares = []
    controls = {"longest-first instead": "longest-first", "uniform random instead": "random"}
    for name, spec in {**trained, **controls}.items():
        for other in ("first-fit", "Tetris as coded"):
            less = replays.makespans(RULES[other], rules) - replays.makespans(spec, rules)
            counts = [int((less < 0).sum()), int((less == 0).sum()), int((less > 0).sum())]
            share = 100 * counts[2] / len(less)
            if other == "first-fit" and name in trained:
                shares.append(share)
            print(
                f"{name:34}{other:>18}" + "".join(f"{count:>6}" for count in counts)
                + f"{share:>9.1f}{less.mean():>10.1f}{less.std():>11.1f}"
            )  # fmt: skip
    print(f"{'the paper':34}{'first-fit':>18}{45:>6}{36:>6}{239:>6}{74.7:>9}")
    print(f"{'the paper':34}{'Tetris as coded':>18}{44:>6}{37:>6}{239:>6}{74.7:>9}")
    return shares


def bar(shares: Sequence[float]) -> None:
    """On how many chunks agents are better than first-fit, over the seeds."""
    print(f"\nbetter than first-fit on {np.median(shares):.1f} % of the chunks in the median over {len(shares)} seeds,")
    print(f"on {min(shares):.1f} % under the worst and {max(shares):.1f} % under the best")


def figure_7(replays: Replays, trained: dict[str, str]) -> None:
    """The numbers of figure 7: mean, deviation, and the five of a box plot."""
    print("\nfigure 7: makespan of the other minus that of the agent [s]")
    print(f"{'agent':20}{'other':>18}{'mean':>9}{'deviation':>11}" + "".join(f"{q:>9}" for q in QUARTILES.values()))
    for name, spec in trained.items():
        for other in ("first-fit", "Tetris as coded", "longest-first"):
            less = replays.makespans(RULES[other]) - replays.makespans(spec)
            numbers = "".join(f"{np.percentile(less, q):>9.0f}" for q in QUARTILES)
            print(f"{name:20}{other:>18}{less.mean():>9.1f}{less.std():>11.1f}{numbers}")


SHOWN = (1, 2, 3, 5, 10, 20, 50, 100)
"""Steps of the rule of the text."""

QUARTILES = {0: "least", 25: "lower", 50: "median", 75: "upper", 100: "largest"}


def curve(folder: str) -> list[dict[str, str]]:
    """The learning curve of a training."""
    with (Path(folder) / "curve.csv").open() as file:
        return list(csv.DictReader(file))


def unseen(folder: str) -> tuple[IntArray, IntArray]:
    """Chunks of a training, and the mean makespan of an agent's episodes on each before it learns from it [s]."""
    firsts: dict[int, float] = {}
    for row in curve(folder):
        firsts.setdefault(int(row["chunk"]), float(row["makespan"]))
    return np.array(list(firsts)), np.array(list(firsts.values()))


def figure_4(replays: Replays, folders: Sequence[str]) -> None:
    """The numbers of figure 4, twenty chunks at a time."""
    print(
        "\nfigure 4: chunks of the training on which the agent, before it learns from them, is better than first-fit;"
    )
    print("mean makespan of its episodes, pairs drawn")
    blocks = range(0, len(replays.chunks), 20)
    print(f"{'training':20}" + "".join(f"{f'{b}-{b + 19}':>9}" for b in blocks) + f"{'all':>6}")
    first_fit = replays.makespans("first-fit")
    for folder in folders:
        chunks, ends = unseen(folder)
        better = first_fit[chunks] > ends
        counts = "".join(f"{int(better[b : b + 20].sum()) if b < len(chunks) else '-':>9}" for b in blocks)
        print(f"{Path(folder).name:20}{counts}{int(better.sum()):>6}")
    longest = replays.makespans("longest-first") < first_fit
    print(
        f"{'longest-first':20}"
        + "".join(f"{int(longest[b : b + 20].sum()):>9}" for b in blocks)
        + f"{longest.sum():>6}"
    )


def literal(replays: Replays, folders: Sequence[str], usual: str) -> None:
    """What the update rule of the text does to the chances of choices, to scores of pairs, and on the test.

    Parameters
    ----------
    usual : folder of the training that meets the pairs.
    """
    met = pairs_met(replays.chunks[0], network(usual), 2000)
    for folder in folders:
        print(f"\n{Path(folder).name}: steps of the rule of the text; different makespans among the episodes, and the")
        print(
            "chance of what was chosen, as a geometric mean; afterwards the scores of 2,000 pairs deviate by", end=" "
        )
        print(f"{scored(network(folder), met).std():.2g}, those of {Path(usual).name} by", end=" ")
        print(f"{scored(network(usual), met).std():.2g}")
        print(f"{'step':>8}{'chunk':>8}{'mean [s]':>10}{'different':>11}{'chance':>9}")
        for row in curve(folder):
            if int(row["step"]) in SHOWN:
                told = f"{row['step']:>8}{row['chunk']:>8}{float(row['makespan']):>10.1f}"
                print(f"{told}{row['different']:>11}{float(row['likely']):>9.3f}")
        for how, greedy in (("drawn", "no"), ("highest score", "yes")):
            found = replays.makespans(f"deepjs:model=[{checkpoint(folder)}],greedy={greedy}")
            above = 100 * float((found / replays.bounds - 1).mean())
            print(f"on the test, {how}: {above:.2f} % above the bound, beside first-fit", end=" ")
            print(against(found, replays.makespans("first-fit")))


def all_policies(trained: dict[str, tuple[str, bool]]) -> dict[str, str]:
    """Rules, untrained networks, and agents both drawing pairs and by the highest score."""
    policies = {**RULES, **UNTRAINED}
    for name, (spec, _) in trained.items():
        policies[f"{name}, drawn"] = f"{spec},greedy=no"
        policies[f"{name}, highest score"] = f"{spec},greedy=yes"
    return policies
