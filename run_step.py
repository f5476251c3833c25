"""python run_step.py TITLE COMMAND...: run a command of the Makefile, and show on one line that it goes on.

On a terminal the line counts seconds, beside the last line that the command has printed; elsewhere there is one at the
beginning and one at the end. What a command printed is shown as a whole if it fails.
"""

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable


def run(title: str, command: list[str]) -> int:
    """Run the command; returns its status."""
    said: list[str] = []
    began = time.monotonic()
    if not sys.stdout.isatty():
        print(f"{title} ...", flush=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as it:
        reading = threading.Thread(target=_collect, args=(it.stdout, said), daemon=True)
        reading.start()
        while reading.is_alive():
            if sys.stdout.isatty():
                last = said[-1].strip() if said else ""
                _overwrite(f"{title}: {time.monotonic() - began:.0f} s  {last}")
            reading.join(1)
    if sys.stdout.isatty():
        _overwrite("")
    print(f"{title}: {time.monotonic() - began:.0f} s", flush=True)
    if it.returncode:
        print("".join(said), f"{' '.join(command)}: status {it.returncode}", sep="", file=sys.stderr)
    return it.returncode


def _collect(lines: Iterable[str], said: list[str]) -> None:
    for line in lines:
        said.append(line)


def _overwrite(text: str) -> None:
    width = shutil.get_terminal_size().columns - 1
    print(f"\r{text[:width].ljust(width)}\r", end="", flush=True)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # commands print what this terminal may lack
    try:
        sys.exit(run(sys.argv[1], sys.argv[2:]))
    except KeyboardInterrupt:
        sys.exit(130)
