"""The options of ``transom train``: one name for one thing, with the defaults of the settings, and none of old."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ran
from transom.cli.app import command_line
from transom.learned import checkpoints
from transom.learned.dras.training.policy_gradient import PolicyGradientSettings
from transom.learned.dras.training.ppo import PpoSettings
from transom.learned.dras.training.q_learning import QLearningSettings
from transom.learned.dras.training.settings import TrainingSettings
from transom.learned.repair.training_settings import CostTraining, Training

Transom = Callable[..., Ran]

SETTINGS: dict[str, type] = {"nsa": Training, "nsa-cost": CostTraining, "dras": TrainingSettings}
"""What each training depends on."""

ELSEWHERE = {"dras": {"scheme", "hidden"}, "nsa-cost": {"hidden"}, "nsa": set()}
"""Settings that an option states in other words: numbers of the scheme one by one, two numbers as a text."""


def options(kind: str) -> dict[str, Any]:
    """The options of a training, by the name of the parameter."""
    command = command_line(["train", kind]).commands["train"].commands[kind]
    return {each.name: each for each in command.params if each.param_type_name == "option"}


@pytest.mark.parametrize("kind", SETTINGS)
def test_every_setting_is_an_option_of_its_name_and_default(kind: str) -> None:
    given = options(kind)
    for field in fields(SETTINGS[kind]):
        if field.name == "scheme":
            continue
        option = given[field.name]
        assert option.opts[0] == f"--{field.name.replace('_', '-')}"
        if field.name not in ELSEWHERE[kind]:
            default = getattr(option.default, "value", option.default)
            assert default == field.default, f"{kind}: {field.name}"
            assert field.default is not MISSING
    if kind == "nsa-cost":
        assert given["hidden"].default == ",".join(map(str, CostTraining().hidden))


def test_one_thing_has_one_name() -> None:
    # What all trainings have, and what two of them have.
    for name in ("out", "seed", "name", "learning_rate", "discount", "device", "threads", "json"):
        assert {options(kind)[name].opts[0] for kind in SETTINGS} == {f"--{name.replace('_', '-')}"}
    for name, kinds in {
        "decisions": ("nsa", "dras"),
        "save_every": ("nsa", "nsa-cost"),
        "minibatch": ("nsa", "nsa-cost"),
        "passes": ("nsa", "nsa-cost"),
        "streams": ("nsa", "nsa-cost"),
        "batch": ("nsa-cost", "dras"),
        "hidden": ("nsa-cost", "dras"),
        "reward": ("nsa", "dras"),
    }.items():
        assert [kind for kind in SETTINGS if name in options(kind)] == list(kinds)
    # The settings of agents, too: none of them goes by another name.
    for settings in (PpoSettings, QLearningSettings, PolicyGradientSettings):
        here = {field.name for field in fields(settings)}
        assert {"learning_rate", "discount"} <= here
        assert not here & {"gamma", "epochs", "rate", "lr"}


@pytest.mark.parametrize("kind", SETTINGS)
def test_help_shows_defaults(kind: str, transom: Transom) -> None:
    text = " ".join(transom("train", kind, "--help").out.split())
    for name, option in options(kind).items():
        if option.required or name in ("json", "help", "nodes", "quiet", "verbose", "wide"):
            continue
        # From the option to the next one, whose line begins with a name.
        last = (option.secondary_opts or option.opts)[-1]
        found = re.search(rf"{re.escape(last)} .*?(?= --[a-z-]+ |$)", text)
        assert found is not None, name
        if not option.is_flag or name == "keep":
            assert "[default: " in found[0], f"{kind}: {found[0]}"


def test_help_of_dras_says_what_agents_take(transom: Transom) -> None:
    text = " ".join(transom("train", "dras", "--help").out.split())
    ppo, pg, dql = PpoSettings(), PolicyGradientSettings(), QLearningSettings()
    assert pg.learning_rate == dql.learning_rate
    assert f"[default: {ppo.learning_rate:g} for ppo, {pg.learning_rate:g} for pg and dql]" in text
    assert f"[default: {ppo.discount:g} for ppo, {pg.discount:g} for pg, {dql.discount:g} for dql]" in text


@pytest.mark.parametrize("name", checkpoints.shipped_names())
def test_commands_of_cards_are_commands(name: str) -> None:
    kind, *words = shlex.split(checkpoints.read_card(checkpoints.find(name)).command.removeprefix("transom train "))
    context = command_line(["train", kind]).commands["train"].commands[kind].make_context(kind, words)
    assert str(context.params["out"]) == "DIR"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nsa", "--steps", 9), "--steps is now --decisions"),
        (("nsa", "--every=3"), "--every is now --save-every"),
        (("nsa-cost", "--steps", 9), "--steps is now --search-steps"),
        (("nsa-cost", "--every", 9), "--every is now --save-every"),
        (("dras", "trace.swf", "--every", 9), "--every is now --validate-every"),
    ],
)
def test_old_spellings_say_what_is_meant(words: tuple[object, ...], message: str, transom: Transom) -> None:
    done = transom("train", *words, "--out", "nowhere")
    assert (done.status, done.out, done.err) == (2, "", f"error: {message}\n")
    assert not Path("nowhere").exists()
