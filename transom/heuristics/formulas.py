"""Arithmetic expressions in texts: parsed against a list of what is allowed, and evaluated over columns.

Nothing of the text is run. It becomes an expression, which is a number, a name, or a tuple of an operator and its
operands; numbers are computed at once. ``x**2`` and ``x**3`` are operators of their own, which are the same on every
processor.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from transom.errors import SpecError
from transom.heuristics.cubes import cube_each
from transom.models.arrays import FloatArray

Expression: TypeAlias = float | str | tuple[Any, ...]

LONGEST = 2000
"""Characters of a formula, at most."""

_DEEPEST = 100  # operators within one another
_ALLOWED = re.compile(r"[A-Za-z0-9_.+\-*/(), ]*")


def _power(x: Any, y: Any) -> Any:
    return np.power(x, y)


def _cubed(x: Any) -> Any:
    cubes = np.array(x, np.float64).reshape(-1)
    cube_each(cubes)
    return cubes.reshape(np.shape(x))


OPERATORS: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": _power, "min": np.minimum, "max": np.maximum,
    "negative": np.negative, "square": np.square, "cube": _cubed, "log": np.log, "log2": np.log2, "log10": np.log10,
    "sqrt": np.sqrt, "exp": np.exp, "abs": np.abs,
}  # fmt: skip
"""What an operator does to columns."""

_OF_NUMBERS: dict[str, Callable[..., float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": math.pow, "min": min,
    "max": max, "negative": operator.neg, "square": lambda x: x * x, "cube": lambda x: float(_cubed(x)),
    "log": math.log, "log2": math.log2, "log10": math.log10, "sqrt": math.sqrt, "exp": math.exp, "abs": abs,
}  # fmt: skip
_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_OF_ONE = ("log", "log2", "log10", "sqrt", "exp", "abs")
_OF_MANY = ("min", "max")


def parse_formula(text: str) -> Expression:
    """The expression of a formula.

    Parameters
    ----------
    text : numbers, names, ``+ - * / **``, brackets, and ``log``, ``log2``, ``log10``, ``sqrt``, ``exp``, ``abs`` of
        one, ``min`` and ``max`` of several.

    Raises
    ------
    SpecError : it is too long or too deep, holds anything else, or numbers of it have no finite result.
    """
    told = f"formula {text[:60]!r}{'...' if len(text) > 60 else ''}"
    if len(text) > LONGEST:
        raise SpecError(f"{told}: it has {len(text):,} characters, at most {LONGEST:,} are read")
    known = _ALLOWED.match(text)
    if known is not None and (end := known.end()) < len(text):
        raise SpecError(f"{told}: character {end + 1} is {text[end]!r}; numbers, names, + - * / ** ( ) and , are read")
    try:
        with warnings.catch_warnings(action="ignore"):
            parsed = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else "it nests too deeply, or a number is too long"
        raise SpecError(f"{told}: {why}") from None
    try:
        return _read(parsed, 0)
    except SpecError as error:
        raise SpecError(f"{told}: {error}") from None


def names_in(expression: Expression) -> Iterator[str]:
    """The names of an expression, in their order, as often as they stand there."""
    if isinstance(expression, str):
        yield expression
    elif isinstance(expression, tuple):
        for operand in expression[1:]:
            yield from names_in(operand)


def column_of(expression: Expression, columns: Mapping[str, FloatArray]) -> Any:
    """The value of an expression, whose names are columns; not finite where it has none."""
    if isinstance(expression, str):
        return columns[expression]
    if not isinstance(expression, tuple):
        return expression
    operands = [column_of(each, columns) for each in expression[1:]]
    with np.errstate(all="ignore"):
        return OPERATORS[expression[0]](*operands)


def _read(node: ast.expr, depth: int) -> Expression:
    if depth > _DEEPEST:
        raise SpecError(f"it nests deeper than {_DEEPEST} operators")
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return _number(node.value)
    if isinstance(node, ast.Name):
        if node.id in _OF_ONE + _OF_MANY:
            raise SpecError(f"{node.id} is a function, which takes values in brackets")
        return node.id
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        operand = _read(node.operand, depth + 1)
        return _made("negative", operand) if isinstance(node.op, ast.USub) else operand
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _read(node.left, depth + 1), _read(node.right, depth + 1)
        if isinstance(node.op, ast.Pow) and right in (2.0, 3.0):
            return _made("square" if right == 2.0 else "cube", left)
        return _made(_BINARY[type(node.op)], left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _called(node, node.func.id, depth)
    read = ", ".join(_OF_ONE + _OF_MANY)
    raise SpecError(f"character {node.col_offset + 1}: only numbers, names, + - * / ** and {read} are read")


def _called(node: ast.Call, name: str, depth: int) -> Expression:
    if name not in _OF_ONE + _OF_MANY:
        raise SpecError(f"there is no function {name!r}. Known: {', '.join(_OF_ONE + _OF_MANY)}")
    wanted = len(node.args) == 1 if name in _OF_ONE else len(node.args) >= 2
    if not wanted or node.keywords:
        raise SpecError(f"{name} takes {'one value' if name in _OF_ONE else 'two values or more'}")
    first, *others = (_read(each, depth + 1) for each in node.args)
    if name in _OF_ONE:
        return _made(name, first)
    for other in others:
        first = _made(name, first, other)
    return first


def _number(value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise SpecError("a number is too large")
    return number


def _made(name: str, *operands: Expression) -> Expression:
    """An operator with its operands; the result at once if these are numbers."""
    if not all(isinstance(each, float) for each in operands):
        if name == "/" and operands[1] == 0.0:
            raise SpecError("it divides by 0")
        if name in ("*", "/") and isinstance(operands[0], tuple) and operands[0][0] == "negative":
            return (name, operands[0][1], _made("negative", operands[1]))  # which is often known before the replay
        return (name, *operands)
    try:
        result = float(_OF_NUMBERS[name](*operands))
    except (ArithmeticError, ValueError):
        result = math.nan
    if not math.isfinite(result):
        spelled = ", ".join(f"{each:g}" for each in operands)
        raise SpecError(f"{name} of {spelled} has no finite result")
    return result
