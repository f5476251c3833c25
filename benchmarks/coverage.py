"""How often 95 % intervals hold what they are about, drawn from the stored results: ``python -m benchmarks.coverage``.

The laws are the primal gaps of every solver under every budget in ``benchmarks/results``, those without any gap left
out. For each number of instances it prints over all laws the least, the median and the largest share of draws in which
the mean lay inside of its percentile bootstrap interval and of Student's, and the least share for the limits that the
bench prints: of the mean, of the median and of the share of instances behind.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import t as student

from tests.bench.score.test_coverage import drawn, laws, means_hold, medians_hold, shares_hold
from transom.bench.score.limits import FEWEST_FOR_MEAN
from transom.models.arrays import FloatArray

_RESAMPLES = 400


def main() -> None:
    """Draw and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 12, 24, 60])
    options = parser.parse_args()
    known = [law for _, _, law in laws("primal_gap") if law.any()]
    print(f"{len(known)} laws, {options.draws} draws from each; least, median and largest share of draws [%]")
    for size in options.sizes:
        told = [f"{size:>3} instances"]
        for name, inside in (("bootstrap", bootstrapped), ("Student", students)):
            held = [inside(drawn(law, size, seed, options.draws), law.mean()) for seed, law in enumerate(known)]
            least, middle, most = 100 * np.quantile(held, (0, 0.5, 1))
            told.append(f"mean by {name} {least:.0f} {middle:.0f} {most:.0f}")
        limits = {"median": medians_hold, "share": shares_hold}
        if size >= FEWEST_FOR_MEAN:
            limits["mean"] = means_hold
        for name, hold in limits.items():
            least = min(hold(law, size, seed, options.draws) for seed, law in enumerate(known)) / options.draws
            told.append(f"limits of the {name} from {100 * least:.0f}")
        print("; ".join(told), flush=True)


def bootstrapped(sample: FloatArray, mean: float) -> float:
    """In which share of the samples, the columns, the percentile bootstrap interval of the mean holds it."""
    rng = np.random.default_rng(0)
    again = np.stack([sample[rng.integers(0, len(sample), len(sample))].mean(axis=0) for _ in range(_RESAMPLES)])
    low, high = np.quantile(again, (0.025, 0.975), axis=0)
    return float(((low <= mean) & (mean <= high)).mean())


def students(sample: FloatArray, mean: float) -> float:
    """The same of Student's interval."""
    half = student.ppf(0.975, len(sample) - 1) * sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
    return float((np.abs(sample.mean(axis=0) - mean) <= half).mean())


if __name__ == "__main__":
    main()
