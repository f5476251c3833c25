"""The options about how jobs are read are the reading rules, in every command alike."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from typing import Any, get_type_hints

import pytest

from transom.cli.options.reading import Reading
from transom.traces import ReadingRules

RENAMED = {"size": "nodes", "partition": "partitions"}


def test_an_option_has_the_choices_and_the_default_of_its_rule() -> None:
    options, rules = get_type_hints(Reading), get_type_hints(ReadingRules)
    assert {RENAMED.get(name, name) for name in options} == rules.keys() - {"seed"}
    stated = ReadingRules()
    for name, default in Reading._field_defaults.items():
        rule = RENAMED.get(name, name)
        assert (default or ()) == (getattr(stated, rule) or ())
        if isinstance(default, str) and name != "estimates":
            assert options[name] == rules[rule]


@pytest.mark.parametrize("name", ["simulate", "snapshot", "check", "calibrate", "when"])
def test_a_command_that_reads_jobs_has_them_last(name: str) -> None:
    command: Callable[..., Any] = import_module(f"transom.cli.commands.{name}").command
    assert list(signature(command).parameters)[-len(Reading._fields) :] == list(Reading._fields)
