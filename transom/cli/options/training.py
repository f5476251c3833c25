"""What the commands of ``transom train`` have in common: one name for one thing, and what is said at the end.

An option that is a setting of the training is spelt as the field of its settings: ``learning_rate`` is
``--learning-rate``. What is not spelt so any more is refused with a line that says how it is.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter, cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from transom._system.settings import Field
from transom.cli.options.recipe import Command, field_option, with_given
from transom.cli.output.console import note, number, print_json, print_table, progress, remark
from transom.learned.training.settings import option_of, read_settings, settings_text, typed

if TYPE_CHECKING:
    from transom.learned.checkpoints import Card

Shown = tuple[int, str | None]
"""How much of a training is done, and what its bar says."""

Out = Annotated[
    Path,
    typer.Option(
        "--out",
        help="Folder for checkpoint, learning curve, logs and state. An interrupted training "
        "with the same settings resumes.",
    ),
]
SaveEvery = Annotated[
    int, typer.Option("--save-every", min=1, help="Number of updates between two saves of the state.")
]
Device = Annotated[str, typer.Option("--device", help="Device of PyTorch: cpu, cuda, or auto (cuda if available).")]


def with_settings(known: Sequence[Field], options: Collection[str] | None = None) -> Callable[[Command], Command]:
    """A command with an option for each setting that has a description, and ``--settings`` for a file of them.

    Its parameter ``given`` is what both state, by name, of the types of the fields; an option counts before the file.

    Parameters
    ----------
    known : all settings that a file may state.
    options : those that are options; by default all. The help of the command lists the others.
    """
    known = [field for field in known if field.stated("description")]
    shown = [field for field in known if options is None or field.name in options]
    file = typer.Option(
        "--settings",
        metavar="FILE.toml|KEY=VALUE,...",
        help="Settings in a file, or as text; what an option states counts.",
    )

    def given(taken: dict[str, Any]) -> dict[str, Any]:
        source = taken.pop("settings", None)
        own = {
            field.name: typed(taken[field.name], field, option_of(field.name)) for field in shown if field.name in taken
        }
        return {**(read_settings(source, known) if source is not None else {}), **own}

    made = {field.name: field_option(field, {"": field.default}) for field in shown}
    made["settings"] = Parameter(
        "settings", Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, file]
    )

    def extend(command: Command) -> Command:
        extended = with_given(made, given)(command)
        more = [_line(field) for field in known if field not in shown]
        if more:
            extended.__doc__ = "\n\n".join([cleandoc(command.__doc__ or ""), "Keys of --settings:", *more])
        return extended

    return extend


def _line(field: Field) -> str:
    """A setting in the help of a command that has no option for it."""
    (about,), default = field.stated("description"), field.default
    usual = "" if default is None or default == "" else f" [{settings_text({field.name: default})}]"
    return f"{field.name}: {about}{usual}"


def with_old(old: Mapping[str, str]) -> type[TyperCommand]:
    """A command that says of old spellings of its options what they are called now."""

    class Command(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            from transom.errors import SpecError

            for word in args:
                if (new := old.get(word.partition("=")[0])) is not None:
                    raise SpecError(f"{word.partition('=')[0]} is now {new}")
            return super().parse_args(ctx, args)

    return Command


def print_repair(solver: str, card: Card, path: Path, updates: int, title: str, digits: int, json: bool) -> None:
    """Say what a training of a repair has written, how it scored, and how to use it."""
    use = with_model(["transom", "solve", "FILE", "--problem", "dcas", "--solver"], solver, path)
    if json:
        print_json({**facts(card, path, updates), "use": use})
        return
    remark(f"{path}: {card.parameters:,} weights after {card.decisions:,} decisions in {card.seconds:,.0f} s")
    remark(title)
    print_table("", ("", "cost"), [(rule, number(cost, digits)) for rule, cost in card.scores.items()])
    remark(f"use it: {use}")


def train_shown(
    trainer: Any, every: int, name: str, total: int, at: int, unit: str, json: bool, shown: Callable[[Any], Shown]
) -> None:
    """Train with a bar; what goes on from an earlier start says so.

    Parameters
    ----------
    trainer : what goes on.
    every : updates between two writings of its state.
    name : of the bar, until a row describes it.
    total, at : what ``unit`` names: how many at most, and how many are done.
    shown : how many are done at a row of the curve, and what the bar says then, None as before.
    """
    from transom.learned.training.trainer import train

    if at:
        note(f"{trainer.folder}: goes on after {at:,} {unit}")
    with progress(hidden=json) as bars:
        task = bars.add_task(name, total=total, completed=at)

        def print_row(row: Any) -> None:
            done, text = shown(row)
            bars.update(task, completed=min(done, total), description=text)

        train(trainer, every, print_row)


def train_validated(trainer: Any, every: int, name: str, total: int, unit: str, json: bool) -> None:
    """Train with a bar and a line for each validation; after Ctrl-C, say that the command resumes.

    Parameters
    ----------
    trainer : counts what ``unit`` names in its attribute ``updates``.
    every : number of these between two validations.
    total : number of these at most.
    """
    from transom.learned.training.trainer import train

    with progress(hidden=json) as bars:
        task = bars.add_task(name, total=total)

        def print_row(found: Any | None) -> None:
            bars.update(task, completed=trainer.updates)
            if found is not None and not json:
                note(f"{trainer.updates:,} {unit}: validation {number(found.validation)}, best {number(found.best)}")

        try:
            train(trainer, every, print_row)
        except KeyboardInterrupt:
            note(f"interrupted after {trainer.updates:,} {unit}; the same command goes on from there")
            raise


def print_validated(card: Card, path: Path, trainer: Any, unit: str, alone: str) -> None:
    """Say what a training has written, what it began with, and how the network does; ``alone`` names its score."""
    remark(f"{path}: {card.parameters:,} weights after {trainer.updates:,} {unit} in {card.seconds:,.0f} s")
    remark(f"began as: {trainer.start}")
    was, now = card.scores["before_training"], card.scores[alone]
    remark(f"mean bounded slowdown of the validation: {number(was)} before, {number(now)} after")


def facts(card: Card, path: Path, updates: int) -> dict[str, Any]:
    """What a training has written, as every ``--json`` says it."""
    return {
        "checkpoint": str(path),
        "decisions": card.decisions,
        "updates": updates,
        "seconds": card.seconds,
        "weights": card.weights,
        "scores": card.scores,
    }


def with_model(words: list[str], name: str, path: Path) -> str:
    """A command that ends in a solver or policy with a checkpoint, as a shell takes it."""
    model = f"[{path}]" if set(",[]") & set(str(path)) else str(path)
    return shlex.join([*words, f"{name}:model={model}"])
