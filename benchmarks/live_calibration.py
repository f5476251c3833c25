"""Replays of ``slurm-backfill`` beside records of a real Slurm: ``python -m benchmarks.live_calibration [SEED ...]``.

Each seed makes sixty jobs, which an emulated Slurm of 32 nodes, eight below each leaf switch, schedules on a clock of
twenty times the speed. Prints how far the starts of three replays are from those that Slurm recorded: one that knows
the leaf switches and how long nodes stay busy after an end (the mean by the same record, which is printed, too), one
that knows the leaf switches alone, and one that counts nodes. Needs what the tests of an emulated Slurm need: root,
slurmctld, slurmd and faketime. ``--keep FOLDER`` keeps the records, and reads those that are there.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.slurm.cluster import EmulatedSlurm, missing
from tests.slurm.playing import play, sixty_jobs, write_record
from transom import read_swf, simulate
from transom.simulation.output.calibration import ALL, calibration, start_after_end

_SPEED = 20
_REPLAYS = ("`leaf=8,completing`", "`leaf=8`", "nodes counted")


def main() -> None:
    """Play, record, replay, and print a row for each seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="*", type=int, default=[2, 3, 4, 5, 6])
    parser.add_argument("--speed", type=int, default=_SPEED)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    if (why := missing(options.speed)) is not None:
        raise SystemExit(why)
    columns = [f"{what}, {replay}" for what in ("median error [s]", "90 % within [s]", "order") for replay in _REPLAYS]
    print(f"| seed | start after end [s] | {' | '.join(columns)} |")
    print("|---|" + "---:|" * (len(columns) + 1))
    for seed in options.seeds:
        with tempfile.TemporaryDirectory(prefix="slurm") as folder:
            Path(folder).chmod(0o755)
            record = (options.keep or Path(folder)) / f"seed-{seed}.parquet"
            if not record.exists():
                with EmulatedSlurm(Path(folder), 32, speed=options.speed) as slurm:
                    play(slurm, sixty_jobs(seed))
                    write_record(slurm, record)
            workload = read_swf(record)
        after = start_after_end(workload)
        more = (f",leaf=8,completing={after}", ",leaf=8", "")
        found = [calibration(workload, simulate(workload, f"slurm-backfill:interval=1{each}"))[ALL] for each in more]
        cells = [f"{each.error_median:g}" for each in found] + [f"{each.error_p90:.0f}" for each in found]
        cells += [f"{each.order_agreement:.3f}" for each in found]
        print(f"| {seed} | {after} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
