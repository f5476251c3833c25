"""Messages of ``transom train dras``: validation scores during training, and the best policy at the end."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from transom.cli.options import training as train_options
from transom.cli.output.console import number, print_json, print_table, remark

if TYPE_CHECKING:
    from transom.learned.checkpoints import Card
    from transom.learned.dras.training.training import Training
    from transom.learned.dras.training.validation import Judge, Validation

_SHOWN = {  # title: figure, unit, digits
    "mean wait [s]": ("mean_wait", 1, 0),
    "bounded slowdown": ("mean_bounded_slowdown", 1, 2),
    "longest wait [h]": ("max_wait", 3600, 0),
}


def look(judge: Judge, found: Validation) -> str:
    """A line about a snapshot on the validation workloads, with the policies beside it."""
    figures = ", ".join(f"{title} {cell}" for title, cell in zip(_SHOWN, _cells(found), strict=True))
    waits = ", ".join(f"{_short(spec)} {number(each.figures['mean_wait'], 0)}" for spec, each in judge.policies.items())
    return f"after {found.after:,} decisions: {figures}; {_standing(judge, found)}. mean wait [s] of {waits or 'none'}"


def report(
    training: Training, card: Card, path: Path, simulate: list[str], policy: str, shared: str, json: bool
) -> None:
    """Say what was written, where it stands among the policies, and what to use.

    Parameters
    ----------
    training : which is over.
    card, path : of the checkpoint.
    simulate : the command that replays the trace, up to the policy.
    policy : which takes the checkpoint.
    shared : which months were in training and validation, in words; empty for none.
    json : print JSON instead of text.
    """
    judge, best = training.judge, training.best_validation
    assert best is not None
    ahead = judge.ahead_of(best)
    command = train_options.with_model(simulate, policy, path)
    use = shlex.join([*simulate, ahead[0]]) if ahead else command
    if json:
        print_json(
            {
                **train_options.facts(card, path, training.updates),
                "trained_on": card.trained_on,
                "validated_on": card.validated_on,
                "rules": card.rules,
                "measure": judge.measure,
                "behind": ahead,
                "recommended": not ahead,
                "command": command,
                "use": use,
            }
        )
        return
    remark(f"{path}: {card.parameters:,} weights after {card.decisions:,} decisions in {card.seconds:,.0f} s")
    everybody = sorted({card.name: best, **judge.policies}.items(), key=lambda each: each[1].merit, reverse=True)
    title = f"best snapshot and policies, by {judge.measure}; {card.validated_on}"
    print_table(title, ["", *_SHOWN], [[_short(who), *_cells(found)] for who, found in everybody])
    _print_clocks(judge)
    for title, (figure, _, _) in _SHOWN.items():
        better = judge.better_in(figure, best)
        remark(f"{title}: {_behind(better, len(judge.policies))}")
    if shared:
        remark(f"{shared[0].upper()}{shared[1:]} of the validation: trained on, too. On others it may do worse.")
    if ahead:
        remark(f"{card.name} is behind {_short(ahead[0])} in the {judge.measure} and is not recommended.")
        remark(f"to replay it all the same: {command}")
        remark(f"better: {use}")
    else:
        remark(f"use it: {use}")


def _standing(judge: Judge, found: Validation) -> str:
    return f"{judge.measure}: {_behind(judge.ahead_of(found), len(judge.policies))}"


def _behind(better: list[str], number_of: int) -> str:
    if better:
        return f"behind {', '.join(map(_short, better))}"
    return f"ahead of all {number_of} policies" if number_of else "compared with no policy"


def _print_clocks(judge: Judge) -> None:
    from transom.simulation.policies.clocks import clock_of, clock_remarks

    for text in clock_remarks((_short(spec), clock_of(spec)) for spec in judge.policies):
        remark(text)


def _short(spec: str) -> str:
    """A specification without what is said below the table."""
    return spec.removesuffix(":clock=trace")


def _cells(found: Validation) -> list[str]:
    return [number(found.figures[figure] / unit, digits) for figure, unit, digits in _SHOWN.values()]
