"""``transom train dras``: train an agent that schedules, and say where it stands among the policies."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom.cli.options import common as options
from transom.cli.options import training as train_options
from transom.cli.options.reading import read_workload
from transom.cli.output.console import check_folder, describe, note, number, print_json, print_table, progress, remark
from transom.learned.dras.training.plan import SETTINGS
from transom.learned.training.settings import option_of

if TYPE_CHECKING:
    from transom.learned.checkpoints import Card
    from transom.learned.dras.training.training import Training
    from transom.learned.dras.training.validation import Judge, Validation


OPTIONS = ("agent", "decisions", "seed", "months", "validation")
"""Settings that are options, too."""

dras_parser = train_options.with_old(
    {
        **{option_of(each.name): f"{each.name} in --settings" for each in SETTINGS if each.name not in OPTIONS},
        "--reselect": "keep=no in --settings",
        "--every": "validate_every in --settings",
    }
)


@train_options.with_settings(SETTINGS, OPTIONS)
def command(trace: options.Trace, out: train_options.Out, given: dict[str, Any], json: options.Json = False) -> None:
    """Train a DRAS agent on a trace.

    DIR/NAME.safetensors holds the best snapshot, judged by its rewards on the validation months, and NAME.json its
    card, with the scores of other policies there. DIR/curve.csv holds the scores of all snapshots and the policies
    that were ahead of them, and DIR/tensorboard the logs for TensorBoard. After Ctrl-C the same command resumes
    where it stopped and gives the same checkpoint, except with minutes, which depends on the machine. More decisions
    extend a finished training.
    """
    from transom.learned.checkpoints import require
    from transom.learned.dras.training.plan import asked, command_of, policy_of, prepared
    from transom.learned.dras.training.run import run_training
    from transom.learned.dras.training.training import PACKAGES
    from transom.learned.dras.training.validation import AGAINST

    require("transom train dras", *PACKAGES)
    import torch

    settings, plan = asked(given)
    check_folder(out)
    workload = read_workload(trace, plan.nodes)
    for line in describe(workload):
        note(line)
    torch.set_num_threads(plan.threads)
    training, stated, parts = prepared(workload, settings, plan, command_of(trace, given, OPTIONS))
    note(f"trained on {stated.trained_on}")
    note(f"validated on {stated.validated_on}")
    decisions, against = training.settings.decisions, plan.against or AGAINST
    with progress(hidden=json) as bars:
        task = bars.add_task(stated.name, total=max(decisions, 1))

        def print_step(at: Training) -> None:
            bars.update(task, completed=min(at.decisions, decisions), description=stated.name)

        def replaying(spec: str) -> None:
            bars.update(task, description=f"{stated.name}: {spec} on the validation")

        def looked(at: Training, found: Validation) -> None:
            if not json:
                note(_look(at.judge, found))

        try:
            made = run_training(training, out, stated, plan.minutes, print_step, looked, against, replaying)
        except KeyboardInterrupt:
            note(f"interrupted after {training.decisions:,} decisions; the same command goes on from there")
            raise
    simulate = ["transom", "simulate", str(trace), *(["--nodes", str(plan.nodes)] if plan.nodes else []), "--policy"]
    path = out / f"{stated.name}.safetensors"
    _report(training, made.card, path, simulate, policy_of(training.settings), parts.shared, json)


_SHOWN = {  # title: figure, unit, digits
    "mean wait [s]": ("mean_wait", 1, 0),
    "bounded slowdown": ("mean_bounded_slowdown", 1, 2),
    "longest wait [h]": ("max_wait", 3600, 0),
}


def _look(judge: Judge, found: Validation) -> str:
    """A line about a snapshot on the validation workloads, with the policies beside it."""
    figures = ", ".join(f"{title} {cell}" for title, cell in zip(_SHOWN, _cells(found), strict=True))
    waits = ", ".join(f"{_short(spec)} {number(each.figures['mean_wait'], 0)}" for spec, each in judge.policies.items())
    return f"after {found.after:,} decisions: {figures}; {_standing(judge, found)}. mean wait [s] of {waits or 'none'}"


def _report(
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
