"""Spaces of policies: every point is a specification, and a malformed file is one clear line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from transom.errors import DocumentError, SpecError
from transom.simulation.policies.by_name import make_policy
from transom.tune.keep import parse_keep
from transom.tune.objectives import parse_objectives
from transom.tune.space import Range, read_space, units_of

pytestmark = pytest.mark.fast

UNITS = units_of(86_400, 100, 5000)


def test_every_point_of_the_default_space_is_a_policy() -> None:
    rng = np.random.default_rng(1)
    for family in read_space("default"):
        for _ in range(20):
            make_policy(family.spec(rng.random(len(family.ranges)), UNITS))


def test_values_of_a_range() -> None:
    assert [Range(1, 100, log=True).text(gene, UNITS) for gene in (0, 0.5, 1)] == ["1", "10", "100"]
    assert Range(0, 2, unit="longest", whole=True).text(0.5, UNITS) == "5000"
    assert Range(0, 1).text(0.123456, UNITS) == "0.123"
    assert Range(0, 1e-6).text(1, UNITS) == "0.000001"
    assert [Range(choice=("a", "b")).text(gene, UNITS) for gene in (0, 0.49, 0.5, 1)] == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected tables [[family]]"),
        ("[[family]]\nrule = ['saf']", "expected a table with policy"),
        ("[[family]]\npolicy = '{rule}-easy'", "policy names {rule}, which has no range"),
        ("[[family]]\npolicy = 'saf'\nrule = ['saf']", "rule has a range, but policy does not name {rule}"),
        ("[[family]]\npolicy = '{rule}'\nrule = ['none']", "unknown policy 'none'"),
        ("[[family]]\npolicy = '{rule}-easy'\nrule = ['saf', 'none', 'sjf']", "unknown policy 'none-easy'"),
        ("[[family]]\npolicy = 'saf:max_wait={t}'\nt = {low = 2, high = 1}", "low must be below high, got 2 and 1"),
        (
            "[[family]]\npolicy = 'saf:max_wait={t}'\nt = {low = 0, high = 1, log = true}",
            "low must be below high and > 0",
        ),
        ("[[family]]\npolicy = 'saf:max_wait={t}'\nt = {low = 0, high = 1, unit = 'day'}", "unknown unit 'day'"),
        ("[[family]]\npolicy = 'saf:max_wait={t}'\nt = {low = 0}", "expected a list of texts, or low and high"),
        ("[[family]]\npolicy = 'saf:max_wait={t}'\nt = {low = '0', high = 1}", "t: low is malformed"),
        ("[[family]]\npolicy = 'saf'\npopulation = 1", "population must be a whole number from 4"),
    ],
)
def test_a_malformed_space_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "space.toml"
    path.write_text(text)
    with pytest.raises(SpecError) as told:
        read_space(path)
    assert says in str(told.value)
    assert str(path) in str(told.value)


def test_the_space_that_the_docs_show_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/tune.md").read_text()
    (tmp_path / "space.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    first, second = read_space(tmp_path / "space.toml")
    assert first.spec([0, 1], UNITS) == "saf-easy:max_wait=604800"
    assert second.spec([1], UNITS) == "formula-easy:score=[nodes/100-10*wait/86400]"
    assert (second.population, second.every) == (12, 2)


def test_a_missing_space_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"none\.toml: cannot be read"):
        read_space(tmp_path / "none.toml")


@pytest.mark.parametrize(
    "text", ["", "max_wait", "max_wait < 1", "wait <= x", "wait <= 0", "wait <= inf", "wait[] <= 1", "wait[a <= 1"]
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match="--keep: expected FIGURE <= FACTOR"):
        parse_keep(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("jobs <= 1", "--keep: jobs is no figure of which less is better"),
        ("utilisation <= 1", "--keep: utilisation is no figure of which less is better"),
        ("max_wai <= 1", "--keep: unknown metric 'max_wai'; did you mean 'max_wait'"),
    ],
)
def test_a_condition_needs_a_figure_of_which_less_is_better(text: str, says: str) -> None:
    with pytest.raises(SpecError) as told:
        parse_keep(text)
    assert says in str(told.value)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["wait", "max_wait", "p95_wait", "makespan"], "--objective: one to 3, got 4"),
        (["wait", "mean_wait"], "--objective: name each metric once"),
        (["jobs"], "--objective jobs: neither less nor more of it is better"),
        (["slowdwn"], "--objective: unknown metric 'slowdwn'"),
    ],
)
def test_what_is_no_objective_is_refused(names: list[str], says: str) -> None:
    with pytest.raises(SpecError) as told:
        parse_objectives(names)
    assert says in str(told.value)
