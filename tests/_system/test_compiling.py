from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from transom._system.compiling import compiled, no_refcount
from transom._system.records import record
from transom._system.source_digest import source_digest
from transom.models.arrays import FloatArray, IntArray

# Ctrl-C comes while the kernel that another one calls is compiled, as the compiler's own events say.
INTERRUPTED = """
import os, signal, threading
from numba.core import event
from transom._system.compiling import compiled

presses = PRESSES

class Listener(event.Listener):
    def on_start(self, event):
        global presses
        while presses and event.data["dispatcher"].py_func.__name__ == "inner":
            presses -= 1
            os.kill(os.getpid(), signal.SIGINT)

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())

@compiled
def inner(x):
    return x + 1

@compiled
def outer(x):
    return inner(x) + 1

def run():
    print(outer(1))

try:
    RUN
except KeyboardInterrupt:
    print("interrupted", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    print(len(inner.signatures), len(outer.signatures))
    print(outer(1))
"""

SORT = "import numpy; from transom._system.sorting import ascending; print(ascending(numpy.array([7, 3]))[1])"


def test_the_digest_depends_on_the_sources_alone() -> None:
    code = "from transom._system.source_digest import source_digest; print(source_digest())"
    for seed in ("0", "1"):
        printed = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        )
        assert printed.stdout.strip() == source_digest()


def test_compiled_code_is_kept(tmp_path: Path) -> None:
    # What the compiler knows of every function is read to compile, and not to load what is kept.
    run = [sys.executable, "-c", f"{SORT}; import sys; print('numba.np.arraymath' in sys.modules)"]
    for compiles in (True, False):
        done = subprocess.run(run, capture_output=True, text=True, env={"XDG_CACHE_HOME": str(tmp_path)}, check=True)
        assert done.stdout == f"7\n{compiles}\n"
        kept = {path: path.stat().st_ino for path in (tmp_path / "transom" / "kernels").glob("*.nbc")}
    assert kept == {path: path.stat().st_ino for path in (tmp_path / "transom" / "kernels").glob("*.nbc")}
    assert kept


def _of_another_version(kept: bytes) -> bytes:
    gone = b"ctransom.no_such_module\nkernel\n."  # a pickle that names a function of a module that is not there
    return gone + blake2b(gone, digest_size=16).digest()


