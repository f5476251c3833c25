"""The command line before and around its commands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from typing import Any

import pytest

from tests.cli.conftest import Ran


class Pressed(MetaPathFinder):
    """Ctrl-C falls into the import of the commands."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname == "transom.cli.app":
            raise KeyboardInterrupt


def test_ctrl_c_while_commands_are_imported(transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "transom.cli.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Pressed(), *sys.meta_path])
    ran = transom("solvers")
    assert (ran.status, ran.out, ran.err) == (130, "", "interrupted: what was finished is kept\n")
