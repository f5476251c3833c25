"""The table of ``auto``, from the plans on: runs to learn from, the table, runs on other instances, the scores.

    python -m benchmarks.portfolio [--out FOLDER] [--workers N] [--table FILE] [--score]

The plans stand beside this file; ``train-*.toml`` are learnt from, ``test-*.toml`` have other seeds and other shapes,
and ``auto`` among their solvers. Results are kept in FOLDER, so that an interrupted run goes on where it was; those
of the tests are made anew where the table has changed. With ``--score`` the table stays as it is. The exit status is
1 where ``auto`` loses more than 5 points of mean primal gap against the best solver for each instance or does not
beat the best single one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from transom.solvers.auto import table as portfolio

PLANS = Path(__file__).parent


def transom(*words: str | Path) -> int:
    """One command of ours in a process of its own, which reads the table that is there then."""
    return subprocess.run([sys.executable, "-c", "from transom.cli import main; main()", *map(str, words)]).returncode


def run(part: str, out: Path, workers: int | None, force: bool = False) -> list[Path]:
    """The stores of a part, ``train`` or ``test``, with all its runs done."""
    stores = []
    for plan in sorted(PLANS.glob(f"{part}-*.toml")):
        stores.append(out / plan.stem)
        settings = [] if workers is None else ["--workers", str(workers)]
        anew = ["--force"] if force else []
        if code := transom("bench", "run", plan, "--out", stores[-1], *settings, *anew):
            raise SystemExit(code)
    return stores


def main() -> int:
    """Read the command line and do all of it."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--out", type=Path, default=Path("out/portfolio"))
    words.add_argument("--workers", type=int)
    words.add_argument("--table", type=Path, default=Path(portfolio.__file__).with_name("portfolio.json"))
    words.add_argument("--score", action="store_true")
    given = words.parse_args()
    train: list[Path] = []
    before = given.table.read_bytes() if given.table.exists() else b""
    if not given.score:
        train = run("train", given.out, given.workers)
        if code := transom("bench", "portfolio", *train, "--out", given.table):
            return code
    test = run("test", given.out, given.workers, force=given.table.read_bytes() != before)
    tests = [word for store in test for word in ("--test", store)]
    return transom("bench", "portfolio", *tests, "--require", "5")


if __name__ == "__main__":
    sys.exit(main())
