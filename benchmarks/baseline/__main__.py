"""What must stay as it is while the code gets lighter: stored once, compared after each step.

    python -m benchmarks.baseline store [PART...]       # writes benchmarks/results/baseline/stored.json
    python -m benchmarks.baseline compare [PART...]     # status 1 where something differs or is lost
    python -m benchmarks.baseline compare digests --checkout OTHER      # the work of another checkout; for git bisect
    python -m benchmarks.baseline compare speeds --against OTHER        # both in turn, in one run; ratios

Parts: `digests` of recordings (job, start, end and nodes of every row), by trace and policy; `conservative`, the same
of conservative backfilling; `suites`, proofs, gaps and answers of the suites of the bench; `commands`, CPU seconds of
twelve commands, and of three of them without compiled kernels; `speeds`, CPU seconds of replays and solvers.

Seconds carry over to no other moment: `commands` and `speeds` judge only with `--against`, a checkout of the stored
commit (`git worktree add OTHER COMMIT`). Digests with `--against` are compared with that checkout, and the first job
that differs is printed. Traces that are not part of the project are read from `../shared/traces` beside this checkout;
where one is missing, a line says what is skipped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.baseline.checkout import ROOT, STORED, Checkout
from benchmarks.baseline.digests import compare_digests, store_digests
from benchmarks.baseline.seconds import compare_seconds, seconds_of_commands, speeds
from benchmarks.baseline.suites import compare_suites, store_suites

PARTS = ("digests", "conservative", "suites", "commands", "speeds")

WORK: dict[str, tuple[Callable[[Checkout], Any], Callable[[Any, Checkout, Checkout | None], int]]] = {
    "digests": (partial(store_digests, conservative=False), partial(compare_digests, conservative=False)),
    "conservative": (partial(store_digests, conservative=True), partial(compare_digests, conservative=True)),
    "suites": (store_suites, compare_suites),
    "commands": (
        lambda checkout: seconds_of_commands([checkout])[0],
        partial(compare_seconds, measure=seconds_of_commands),
    ),
    "speeds": (lambda checkout: speeds([checkout])[0], partial(compare_seconds, measure=speeds)),
}
"""How each part is stored and compared."""


def main() -> int:
    """Store or compare the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("store", "compare"))
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="whose code runs; this one")
    parser.add_argument("--against", type=Path, help="a checkout to compare with, instead of what is stored")
    given = parser.parse_args()
    if wrong := set(given.parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(wrong))}; known: {', '.join(PARTS)}")
    checkout = Checkout(given.checkout.resolve())
    against = Checkout(given.against.resolve()) if given.against else None
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    failed = 0
    for part in given.parts or PARTS:
        print(f"{part}:", flush=True)
        store, compare = WORK[part]
        if given.what == "store":
            stored[part] = {"commit": checkout.commit(), "found": store(checkout)}
            written = STORED.with_suffix(".new")
            written.write_text(json.dumps(stored, indent=1) + "\n")
            written.replace(STORED)
        elif part not in stored:
            sys.exit(f"{STORED} holds no {part}")
        else:
            failed += compare(stored[part]["found"], checkout, against)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
