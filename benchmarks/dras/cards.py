"""The cards of the shipped agents: on which months each was validated, and how those who do not learn do there.

Each agent is validated again as its card's command says, which must give the scores that its card states. Weights are
not touched.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from transom import simulate
from transom.cli.app import command_line
from transom.cli.commands.train.dras import OPTIONS
from transom.cli.output.console import number, print_table
from transom.errors import DocumentError
from transom.learned.checkpoints import Card, Checkpoint, find, load, read_card, save_card, shipped_names
from transom.learned.dras.training.jobsets import how_copied, validated_on
from transom.learned.dras.training.plan import SETTINGS, Plan, asked, validation_workloads
from transom.learned.dras.training.settings import TrainingSettings
from transom.learned.dras.training.split import split
from transom.learned.dras.training.validation import AGAINST, Judge, Validation
from transom.learned.training.settings import read_settings
from transom.simulation import Schedule
from transom.traces import Workload, read_swf


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("trace", type=Path, help="theta_2022.swf.gz, of which the agents are")
    parser.add_argument("--names", nargs="+", default=agents(), help="these cards alone")
    parser.add_argument("--against", nargs="+", default=list(AGAINST), help="the policies")
    parser.add_argument("--check", action="store_true", help="compare with what the cards say, and write nothing")


def run(arguments: argparse.Namespace) -> int:
    """Validate anew; write the cards, or tell with status 1 which of them say something else."""
    trace, wrong = read_swf(arguments.trace), 0
    kept: dict[tuple[str, str], Schedule] = {}  # agents share their validation months

    def replayed(workload: Workload, spec: str) -> Schedule:
        key = workload.digest(), spec
        if key not in kept:
            kept[key] = simulate(workload, spec)
        return kept[key]

    for name in arguments.names:
        checkpoint = load(name, "dras")
        stated, plan = asked(parameters(checkpoint.card.command))
        workloads, told = validation(trace, plan)
        settings = TrainingSettings(**stated)
        judge = Judge(workloads, settings.reward, settings.bound)
        best = validated(checkpoint, judge)
        for spec in arguments.against:
            judge.policies[spec] = judge.judged([replayed(each, spec) for each in workloads])
        rules = {spec: found.figures for spec, found in judge.policies.items()}
        card = msgspec.structs.replace(checkpoint.card, validated_on=told, rules=rules)
        show(card, judge, best)
        if arguments.check:
            same = checkpoint.card.validated_on == told and rules.items() <= checkpoint.card.rules.items()
            print(f"{name}: {'as its card says' if same else 'NOT what its card says'}\n")
            wrong += not same
        else:
            save_card(find(name), card)
            print(f"{name}: card written\n")
    return int(wrong > 0)


def agents() -> list[str]:
    """The names of the shipped agents."""
    return [name for name in shipped_names() if read_card(find(name)).component == "dras"]


def parameters(command: str) -> dict[str, Any]:
    """What a command of ``transom train dras`` states of its settings."""
    words = shlex.split(command.removeprefix("transom train dras "))
    stated = command_line(["train", "dras"]).commands["train"].commands["dras"].make_context("dras", words).params
    own = {name: value for name, value in stated.items() if value is not None and name in OPTIONS}
    return {**(read_settings(stated["settings"], SETTINGS) if stated["settings"] else {}), **own}


def validation(trace: Workload, plan: Plan) -> tuple[list[Workload], str]:
    """What snapshots were compared on, and what a card says of it."""
    parts = split(trace, plan.months, plan.validation, plan.overlap, plan.epoch)
    workloads = validation_workloads(parts, plan)
    return workloads, validated_on(parts, how_copied(plan.laps, plan.loads), workloads)


def validated(checkpoint: Checkpoint, judge: Judge) -> Validation:
    """How the shipped agent does.

    Raises
    ------
    DocumentError : its card says something else.
    """
    card = checkpoint.card
    policy = (
        "decima-pg" if card.settings["levels"] == 1 else "dras-dql" if card.settings["agent"] == "dql" else "dras-pg"
    )
    spec = f"{policy}:model={card.name}"
    found = judge.judged([simulate(each, spec) for each in judge.workloads])
    for name, value in found.figures.items():
        if abs(card.scores[f"validation_{name}"] - value) > 1e-6 * value:
            raise DocumentError(f"{card.name}: its card says {name} {card.scores[f'validation_{name}']}, it is {value}")
    return found


def show(card: Card, judge: Judge, best: Validation) -> None:
    """Print where the agent stands among the policies."""
    everybody = sorted({card.name: best, **judge.policies}.items(), key=lambda each: each[1].merit, reverse=True)
    cells: Sequence[Sequence[str]] = [
        [
            who,
            number(each.figures["mean_wait"], 0),
            number(each.figures["mean_bounded_slowdown"], 2),
            number(each.figures["max_wait"] / 3600, 0),
        ]
        for who, each in everybody
    ]
    columns = ["", "mean wait [s]", "bounded slowdown", "longest wait [h]"]
    print_table(f"{card.name}, by {judge.measure}; {card.validated_on}", columns, cells)
    ahead = judge.ahead_of(best)
    print(f"behind {', '.join(ahead)}" if ahead else "ahead of all")
