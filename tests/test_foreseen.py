"""The commands whose kernels are built ahead of time."""

from __future__ import annotations

import pytest

from transom import foreseen
from transom.foreseen import commands
from transom.registry import labelled
from transom.simulation.policies.by_name import make_policy


@pytest.mark.parametrize("line", [each for each in commands() if each.startswith("simulate ")])
def test_no_two_policies_of_a_replay_have_one_name(line: str) -> None:
    words = line.split()
    policies = [labelled(words[at + 1]) for at, word in enumerate(words) if word == "--policy"]
    assert policies
    assert len({label for label, _ in policies}) == len(policies)


def test_policies_can_be_made() -> None:
    replays = [line.split() for line in commands() if line.startswith("simulate trace.swf")]
    specs = {labelled(words[at + 1])[1] for words in replays for at, word in enumerate(words) if word == "--policy"}
    assert all(make_policy(spec) for spec in specs)


def test_nothing_is_trained_where_the_packages_for_it_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(line.startswith("train ") for line in commands())
    monkeypatch.setattr(foreseen, "find_spec", lambda package: None)
    assert not [line for line in commands() if line.startswith("train ") or "kernel:model=" in line]
