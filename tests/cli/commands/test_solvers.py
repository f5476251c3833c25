from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.conftest import Ran
from transom import registry
from transom.simulation import make_policy, policy_names
from transom.solvers.knapsack.dynamic_programming import DynamicProgramming

Transom = Callable[..., Ran]


def test_everything_is_listed(transom: Transom) -> None:
    ran = transom("solvers")
    assert ran.status == 0
    assert ran.err == ""
    first = {line.split()[0] for line in ran.out.splitlines() if line.startswith("  ") and line[2] != " "}
    for group in (
        registry.SOLVERS,
        registry.POLICIES,
        registry.OBJECTIVES,
        registry.PRIORITY_RULES,
        registry.PREDICTORS,
        registry.DECISION_RULES,
    ):
        assert set(registry.names(group)) <= first
    assert {"RULE", "RULE-easy", "RULE-conservative"} <= first
    assert "memory=512" in ran.out
    assert "\\" not in ran.out
    assert "`" not in ran.out


def test_json_states_parameters_and_defaults(transom: Transom) -> None:
    (listed,) = transom("solvers", "--json").lines
    assert set(listed) == {
        "solvers",
        "policies",
        "objectives",
        "priority_rules",
        "predictors",
        "cost_models",
        "decision_rules",
    }
    solvers = {entry["name"]: entry for entry in listed["solvers"]}
    assert solvers["dp"]["parameters"] == {"memory": 512}
    assert solvers["dp"]["about"].startswith("Fill the table")
    for entry in listed["policies"]:
        name = entry["name"].replace("RULE", "fcfs")
        assert name in policy_names()
        if name == "tuned":
            continue  # a file states which policy
        settings = ",".join(f"{key}={value}" for key, value in entry["parameters"].items() if value not in (None, ""))
        make_policy(f"{name}:{settings}" if settings else name)
    assert all(entry["about"] for group in listed.values() for entry in group if entry["missing"] is None)


def test_solvers_say_which_problems_they_take(transom: Transom) -> None:
    (listed,) = transom("solvers", "--json").lines
    taken: dict[str, list[list[str]]] = {}
    for entry in listed["solvers"]:
        taken.setdefault(entry["name"], []).append(entry["problems"])
    assert taken["dp"] == [["knapsack"]]
    assert taken["scas-dp"] == [["scas"]]
    assert taken["csp-dp"] == [["csp"]]
    assert taken["sequential"] == [["scas", "dcas", "free"]]
    assert taken["nsga2"] == [["selection"]]
    assert taken["auto"] == [
        ["knapsack"],
        ["selection"],
        ["scas", "dcas", "free"],
        ["csp"],
        ["placement"],
        ["workflow"],
        ["joint"],
    ]
    assert taken["best-fit"] == [["scas", "dcas", "free"], ["placement"]]
    assert taken["sa"] == [["knapsack"], ["scas", "dcas", "free"], ["csp"]]
    assert {entry["name"]: entry["parameters"] for entry in listed["cost_models"]}["custom"]["unit"] == 1000
    shown = transom("solvers").out
    assert "Solvers of knapsacks\n" in shown
    assert "Solvers of selections (several resources), for their fronts\n" in shown
    assert "  2x                 BBSched's rule" in shown
    assert {entry["name"]: entry["parameters"] for entry in listed["decision_rules"]}["trade-off"]["give"] == 0.1
    assert "  scas-dp            scas: Label setting" in shown
    assert shown.count("\n  sa  ") == 3


def test_a_missing_back_end_is_said(transom: Transom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DynamicProgramming, "needs", ("numpy", "no_such_package"), raising=False)
    ran = transom("solvers")
    assert ran.status == 0
    assert "missing: needs no_such_package, which is not installed" in ran.out
    (listed,) = transom("solvers", "--json").lines
    assert [entry["missing"] for entry in listed["solvers"] if entry["name"] == "dp"] == [
        "needs no_such_package, which is not installed"
    ]
    asked = transom("solve", "x.json", "--solver", "dp")
    assert (asked.status, asked.err) == (2, "error: solver 'dp' needs no_such_package, which is not installed\n")


@pytest.mark.parametrize(
    ("kind", "groups", "some"),
    [
        ("knapsack", {"solvers"}, {"dp", "primal-dual", "sa"}),
        ("SCAS", {"solvers"}, {"scas-dp", "best-fit"}),
        ("allocation", {"solvers"}, {"scas-dp", "dcas-exact", "free-exact"}),
        ("priority-rules", {"priority_rules"}, {"fcfs", "saf"}),
    ],
)
def test_one_kind_alone(transom: Transom, kind: str, groups: set[str], some: set[str]) -> None:
    (listed,) = transom("solvers", kind, "--json").lines
    assert listed.keys() == groups
    (entries,) = listed.values()
    assert some <= {each["name"] for each in entries}
    assert "cqsim" not in str(entries)
    assert kind.lower() in ("allocation", "priority-rules") or all(kind.lower() in each["problems"] for each in entries)


def test_a_kind_that_is_none_is_refused(transom: Transom) -> None:
    ran = transom("solvers", "knapsacks")
    assert ran.status == 2
    assert "unknown problem or group 'knapsacks'; did you mean 'knapsack'?" in ran.err
