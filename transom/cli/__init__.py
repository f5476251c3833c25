"""The command line: one thin module per command, and one place where errors become a line and a status."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Sequence

from transom._system.signals import ends_in_order, interrupt_behind
from transom.cli.output.compiling import CompilerNotice
from transom.cli.output.console import display, make_readable
from transom.cli.output.steps import report_steps
from transom.errors import TransomError

_CTRL_C = 130
_OBJECTS = 50_000  # new ones between two passes of the collector of garbage
_COMPLETES = "_TRANSOM_COMPLETE"
"""Set by shells that ask for what can stand next."""


def main() -> None:
    """Run the command line and leave with its status."""
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed by whoever called: what is said there is not for the other one
            setattr(sys, stream, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        make_readable(getattr(sys, stream))
    # Imports make many objects and little garbage: of a second, a collector that looks for it often takes a tenth.
    gc.set_threshold(_OBJECTS)
    # Importing numpy starts a thread for every further core, each of which spins for a while; nothing here needs them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    CompilerNotice().listen()
    status = run(sys.argv[1:])
    if status == _CTRL_C:
        # A native solver may still be at work in its thread, and aborts when Python is taken down
        # under it. Files are whole by now; only output is left to flush.
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(status)
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """Run one command.

    Returns
    -------
    The exit status: 0; 1 where a check found something wrong or a solver failed; 2 for bad input, with one line on
    standard error; 130 after Ctrl-C, SIGTERM or SIGHUP.
    """
    try:
        _trust(arguments)
        with display.anew(), ends_in_order(), report_steps():
            status = _command(list(arguments))
        sys.stdout.flush()
        # The parser may turn Ctrl-C into a status of its own.
        return _interrupted() if status == _CTRL_C else status if isinstance(status, int) else 0
    except TransomError as error:
        from transom.cli.output.recognised import recognised

        return _fail(str(error) + recognised(str(error), arguments))
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:
        return _nobody_reads()
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):  # what the parser makes of it
            return _nobody_reads()
        raise
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except MemoryError as error:
        return _fail(f"not enough memory: {error}" if str(error) else "not enough memory")
    except Exception as error:
        if interrupt_behind(error):
            return _interrupted()
        if not hasattr(error, "format_message"):  # which the parser of the command line raises
            raise
        from transom.cli.output.usage import usage_message

        return _fail(usage_message(error))


def _command(arguments: list[str]) -> object:
    from transom.cli.app import command_line  # which takes long enough for Ctrl-C to fall into it

    try:
        known = command_line(None if _COMPLETES in os.environ else arguments)
        return known(arguments, prog_name="transom", standalone_mode=False)
    except Exception as error:
        if _COMPLETES in os.environ:  # a shell asks in the middle of a line: better no answer than a traceback there
            return 1
        if type(error).__name__ != "NoArgsIsHelpError":
            raise
        print(error.format_message())  # type: ignore[attr-defined]  # nothing was asked for: the message is the help
        return 0


def _trust(arguments: Sequence[str]) -> None:
    """Allow that the files of policies and solvers are run that the line itself names."""
    if named := [word for word in arguments if ".py:" in word]:
        from transom.class_files import trust_files

        for word in named:
            trust_files(word.partition("=")[2] if word.startswith("--") else word)


def _nobody_reads() -> int:
    # Whoever read our output has gone; nobody reads a message, and Python must not try at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def _interrupted() -> int:
    print("interrupted: what was finished is kept", file=sys.stderr)
    return _CTRL_C


def _fail(message: str) -> int:
    text = " ".join(message.split())
    # What a file or a peer says may hold what steers a terminal.
    print("error: " + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text), file=sys.stderr)
    return 2
