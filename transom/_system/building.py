"""Building functions ahead of time: extension modules that run without the compiler, for this machine or for any.

Each group of functions becomes one module, made by a process of its own: the compiler reads from its environment,
when it is imported, which processor it works for. It uses ``numba.pycc``, which Numba marks as deprecated but has not
replaced. Without it, this file would emit the object code that the compiler keeps in its own cache, with the wrapper
for Python that stands in it, and link it with Numba's run-time library: the rest of the package would not notice.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib import import_module
from pathlib import Path
from typing import Any

from transom._system.argument_types import example
from transom._system.files import atomic_write
from transom._system.prebuilt import INDEX, SUFFIX
from transom._system.trusted import make_folder

BASELINE = "x86-64-v2" if platform.machine() == "x86_64" else "generic"
"""What any processor of this kind understands: on x86-64 those since 2009, without AVX."""

_Functions = dict[str, list[Any]]


class BuildError(Exception):
    """Functions could not be built: no linker, no headers of Python, or the compiler refuses."""


def build(
    functions: _Functions, folder: Path, processor: str, processes: int, progress: Callable[[int, int], None]
) -> None:
    """Build functions into a folder, which is there as a whole or not at all.

    Parameters
    ----------
    functions : descriptions of the arguments, under module and name of each function.
    folder : for the modules; what is in it is replaced.
    processor : ``native``, or the name of one that LLVM knows.
    processes : how many run side by side.
    progress : called with how many modules are done, of how many.

    Raises
    ------
    BuildError : the last line of what the compiler says.
    """
    make_folder(folder.parent)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as made:
        whole = Path(made) / folder.name
        whole.mkdir()
        groups = _groups(functions)
        index: dict[str, dict[str, list[str]]] = {}
        progress(0, len(groups))
        with ThreadPoolExecutor(processes) as pool:
            running = [pool.submit(_build_apart, name, inside, whole, processor) for name, inside in groups.items()]
            try:
                for done, each in enumerate(as_completed(running), 1):
                    index |= each.result()
                    progress(done, len(groups))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        record = {"python": sys.implementation.cache_tag, "processor": processor, "functions": index}
        with atomic_write(whole / INDEX) as file:
            json.dump(record, file, indent=1)
        for path in (whole, *whole.iterdir()):
            path.chmod(path.stat().st_mode & ~0o022)  # what others may write is not used
        if folder.exists():
            shutil.rmtree(folder)
        whole.rename(folder)


def _groups(functions: _Functions) -> dict[str, _Functions]:
    """Functions by the folder that they stand in, the names of modules that hold them."""
    groups: dict[str, _Functions] = {}
    for name, calls in sorted(functions.items()):
        room = name.split(".")[1:-2]
        groups.setdefault("_".join(["kernels", *room]), {})[name] = calls
    return groups


def _build_apart(module: str, functions: _Functions, folder: Path, processor: str) -> dict[str, dict[str, list[str]]]:
    """Build one module in a process of its own; returns what the index says of its functions."""
    named = {} if processor == "native" else {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
    given = json.dumps([module, functions, str(folder), "host" if processor == "native" else processor])
    run = subprocess.run(
        [sys.executable, "-m", "transom._system.building"],
        input=given.encode(),
        capture_output=True,
        env={**os.environ, **named, "LDFLAGS": f"{os.environ.get('LDFLAGS', '')} -s"},
    )
    if run.returncode:
        said = run.stderr.decode(errors="replace").strip().splitlines() or [f"status {run.returncode}"]
        raise BuildError(f"{module}: {said[-1]}")
    index: dict[str, dict[str, list[str]]] = json.loads(run.stdout)
    return index


def _build_module(module: str, functions: _Functions, folder: str, processor: str) -> dict[str, dict[str, list[str]]]:
    """Build one module in this process."""
    from numba import typeof

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from numba.pycc import CC

    index: dict[str, dict[str, list[str]]] = {}
    made = CC(module, sys.modules[__name__])
    made.output_dir, made.target_cpu, made.output_file = folder, processor, f"{module}{SUFFIX}"
    for name, calls in functions.items():
        home, _, own = name.rpartition(".")
        taking_all = _taking_all(getattr(import_module(home), own))
        for types in calls:
            symbol = f"k{len(index)}_{len(index.get(name, {}))}_{own.strip('_')}"
            made.export(symbol, (typeof(tuple(example(each) for each in types)),))(taking_all)
            index.setdefault(name, {})[json.dumps(types)] = [module, symbol]
    made.compile()
    return index


def _taking_all(kernel: Callable[..., Any]) -> Callable[[Any], Any]:
    """A function of all arguments in a tuple: the kernel behind it is compiled with its own options."""

    def run(args: Any) -> Any:
        return kernel(*args)

    return run


if __name__ == "__main__":
    found = _build_module(*json.load(sys.stdin))
    json.dump(found, sys.stdout)
