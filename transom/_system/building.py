"""Building functions ahead of time: extension modules that run without the compiler, for this machine or for any.

Each group of functions becomes object code, made by a process of its own: the compiler reads from its environment,
when it is imported, which processor it works for. This code calls Python by functions that are the same in every
version. What Numba needs besides, in C, depends on the version: it is compiled for each interpreter, in a second, and
linked with the object code into extension modules.

It uses ``numba.pycc``, which Numba marks as deprecated but has not replaced. Without it, this file would emit the
object code that the compiler keeps in its own cache, with the wrapper for Python that stands in it: the rest of the
package would not notice.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from transom._system.argument_types import example
from transom._system.files import atomic_write
from transom._system.prebuilt import INDEX
from transom._system.trusted import make_folder

BASELINE = "x86-64-v2" if platform.machine() == "x86_64" else "generic"
"""What any processor of this kind understands: on x86-64 those since 2009, without AVX."""

_Functions = dict[str, list[Any]]


_ASKED = """
import json, sys, sysconfig
told = sys.implementation.cache_tag, sysconfig.get_config_var("EXT_SUFFIX"), sysconfig.get_path("include")
print(json.dumps(told))
"""

_SUPPORT = "transom"
"""The name under which what Numba needs in C is compiled."""

_FLAGS = ("-O2", "-fPIC", "-DNDEBUG", "-w", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections")
"""For it: each module holds its own, only what it uses of it."""


class BuildError(Exception):
    """Functions could not be built: no linker, no headers of Python, or the compiler refuses."""


class Interpreter(NamedTuple):
    """What modules are linked for."""

    tag: str
    """Such as ``cpython-313``."""
    suffix: str
    """Of the names of its modules."""
    headers: Path


def interpreter(python: str) -> Interpreter:
    """The interpreter of that name or path.

    Raises
    ------
    BuildError : it does not run, or its headers are not there.
    """
    try:
        run = subprocess.run([python, "-c", _ASKED], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise BuildError(f"{python} does not run") from None
    tag, suffix, headers = json.loads(run.stdout)
    if not Path(headers, "Python.h").exists():
        raise BuildError(f"{python} has no headers ({headers}/Python.h); Debian has them in python3-dev")
    return Interpreter(tag, suffix, Path(headers))


def build(
    functions: _Functions,
    folders: dict[Path, Interpreter],
    processor: str,
    processes: int,
    progress: Callable[[int, int], None],
) -> None:
    """Build functions into folders, each of which is there as a whole or not at all.

    Parameters
    ----------
    functions : descriptions of the arguments, under module and name of each function.
    folders : for the modules of each interpreter; what is in them is replaced.
    processor : ``native``, or the name of one that LLVM knows.
    processes : how many run side by side.
    progress : called with how many groups of functions are compiled, of how many.

    Raises
    ------
    BuildError : the last line of what the compiler says.
    """
    with tempfile.TemporaryDirectory() as made:
        objects = Path(made)
        groups = _groups(functions)
        index: dict[str, dict[str, list[str]]] = {}
        progress(0, len(groups))
        with ThreadPoolExecutor(processes) as pool:
            running = [pool.submit(_compile_apart, name, inside, objects, processor) for name, inside in groups.items()]
            try:
                for done, each in enumerate(as_completed(running), 1):
                    index |= each.result()
                    progress(done, len(groups))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        for folder, python in folders.items():
            record = {"python": python.tag, "processor": processor, "functions": index}
            _link(sorted(objects.glob("*.o")), folder, python, record)


def _link(objects: Sequence[Path], folder: Path, python: Interpreter, record: dict[str, Any]) -> None:
    """Make extension modules of object code, for one interpreter."""
    import numba
    import numpy as np

    theirs = Path(numba.__file__).parent
    make_folder(folder.parent)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as made:
        whole = Path(made) / folder.name
        whole.mkdir()
        headers = [f"-I{python.headers}", f"-I{np.get_include()}"]
        support = []
        for source in ("pycc/modulemixin.c", "core/runtime/nrt.cpp"):
            support.append(f"{made}/{Path(source).stem}.o")
            names = [f"-DPYCC_MODULE_NAME={_SUPPORT}", "-DPYCC_USE_NRT=1"]
            _cc("-c", *_FLAGS, *names, *headers, f"{theirs / source}", "-o", support[-1])
        for each in objects:
            module = whole / f"{each.stem}{python.suffix}"
            _cc("-shared", "-s", "-pthread", "-Wl,--gc-sections", f"{each}", *support, "-lm", "-o", f"{module}")
        with atomic_write(whole / INDEX) as file:
            json.dump(record, file, indent=1)
        for path in (whole, *whole.iterdir()):
            path.chmod(path.stat().st_mode & ~0o022)  # what others may write is not used
        if folder.exists():
            shutil.rmtree(folder)
        whole.rename(folder)


def _cc(*arguments: str) -> None:
    """Run the C compiler that the environment names, or the system's."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    try:
        subprocess.run([*compiler, *arguments], capture_output=True, check=True)
    except OSError as error:
        raise BuildError(f"{compiler[0]}: {error.strerror}") from None
    except subprocess.CalledProcessError as error:
        said = [line for line in error.stderr.decode(errors="replace").splitlines() if "error" in line]
        raise BuildError(f"{compiler[0]}: {(said or ['status ' + str(error.returncode)])[0]}") from None


