"""The options of ``transom train``: one name for one thing, with the defaults of the settings, and none of old."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ran
from transom._system.settings import fields_of
from transom.cli.app import command_line
from transom.cli.commands.train.dras import OPTIONS
from transom.learned import checkpoints
from transom.learned.dras.training.plan import SETTINGS as DRAS
from transom.learned.dras.training.policy_gradient import PolicyGradientSettings
from transom.learned.dras.training.ppo import PpoSettings
from transom.learned.dras.training.q_learning import QLearningSettings
from transom.learned.repair.training_settings import CostTraining, Training

Transom = Callable[..., Ran]

SETTINGS: dict[str, Any] = {
    "nsa": fields_of(Training),
    "nsa-cost": fields_of(CostTraining),
    "dras": [field for field in DRAS if field.name in OPTIONS],
}
"""What each training depends on, as far as it is an option."""


def options(kind: str) -> dict[str, Any]:
    """The options of a training, by the name of the parameter."""
    command = command_line(["train", kind]).commands["train"].commands[kind]
    return {each.name: each for each in command.params if each.param_type_name == "option"}


@pytest.mark.parametrize("kind", SETTINGS)
def test_every_setting_is_an_option_of_its_name_whose_help_states_its_default(kind: str) -> None:
    given = options(kind)
    for field in SETTINGS[kind]:
        option = given[field.name]
        assert option.opts[0] == f"--{field.name.replace('_', '-')}"
        assert option.default is None  # what is not stated is left to the settings
        if field.default is not None:
            value = ",".join(map(str, field.default)) if isinstance(field.default, tuple) else field.default
            assert f"[default: {value}]" in option.help, f"{kind}: {field.name}"


def test_train_dras_has_eight_parameters_and_a_file_for_the_others(transom: Transom) -> None:
    command = command_line(["train", "dras"]).commands["train"].commands["dras"]
    own = {each.name for each in command.params} - {"quiet", "verbose", "wide", "help"}
    assert own == {"trace", "out", "json", "settings", *OPTIONS}
    assert len(own) == 9
    text = " ".join(transom("train", "dras", "--help").out.split())
    for field in DRAS:
        assert field.name in OPTIONS or f" {field.name}: " in text


def test_one_thing_has_one_name() -> None:
    # What all trainings have, and what two of them have.
    for name in ("out", "seed", "settings", "json"):
        assert {options(kind)[name].opts[0] for kind in SETTINGS} == {f"--{name}"}
    for name, kinds in {
        "decisions": ("nsa", "dras"),
        **dict.fromkeys(("name", "learning_rate", "discount", "device", "threads"), ("nsa", "nsa-cost")),
        **dict.fromkeys(("save_every", "minibatch", "passes", "streams"), ("nsa", "nsa-cost")),
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
        if option.required or name in ("json", "help", "settings", "quiet", "verbose", "wide"):
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
    assert f"a tenth: {ppo.learning_rate:g} for ppo, {pg.learning_rate:g} for pg and dql." in text
    assert f"instance: {ppo.discount:g} for ppo, {pg.discount:g} for pg, {dql.discount:g} for dql." in text


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
        (("dras", "trace.swf", "--every", 9), "--every is now validate_every in --settings"),
        (("dras", "trace.swf", "--learning-rate=0.1"), "--learning-rate is now learning_rate in --settings"),
        (("dras", "trace.swf", "--reselect"), "--reselect is now keep=no in --settings"),
    ],
)
def test_old_spellings_say_what_is_meant(words: tuple[object, ...], message: str, transom: Transom) -> None:
    done = transom("train", *words, "--out", "nowhere")
    assert (done.status, done.out, done.err) == (2, "", f"error: {message}\n")
    assert not Path("nowhere").exists()
