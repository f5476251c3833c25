"""Formulas as texts: what they come to, and what is refused in one line."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np
import pytest

from transom.errors import SpecError
from transom.heuristics.formulas import LONGEST, column_of, names_in, parse_formula
from transom.models import JobTable
from transom.simulation.core.formula_rule import Formula

HOSTILE = {
    "": "invalid syntax",
    " ": "invalid syntax",
    "open('x')": 'character 6 is "\'"',
    "__import__(nodes)": "there is no function '__import__'",
    "exp.__class__": "only numbers, names",
    "nodes.real": "only numbers, names",
    "nodes[0]": "character 6 is '\\['",
    "lambda: 1": "character 7 is ':'",
    "lambda x: x": "character 9 is ':'",
    "(nodes := 3)": "character 8 is ':'",
    "nodes < wait": "character 7 is '<'",
    "nodes == 1": "character 7 is '='",
    "nodes if wait else 1": "only numbers, names",
    "nodes and wait": "only numbers, names",
    "not nodes": "only numbers, names",
    "[nodes]": "character 1 is '\\['",
    "(nodes, wait)": "only numbers, names",
    "(yield)": "only numbers, names",
    "await nodes": "only numbers, names",
    "nodes // 2": "only numbers, names",
    "nodes @ 2": "character 7 is '@'",
    "nodes % 2": "character 7 is '%'",
    "True": "only numbers, names",
    "None": "only numbers, names",
    "...": "only numbers, names",
    "1j * nodes": "only numbers, names",
    "'nodes'": "character 1 is",
    "f'{nodes}'": "character 2 is",
    "nodes; wait": "character 6 is ';'",
    "nodes\nwait": "character 6 is '\\\\n'",
    "nodes # wait": "character 7 is '#'",
    "n\u00f6des": "character 2 is",
    "\u0430bs(nodes)": "character 1 is",
    "abs": "a function, which takes values in brackets",
    "log()": "log takes one value",
    "log(nodes, 2)": "log takes one value",
    "min(nodes)": "min takes two values or more",
    "min(*nodes)": "min takes two values or more",
    "exp(exp)(nodes)": "only numbers, names",
    "exec(nodes)": "there is no function 'exec'",
    "nodes / 0": "it divides by 0",
    "nodes / (3 - 3)": "it divides by 0",
    "1 / 0": "/ of 1, 0 has no finite result",
    "nodes + 0 / 0": "/ of 0, 0 has no finite result",
    "10**400": "no finite result",
    "9**9**9**9": "no finite result",
    "(-8)**0.5": "no finite result",
    "log(0)": "no finite result",
    "log(-1)": "no finite result",
    "sqrt(-1)": "no finite result",
    "exp(1000)": "no finite result",
    "1e999": "a number is too large",
    "9" * 400: "a number is too large",
    "9" * 1999: "a number is too large",
    "(" * 5000 + ")" * 5000: "it has 10,000 characters",
    "(" * 900 + "1" + ")" * 900: "nest",
    "-" * 1900 + "1": "nest",
    "nodes**" * 280 + "2": "it nests deeper than 100 operators",
    "nodes+" * 330 + "2": "it nests deeper than 100 operators",
    "abs(" * 150 + "1" + ")" * 150: "it nests deeper than 100 operators",
    "nodes nodes": "invalid syntax",
    "nodes +": "invalid syntax",
    "1.2.3": "invalid",
    "0777": "leading zeros",
    "nodes(3)": "there is no function 'nodes'",
}


@pytest.mark.fast
@pytest.mark.parametrize("text", HOSTILE, ids=map(str, range(len(HOSTILE))))
def test_what_is_no_formula_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(SpecError, match=HOSTILE[text]) as refused:
        parse_formula(text)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.fast
def test_the_longest_formula_is_read() -> None:
    text = "max(" + ",".join(["nodes"] * 90) + ")"
    assert list(names_in(parse_formula(text.ljust(LONGEST)))) == ["nodes"] * 90


@pytest.mark.fast
def test_numbers_are_computed_at_once() -> None:
    assert parse_formula("2 + 3 * -4**2") == -46.0
    assert parse_formula("2**3**2 / 512") == 1.0
    assert parse_formula("min(3, 1, 2) + max(1, 2) + abs(-1) + sqrt(9)") == 7.0
    assert parse_formula("log2(8) + log10(100) + log(1) + exp(0)") == 6.0
    assert parse_formula("1_000 * nodes") == ("*", 1000.0, "nodes")


PLAIN: dict[str, Callable[..., float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": math.pow, "min": min,
    "max": max, "log": math.log, "log2": math.log2, "log10": math.log10, "sqrt": math.sqrt, "exp": math.exp,
    "abs": abs, "-1 * ": operator.neg,
}  # fmt: skip
PARTS = {"(wait - 3)": lambda k: k - 3.0, "((nodes - 4) / 2)": lambda k: (k - 3.0) / 2, "0.5": lambda k: 0.5,
         "2": lambda k: 2.0, "(-1)": lambda k: -1.0, "3": lambda k: 3.0, "400": lambda k: 400.0}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_operators_are_those_of_plain_python(name: str) -> None:
    """Of what changes with time and of what does not; without a value, a job has an infinite score, and is last."""
    unknown = np.full(7, -1)
    jobs = JobTable(np.column_stack((range(1, 8), np.arange(6, -1, -1), range(1, 8), np.ones(7), unknown, unknown)))
    compared = 0
    for first, one in PARTS.items():
        for second, two in PARTS.items() if name in ("+", "-", "*", "/", "**", "min", "max") else [("", None)]:
            text = f"{first} {name} {second}" if not name.isalnum() and two else f"{name}({first}, {second})"
            text = text if two else f"{name}({first})"
            if "wait" not in text and "nodes" not in text:
                continue
            scores = Formula(text)(jobs, 6, 0)
            for k in range(7):
                try:
                    wanted = float(PLAIN[name](one(k), *([two(k)] if two else [])))
                except (ArithmeticError, ValueError):
                    wanted = math.inf
                assert scores[k] == pytest.approx(wanted, rel=1e-12), text
                compared += 1
    assert compared >= 14


@pytest.mark.fast
def test_columns_of_a_formula() -> None:
    columns = {"nodes": np.array([1.0, 2.0, 3.0])}
    assert column_of(parse_formula("nodes**3 - nodes**2 + 1"), columns).tolist() == [1.0, 5.0, 19.0]
    assert column_of(parse_formula("max(nodes, 2) / nodes"), columns).tolist() == [2.0, 1.0, 1.0]
    assert column_of(parse_formula("-1 * (nodes - 2)"), columns).tolist() == [1.0, 0.0, -1.0]