def _cut_off(kept: bytes) -> bytes:
    return kept[: len(kept) // 2]


def _garbled(kept: bytes) -> bytes:
    middle = len(kept) // 2  # in the machine code
    return kept[:middle] + bytes(255 - each for each in kept[middle : middle + 64]) + kept[middle + 64 :]


@pytest.mark.parametrize("damage", [_of_another_version, _cut_off, _garbled])
def test_a_kept_kernel_that_cannot_be_used_is_compiled_anew(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    run, given = [sys.executable, "-c", SORT], {"XDG_CACHE_HOME": str(tmp_path)}
    subprocess.run(run, check=True, env=given, capture_output=True)
    damaged = {path: damage(path.read_bytes()) for path in (tmp_path / "transom" / "kernels").glob("*.nbc")}
    assert damaged
    for path, data in damaged.items():
        path.write_bytes(data)
    done = subprocess.run(run, check=True, env=given, capture_output=True, text=True)
    assert done.stdout == "7\n"
    assert not any(path.read_bytes() == data for path, data in damaged.items())


def test_a_kept_kernel_takes_a_kept_function(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from transom._system.compiling import as_argument, compiled, no_refcount\n"
        "@no_refcount\ndef double(x):\n    return 2 * x\n"
        "@compiled\ndef call(function, x):\n    return function(x)\n"
        "print(call(as_argument(double, 'int64(int64)'), 4))\n"
    )
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-B", str(program)], capture_output=True, text=True, env=environment, check=True
        )
        assert done.stdout == "8\n"


def test_python_calls_a_kept_kernel_that_only_another_process_called_from_a_kernel(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(
        "from transom._system.compiling import compiled\n"
        "@compiled\ndef product(pair):\n    return pair[0] * pair[1]\n"
        "@compiled\ndef caller(x):\n    return product((x, x))\n"
    )
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    for call, result in (("caller(3)", "9\n"), ("product((3, 4))", "12\n"), ("product((3, 5))", "15\n")):
        command = [sys.executable, "-B", "-c", f"import kept; print(kept.{call})"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert (done.returncode, done.stdout) == (0, result), done.stderr


def test_what_was_kept_for_python_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    """A process that compiles for other kernels may end after one that has compiled the same for Python."""
    (tmp_path / "kept.py").write_text(
        "from transom._system.compiling import compiled\n@compiled\ndef product(pair):\n    return pair[0] * pair[1]\n"
    )
    later = (
        "import kept, numba\n"
        "inner = kept.product._kept(inner=True)\n"
        "inner.compile((numba.types.UniTuple(numba.int64, 2),))\n"
        "(made,) = inner.overloads.values()\n"
        "print(kept.product((3, 4)))\n"
        "inner._cache.save_overload(made.signature, made)\n"
    )
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    for program in (later, "import kept; print(kept.product((3, 4)))"):
        done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, env=environment)
        assert (done.returncode, done.stdout) == (0, "12\n"), done.stderr
    names = [path.name for path in (tmp_path / "transom" / "kernels").glob("*product*")]
    assert len(names) == 2
    assert sum(name.endswith(".inner.nbc") for name in names) == 1


CALLING = """
import sys
from numba.core import event
from transom._system.compiling import compiled
from helper import Pair, helper, of_pair

class Listener(event.Listener):
    def on_start(self, event):
        print("compiles", event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
LIMIT = 3

@compiled
def alone(x):
    return x + 1

@compiled
def caller(x):
    '''Text.'''
    return helper(x) + LIMIT

of_pair(Pair(a=1, b=2))
print(alone(1), caller(1))
"""

HELPER = """
from typing import NamedTuple
from transom._system.compiling import compiled

class Pair(NamedTuple):
    a: int
    b: int

@compiled
def of_pair(pair):
    return pair.a

@compiled
def helper(x):
    # a comment
    return 2 * x

def of_others():
    return 1
"""


def edited(folder: Path, change: tuple[str, ...]) -> list[str]:
    """What the program prints with a change of its text, where a folder holds its text and its compiled code."""
    for name, text in (("caller", CALLING), ("helper", HELPER)):
        (folder / f"{name}.py").write_text(text.replace(*change) if change else text)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-B", str(folder / "caller.py")]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.splitlines()


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program and its compiled code."""
    folder = tmp_path_factory.mktemp("before")
    printed = edited(folder, ())
    assert sorted(printed[:-1]) == [f"compiles {name}" for name in ("alone", "caller", "helper", "of_pair")]
    return folder


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ((), ["2 5"]),
        (("# a comment", "# another\n\n"), ["2 5"]),
        (("return 1", "return 2"), ["2 5"]),
        (("Text.", "Longer.\n\n    Text."), ["2 5"]),
        (("return 2 * x", "return 3 * x"), ["compiles caller", "compiles helper", "2 6"]),
        (("LIMIT = 3", "LIMIT = 4"), ["compiles caller", "2 6"]),
        (("return x + 1", "return x + 2"), ["compiles alone", "3 5"]),
        (("a: int\n    b: int", "b: int\n    a: int"), ["compiles of_pair", "2 5"]),
    ],
)
def test_an_edit_recompiles_what_calls_it_and_nothing_else(
    tmp_path: Path, before: Path, edit: tuple[str, str], expected: list[str]
) -> None:
    shutil.copytree(before, tmp_path, dirs_exist_ok=True)
    assert edited(tmp_path, edit) == expected


def test_what_nobody_used_for_a_month_goes(tmp_path: Path) -> None:
    run = [sys.executable, "-c", SORT]
    folder = tmp_path / "transom" / "kernels"
    subprocess.run(run, env={"XDG_CACHE_HOME": str(tmp_path)}, check=True)
    there = set(folder.iterdir())
    for name in ("old-0123.nbc", "new-0123.nbc", "old-0123.py311.nbi"):  # the last as an earlier version named them
        (folder / name).touch()
        long_ago = time.time() - (100 if name == "new-0123.nbc" else 40 * 86_400)
        os.utime(folder / name, (long_ago, long_ago))
    subprocess.run(run, env={"XDG_CACHE_HOME": str(tmp_path)}, check=True)
    assert len(set(folder.iterdir()) - there) == 3  # swept today
    os.utime(folder / "swept", (0, 0))
    subprocess.run(run, env={"XDG_CACHE_HOME": str(tmp_path)}, check=True)
    assert {path.name for path in set(folder.iterdir()) - there} == {"new-0123.nbc"}


def test_without_a_folder_to_write_to_it_works_all_the_same(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.touch()
    run = [sys.executable, "-c", SORT]
    done = subprocess.run(run, capture_output=True, text=True, env={"XDG_CACHE_HOME": str(nowhere)}, check=True)
    assert done.stdout == "7\n"


def interrupted(path: Path, presses: int, run: str) -> list[str]:
    path.joinpath("kernels.py").write_text(INTERRUPTED.replace("PRESSES", str(presses)).replace("RUN", run))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(path), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(path / "kernels.py")]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.splitlines()


def test_ctrl_c_waits_until_a_kernel_is_compiled(tmp_path: Path) -> None:
    # The one at work is done when it comes; the one that calls it is given up, and compiled when it is asked for again.
    assert interrupted(tmp_path, 1, "run()") == ["interrupted True", "1 0", "3"]


def test_a_second_ctrl_c_does_not_wait(tmp_path: Path) -> None:
    assert interrupted(tmp_path, 2, "run()") == ["interrupted True", "0 0", "3"]


def test_kernels_are_compiled_in_other_threads_too(tmp_path: Path) -> None:
    run = "thread = threading.Thread(target=run); thread.start(); thread.join()"
    assert interrupted(tmp_path, 0, run) == ["3"]


# It compiles a kernel until a line comes where it is told to, and says when it waits for another process.
TOGETHER = """
import sys, time
from numba.core import event
from transom._system.compiling import compiled

class Listener(event.Listener):
    def on_start(self, event):
        print("compiles", flush=True)
        if "wait" in sys.argv:
            sys.stdin.readline()

    def on_end(self, event):
        pass

def sleep(seconds, for_real=time.sleep):
    print("waits", flush=True)
    for_real(seconds)

time.sleep = sleep
event.register("numba:compile", Listener())

@compiled
def kernel(x):
    return x + 1

print(kernel(1))
"""


@pytest.mark.parametrize("killed", [False, True])
def test_what_one_process_compiles_is_loaded_by_those_beside_it(tmp_path: Path, killed: bool) -> None:
    (tmp_path / "kernels.py").write_text(TOGETHER)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}

    def begun(*words: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(tmp_path / "kernels.py"), *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1, env=environment)

    with begun("wait") as first, ExitStack() as left:
        left.callback(first.kill)
        assert first.stdout is not None
        assert first.stdout.readline() == "compiles\n"
        with begun() as second:
            left.callback(second.kill)
            assert second.stdout is not None
            assert second.stdout.readline() == "waits\n"
            if killed:
                first.kill()
            told = first.communicate("go on\n")[0].replace("waits\n", "")
            assert told == ("" if killed else "2\n")
            told = second.communicate()[0].replace("waits\n", "")
            assert told == ("compiles\n2\n" if killed else "2\n")


# Taking a generator apart is nearly all that this kernel does, so that is where Ctrl-C comes.
DRAWING = """
import os, signal, threading, time
import numpy as np
from transom._system.compiling import compiled

@compiled
def draw(rng):
    return rng.random()

rng = np.random.default_rng(0)
draw(rng)
caught = 0
for _ in range(200):
    pressed = threading.Timer(0.0002, os.kill, (os.getpid(), signal.SIGINT))
    try:
        pressed.start()
        while True:
            draw(rng)
    except KeyboardInterrupt:
        caught += 1
    pressed.join()
print(caught)
"""


def test_an_interrupt_while_a_generator_is_taken_apart_is_one_exception(tmp_path: Path) -> None:
    script = tmp_path / "drawing.py"
    script.write_text(DRAWING)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, "200\n", "")


class Progress:
    done: int


class Pair(NamedTuple):
    left: IntArray
    right: FloatArray


class Given(NamedTuple):
    first: Progress
    second: Progress


@compiled
def pressed_in_it(press, number, given):
    press(number)
    given.second.done += given.first.done
    return Pair(np.arange(3), np.zeros((2, 2)))


def test_ctrl_c_in_a_kernel_comes_out_of_it_as_such() -> None:
    press = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(("raise", ctypes.CDLL(None)))
    given = Given(record(Progress), record(Progress))
    given.first.done = 2
    result = pressed_in_it(press, 0, given)
    assert (result.left.tolist(), result.right.shape) == ([0, 1, 2], (2, 2))
    for presses in range(2, 5):
        with pytest.raises(KeyboardInterrupt) as raised:
            pressed_in_it(press, signal.SIGINT, given)
        assert raised.value.__context__ is None
        assert given.second.done == 2 * presses


@no_refcount
def added(to, value):
    for i in range(len(to)):
        to[i] += value
    return to[0]


@no_refcount
def filled(value):
    made = np.empty(3)
    made[:] = value
    return made[0]


def test_what_borrows_its_arrays_makes_none() -> None:
    from numba.core.errors import NumbaError

    given = np.arange(3)
    assert added(given, 2) == 2
    assert given.tolist() == [2, 3, 4]
    with pytest.raises(NumbaError, match="Only accept returning of array"):
        filled(1)


# Python calls what another kernel had compiled first; arrays go in and come out, references counted or not.
ENTERED = """
import numpy as np
from transom._system.compiling import compiled, no_refcount

@compiled
def doubled(x):
    return 2 * x[0], x + x

@no_refcount
def total(x):
    return x.sum()

@compiled
def caller(x):
    return total(doubled(x)[1])

values = np.arange(4)
print(caller(values), [len(kernel.signatures) for kernel in (doubled, total)])
print(doubled(values)[1], doubled(values)[0], total(values), total(values), total(values.astype(float)))
"""


def test_python_calls_what_only_kernels_called_before(tmp_path: Path) -> None:
    (tmp_path / "entered.py").write_text(ENTERED)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(tmp_path / "entered.py")]

    def said() -> list[str]:
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.splitlines()

    first = ["12 [1, 1]", "[0 2 4 6] 0 6 6 6.0"]
    assert said() == first
    # Now what Python calls and what kernels call are loaded and linked.
    for path in tmp_path.rglob("*.caller-*"):
        path.unlink()
    assert said() == first
    assert said() == ["12 [0, 0]", first[1]]


NUMBERS = """
from transom._system.compiling import compiled

@compiled
def scaled(x: int, by: int) -> int:
    return x * by

@compiled
def outer(x: int, by: int) -> int:
    return scaled(x, 2) + scaled(x, 3) + scaled(1, by)

print(outer(10, 7), len(scaled.signatures))
"""


def test_a_kernel_is_compiled_once_whatever_numbers_stand_in_calls(tmp_path: Path) -> None:
    assert printed_by(tmp_path, NUMBERS) == "57 1\n"


LACKING = """
import numba
from numba.core import registry
del registry.CPUDispatcher  # as in a version of Numba that has it under another name
"""


def test_another_version_of_numba_keeps_kernels_in_its_own_way(tmp_path: Path) -> None:
    # Which makes one for each number that stands in a call, and loads none of these where it has their caller.
    assert [printed_by(tmp_path, LACKING + NUMBERS) for _ in range(2)] == ["57 3\n", "57 0\n"]
    (folder,) = (tmp_path / "transom" / "kernels").glob("by-numba-*")
    assert list(folder.rglob("program.outer-*.nbc"))


def printed_by(folder: Path, program: str) -> str:
    (folder / "program.py").write_text(program)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-B", "-c", "import sys; sys.path.insert(0, sys.argv[1]); import program", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout
