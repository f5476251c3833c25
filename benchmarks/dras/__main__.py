r"""Experiments of Fan et al. (2021), one command each.

python -m benchmarks.dras train theta_2022.swf.gz --out out/dras
python -m benchmarks.dras cards theta_2022.swf.gz
python -m benchmarks.dras protocol theta_2022.swf.gz --agents out/dras --rows out/dras/theta_2022.csv
python -m benchmarks.dras check --rows out/dras/theta_2022.csv --trained out/dras/trained.csv
python -m benchmarks.dras curves orders theta_2022.swf.gz --seeds 5 --synthetic 20 \
    --rows out/dras/training_order.csv --out out/dras/4.png
python -m benchmarks.dras curves methods theta_2022.swf.gz --seeds 3 --synthetic 20 \
    --rows out/dras/learning_curves.csv --out out/dras/5.png
python -m benchmarks.dras kiviat --rows out/dras/theta_2022.csv --out out/dras/6.png
python -m benchmarks.dras waits theta_2022.swf.gz --agents out/dras --out out/dras
python -m benchmarks.dras adaptation theta_2022.swf.gz --agents out/dras --seeds 3 --rates 1e-4 1e-3 \
    --out out/dras/9.png
python -m benchmarks.dras bounded --kernel out/kernel
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from benchmarks.dras import adaptation, bounded, cards, conditions, curves, kiviat, page, protocol, train, waits
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
    "bounded": bounded,
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
