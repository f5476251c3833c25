"""Experiments of Fan et al. (2021), one command each.

python -m benchmarks.dras protocol theta_2022.swf.gz --agents out/dras --rows out/theta.csv
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from benchmarks.dras import adaptation, cards, conditions, curves, kiviat, page, protocol, train, waits
from transom.errors import TransomError

COMMANDS = {
    "train": train,
    "cards": cards,
    "protocol": protocol,
    "tables": page,
    "check": conditions,
    "curves": curves,
    "kiviat": kiviat,
    "waits": waits,
    "adaptation": adaptation,
}


def main(given: Sequence[str] | None = None) -> int:
    """Read the command line and run one experiment; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.dras", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        about = (module.__doc__ or "").splitlines()[0]
        module.add_arguments(commands.add_parser(name, help=about, description=module.__doc__))
    arguments = parser.parse_args(given)
    begin = time.perf_counter()
    try:
        status = COMMANDS[arguments.command].run(arguments) or 0
    except TransomError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command goes on where it stopped", file=sys.stderr)
        return 130
    print(f"{time.perf_counter() - begin:.0f} s", file=sys.stderr)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
