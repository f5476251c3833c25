"""Plain values become what the parser would make of them, without it; all others are checked as before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from typer.main import get_command

from tests.cli.conftest import Ran
from transom.cli.app import command_line
from transom.cli.options.plain import CHECK, taken

NUMBERS = ("7", "-3", "0", "1.5", "5.", ".5", ".", "1_000", " 7", "٣", "1e3", "nan", "9" * 400, "9" * 5000)


def test_plain_values_import_no_library_of_types() -> None:
    given = "['solvers', '--json', '--problem', 'scas']"
    code = f"import sys; from transom.cli import run; run({given}); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_what_is_given_is_checked(transom: Callable[..., Ran], root: Path) -> None:
    packs = root / "instances" / "windows" / "lublin.jsonl"
    for option, value in (("--seed", "x"), ("--seconds", "soon"), ("--threads", "0"), ("--iterations", "1.5")):
        ran = transom("solve", packs, "--solver", "greedy", option, value)
        assert (ran.status, ran.out) == (2, "")
        assert option in ran.err
        assert value in ran.err


@pytest.mark.parametrize("value", ["1_0", " 7", "7 ", "٣", "1_0.5", "\u00a07"])
@pytest.mark.parametrize("option", ["--seed", "--seconds", "--iterations"])
def test_numbers_are_digits(transom: Callable[..., Ran], root: Path, option: str, value: str) -> None:
    packs = root / "instances" / "windows" / "lublin.jsonl"
    given = ("bench", "plan", "smoke") if option == "--iterations" else ("solve", packs, "--solver", "greedy")
    ran = transom(*given, option, value)
    assert (ran.status, ran.out) == (2, "")
    assert f"{option}: expected a" in ran.err
    assert repr(value) in ran.err


def test_plain_values_become_what_the_parser_makes_of_them(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("")
    paths = (str(tmp_path / each) for each in ("", "there", "missing", "there/below"))
    texts = (*NUMBERS, "", "-", "text", *paths)
    plain = set()
    for command, parameter in parameters(command_line()):
        kind = parameter.type_descriptor.annotation
        choices = [each for each in get_args(kind) if type(each) is str]
        for text in (*texts, *choices, *(each.upper() for each in choices)):
            for value in ([text], [text, text]) if parameter.multiple or parameter.nargs == -1 else (text, 7, 7.0):
                if found(parameter, value) is not CHECK:
                    assert_as_checked(command, parameter, value)
                    plain.add(str(kind))
    assert {"<class 'int'>", "<class 'float'>", "<class 'str'>", "<class 'pathlib.Path'>"} <= plain
    assert any("Literal" in kind for kind in plain)
    assert any("list" in kind for kind in plain)


@pytest.mark.parametrize(
    ("stated", "given"),
    [
        ({"exists": True}, "missing"),
        ({"file_okay": False}, "there"),
        ({"dir_okay": False}, "."),
        ({"writable": True}, "there"),
        ({"resolve_path": True}, "there"),
        ({"path_type": str}, "there"),
    ],
)
def test_stated_paths_are_left_to_the_parser(stated: dict[str, Any], given: str, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("")
    app, stating = typer.Typer(), typer.Option(..., **stated)

    @app.command()
    def read(path: Path = stating) -> None: ...

    [parameter] = (each for each in get_command(app).params if each.name == "path")
    assert found(parameter, str(tmp_path / given)) is CHECK


def test_limits_are_left_to_the_parser() -> None:
    app = typer.Typer()

    @app.command()
    def draw(count: int = typer.Option(5, min=2, max=9)) -> None: ...

    [parameter] = (each for each in get_command(app).params if each.name == "count")
    assert [found(parameter, text) for text in ("1", "2", "9", "10")] == [CHECK, 2, 9, CHECK]


def parameters(group: Any) -> Iterator[tuple[Any, Any]]:
    for command in group.commands.values():
        if hasattr(command, "commands"):
            yield from parameters(command)
        else:
            yield from ((command, each) for each in command.params if hasattr(each, "type_descriptor"))


def found(parameter: Any, value: Any) -> Any:
    return taken(value, parameter.type_descriptor.annotation, parameter.type_descriptor.parameter_info)


def assert_as_checked(command: Any, parameter: Any, value: Any) -> None:
    from typer._coercion import build_runtime_param

    ours = found(parameter, value)
    theirs = build_runtime_param(parameter.type_descriptor).coerce(value, param=parameter, ctx=typer.Context(command))
    assert (ours, type(ours)) == (theirs, type(theirs)), f"{command.name} --{parameter.name} {value!r}"
