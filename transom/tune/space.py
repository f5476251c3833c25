"""What is searched: families of policies, each a specification with names in braces, and the ranges of these.

A point of a family is a specification like any other, so that nothing else needs to know what was searched.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from transom.errors import SpecError
from transom.io.toml_files import parse_toml, read_text
from transom.models.arrays import FloatArray
from transom.simulation.policies.by_name import make_policy

_HERE = Path(__file__).parent / "spaces"
_NAME = re.compile(r"\{([a-z_]+)\}")
_OWN = ("name", "policy", "population", "every")
_POPULATION = 24
_DIGITS = 3  # of a number in a specification, so that it can be read


@dataclass(frozen=True, slots=True)
class Range:
    """The values of one name: numbers from ``low`` to ``high``, or the texts of ``choice``.

    Parameters
    ----------
    low, high : the least and the largest number.
    whole : whether only whole numbers will do.
    log : whether the search goes by powers; ``low`` is then > 0.
    unit : the name of a number of the machine (:class:`Family`) of which ``low`` and ``high`` are multiples.
    choice : the texts; there are then no numbers.

    Raises
    ------
    SpecError : the range is empty, or mixes texts and numbers.
    """

    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    log: bool = False
    unit: str = ""
    choice: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.choice:
            return
        if not (-math.inf < self.low < self.high < math.inf) or (self.log and self.low <= 0):
            above = " and > 0" if self.log else ""
            raise SpecError(f"low must be below high{above}, got {self.low:g} and {self.high:g}")

    def text(self, gene: float, units: Mapping[str, float]) -> str:
        """The value at a place of the range, as a specification spells it.

        Parameters
        ----------
        gene : from 0 (``low``, the first choice) to 1.
        units : the numbers of the machine by name.
        """
        if self.choice:
            return self.choice[min(int(gene * len(self.choice)), len(self.choice) - 1)]
        if self.log:
            value = math.exp(math.log(self.low) + gene * math.log(self.high / self.low))
        else:
            value = self.low + gene * (self.high - self.low)
        value *= units[self.unit] if self.unit else 1.0
        return str(round(value)) if self.whole else np.format_float_positional(float(f"{value:.{_DIGITS}g}"), trim="-")


@dataclass(frozen=True, slots=True)
class Family:
    """Policies that differ in numbers and words.

    Parameters
    ----------
    name : what it is called.
    policy : a specification with names in braces. ``{limit}`` is the longest walltime [s], ``{machine}`` the nodes of
        the machine, ``{longest}`` the longest wait under today's policy [s], all on the tuning part.
    ranges : the values of all other names, in the order of genes.
    population : policies of a generation, >= 4.
    every : it has a generation in each so many turns, >= 1; more for policies whose replays take long.
    """

    name: str
    policy: str
    ranges: Mapping[str, Range]
    population: int = _POPULATION
    every: int = 1

    def spec(self, genes: Sequence[float] | FloatArray, units: Mapping[str, float]) -> str:
        """The specification of a point, whose genes are from 0 to 1, shape ``(ranges,)``."""
        values = {name: f"{value:g}" for name, value in units.items()}
        for gene, (name, each) in zip(genes, self.ranges.items(), strict=True):
            values[name] = each.text(float(gene), units)
        return _NAME.sub(lambda found: values[found[1]], self.policy)


def units_of(limit: float, machine: float, longest: float) -> dict[str, float]:
    """The numbers of a machine that families name; none is 0, so that they can stand below a fraction."""
    return {"limit": max(limit, 1.0), "machine": max(machine, 1.0), "longest": max(longest, 60.0)}


def read_space(name: str | os.PathLike[str]) -> list[Family]:
    """The families of a space: of the file ``NAME.toml`` of this package, or of a file of the user.

    Raises
    ------
    SpecError : a family is malformed, or a policy of it is none.
    DocumentError : the file cannot be read.
    """
    path = _HERE / f"{name}.toml"
    if str(name) not in (each.stem for each in _HERE.glob("*.toml")):
        path = Path(name)
    tables = parse_toml(read_text(path), str(path))
    if set(tables) != {"family"} or not isinstance(tables["family"], list) or not tables["family"]:
        raise SpecError(f"{path}: expected tables [[family]] and nothing else")
    return [_family(table, f"{path}: family {k}") for k, table in enumerate(tables["family"], 1)]


def _family(table: Any, where: str) -> Family:
    if not isinstance(table, dict) or not isinstance(table.get("policy"), str):
        raise SpecError(f"{where}: expected a table with policy, a text")
    known = units_of(1, 1, 1)
    policy, name = table["policy"], str(table.get("name", table["policy"]))
    population, every = table.get("population", _POPULATION), table.get("every", 1)
    for key, value, least in (("population", population, 4), ("every", every, 1)):
        if type(value) is not int or not least <= value <= 1000:
            raise SpecError(f"{where}: {key} must be a whole number from {least} to 1,000")
    ranges = {key: _range(value, f"{where}: {key}") for key, value in table.items() if key not in _OWN}
    named = set(_NAME.findall(policy))
    if missing := sorted(named - ranges.keys() - known.keys()):
        raise SpecError(f"{where}: policy names {{{missing[0]}}}, which has no range")
    if idle := sorted(ranges.keys() - named):
        raise SpecError(f"{where}: {idle[0]} has a range, but policy does not name {{{idle[0]}}}")
    family = Family(name, policy, ranges, population, every)
    ends = [[gene] * len(ranges) for gene in (0.0, 1.0)]
    for k, each in enumerate(ranges.values()):  # a text in the middle may be malformed by itself
        ends += [
            [0.0] * k + [(c + 0.5) / len(each.choice)] + [0.0] * (len(ranges) - k - 1) for c in range(len(each.choice))
        ]
    for genes in ends:
        try:
            make_policy(family.spec(genes, units_of(86_400, 1000, 86_400)))
        except SpecError as error:
            raise SpecError(f"{where}: {error}") from None
    return family


def _range(value: Any, where: str) -> Range:
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return Range(choice=tuple(value))
    numbers: dict[str, Any] = {"low": (int, float), "high": (int, float), "whole": bool, "log": bool, "unit": str}
    if not isinstance(value, dict) or not {"low", "high"} <= set(value) <= set(numbers):
        raise SpecError(f"{where}: expected a list of texts, or low and high with any of whole, log and unit")
    for key, kind in numbers.items():
        if key in value and (not isinstance(value[key], kind) or (key in ("low", "high") and value[key] is True)):
            raise SpecError(f"{where}: {key} is malformed")
    if value.get("unit", "longest") not in units_of(1, 1, 1):
        raise SpecError(f"{where}: unknown unit {value['unit']!r}. Known: {', '.join(units_of(1, 1, 1))}")
    try:
        return Range(**value)
    except SpecError as error:
        raise SpecError(f"{where}: {error}") from None
