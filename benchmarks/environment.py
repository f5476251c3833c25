"""What a fresh environment with a wheel of Transom takes on the disk, and which commands load which package.

    make wheels
    python -m benchmarks.environment dist/transom-*-cp312-*.whl --python python3.12

Sizes are those of the files that pip installed, without bytecode.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.startup import Started, small
from transom.cli.output.console import number, print_table

COMMANDS = {
    "simulate": "simulate {trace} --policy fcfs-easy --out replays --no-figures",
    "figures": "simulate {trace} --policy fcfs-easy --out replays --figures --force",
    "page": "report replays -o replays.html",
    "import": "import swf {trace} -o trace.parquet",
    "dp": "solve {knapsack} --solver dp",
    "exact": "solve {scas} --solver scas-dp",
    "lagrangian": "solve {scas} --solver scas-lagrangian",
    "auto": "solve {knapsack}",
    "cpsat": "solve {knapsack} --solver cpsat",
    "scip": "solve {knapsack} --solver scip",
    "front": "solve {selection}",
    "bench": "bench run --instances {knapsack} --solver dp --seconds 0.1 --out bench",
    "report": "report bench -o bench.html",
}
INSTALLED = """
import json
from importlib.metadata import distributions
sizes = {}
for each in distributions():
    paths = [path for path in map(each.locate_file, each.files or ()) if path.is_file()]
    top = {path.parts[0] for path in each.files or () if path.suffix in (".py", ".so") and path.parts[0] != ".."}
    sizes[each.name] = sum(path.stat().st_size for path in paths), sorted(top)
print(json.dumps(sizes))
"""


def main() -> None:
    """Print a row for each package of some size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the environment")
    parser.add_argument("--least", type=float, default=4, help="packages of fewer MB are summed")
    arguments = parser.parse_args()
    os.environ.pop("PYTHONPATH", None)  # the wheel is to be found, not these sources
    constraints = Path(__file__).parents[1] / "constraints.txt"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([arguments.python, "-m", "venv", f"{folder}/venv"], check=True)
        python = f"{folder}/venv/bin/python"
        pip = [python, "-m", "pip", "install", "--no-compile", "--disable-pip-version-check", "-c", str(constraints)]
        subprocess.run([*pip, str(arguments.wheel)], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([python, "-m", "pip", "uninstall", "-y", "pip"], check=True, stdout=subprocess.DEVNULL)
        sizes = json.loads(subprocess.run([python, "-c", INSTALLED], check=True, stdout=subprocess.PIPE).stdout)
        start, given = Started(python, folder), dict(small(Path(folder)))
        loaded = {name: start.imports(line.format(**given).split()) for name, line in COMMANDS.items()}
    rows, rest = [], 0.0
    for package, (size, names) in sorted(sizes.items(), key=lambda each: -each[1][0]):
        if size < arguments.least * 1e6:
            rest += size
            continue
        users = [name for name, imported in loaded.items() if imported & {each.partition(".")[0] for each in names}]
        rows.append([package, ", ".join(users), number(size / 1e6, 0)])
    total = sum(size for size, _ in sizes.values())
    rows += [["others", "", number(rest / 1e6, 0)], ["all", "", number(total / 1e6, 0)]]
    print_table(f"{arguments.wheel.name}, with what it needs", ["package", "loaded by", "[MB]"], rows, left=2)
    for name, line in COMMANDS.items():
        print(f"{name}: transom {line}")


if __name__ == "__main__":
    main()
