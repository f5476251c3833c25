"""Replays of ``slurm-backfill`` beside records of a real Slurm: ``python -m benchmarks.live_calibration [SEED ...]``.

Each seed makes sixty jobs, which an emulated Slurm of 32 nodes, eight below each leaf switch, schedules on a clock of
twenty times the speed. Prints how far the starts of two replays are from those that Slurm recorded: one that knows the
leaf switches, and one that counts nodes. Needs what the tests of an emulated Slurm need: root, slurmctld, slurmd and
faketime.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.slurm.cluster import EmulatedSlurm, missing
from tests.slurm.playing import play, sixty_jobs, write_record
from transom import read_swf, simulate
from transom.simulation.output.calibration import ALL, calibration

_SPEED = 20
_POLICIES = ("slurm-backfill:interval=1,leaf=8", "slurm-backfill:interval=1")


def main() -> None:
    """Play, record, replay, and print a row for each seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="*", type=int, default=[2, 3, 4, 5, 6])
    seeds = parser.parse_args().seeds
    if (why := missing(_SPEED)) is not None:
        raise SystemExit(why)
    print("| seed | median error [s], `leaf=8` | nodes counted | 90 % within [s], `leaf=8` | nodes counted |", end="")
    print(" order of all pairs, `leaf=8` | nodes counted |")
    print("|---|" + "---:|" * 6)
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="slurm") as folder:
            Path(folder).chmod(0o755)
            record = Path(folder) / "record.parquet"
            with EmulatedSlurm(Path(folder), 32, speed=_SPEED) as slurm:
                play(slurm, sixty_jobs(seed))
                write_record(slurm, record)
            workload = read_swf(record)
            leaf, counted = (calibration(workload, simulate(workload, policy))[ALL] for policy in _POLICIES)
        print(
            f"| {seed} | {leaf.error_median:g} | {counted.error_median:g} | {leaf.error_p90:g} | {counted.error_p90:g} "
            f"| {leaf.order_agreement:.3f} | {counted.order_agreement:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