def _groups(functions: _Functions) -> dict[str, _Functions]:
    """Functions by the folder that they stand in, the names of modules that hold them."""
    groups: dict[str, _Functions] = {}
    for name, calls in sorted(functions.items()):
        room = name.split(".")[1:-2]
        groups.setdefault("_".join(["kernels", *room]), {})[name] = calls
    return groups


def _compile_apart(module: str, functions: _Functions, folder: Path, processor: str) -> dict[str, dict[str, list[str]]]:
    """Compile one group in a process of its own; returns what the index says of its functions."""
    named = {} if processor == "native" else {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
    given = json.dumps([module, functions, str(folder), "host" if processor == "native" else processor])
    run = subprocess.run(
        [sys.executable, "-m", "transom._system.building"],
        input=given.encode(),
        capture_output=True,
        env={**os.environ, **named},
    )
    if run.returncode:
        said = run.stderr.decode(errors="replace").strip().splitlines() or [f"status {run.returncode}"]
        raise BuildError(f"{module}: {said[-1]}")
    index: dict[str, dict[str, list[str]]] = json.loads(run.stdout)
    return index


def _compile(module: str, functions: _Functions, folder: str, processor: str) -> dict[str, dict[str, list[str]]]:
    """Compile one group in this process."""
    from numba import typeof
    from numba.core.typing import signature

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from numba.pycc.compiler import ExportEntry, ModuleCompiler

    index: dict[str, dict[str, list[str]]] = {}
    entries = []
    for name, calls in functions.items():
        home, _, own = name.rpartition(".")
        taking_all = _taking_all(getattr(import_module(home), own))
        for types in calls:
            symbol = f"k{len(index)}_{len(index.get(name, {}))}_{own.strip('_')}"
            taken = typeof(tuple(example(each) for each in types))
            entries.append(ExportEntry(symbol, signature(None, taken), taking_all))
            index.setdefault(name, {})[json.dumps(types)] = [module, symbol]
    compiler = ModuleCompiler(sorted(entries, key=lambda entry: entry.symbol), module, use_nrt=True, cpu_name=processor)
    compiler.external_init_function = f"pycc_init_{_SUPPORT}"  # of the support in C
    compiler.write_native_object(f"{folder}/{module}.o", wrap=True)
    return index


def _taking_all(kernel: Callable[..., Any]) -> Callable[[Any], Any]:
    """A function of all arguments in a tuple: the kernel behind it is compiled with its own options."""

    def run(args: Any) -> Any:
        return kernel(*args)

    return run


if __name__ == "__main__":
    found = _compile(*json.load(sys.stdin))
    json.dump(found, sys.stdout)
