"""``transom train dras``: train an agent that schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transom.cli.options import common as options
from transom.cli.options import training as train_options
from transom.cli.options.reading import read_workload
from transom.cli.output.console import check_folder, describe, note, progress
from transom.cli.output.train_dras_report import look, report
from transom.learned.dras.training.plan import SETTINGS
from transom.learned.training.settings import option_of

if TYPE_CHECKING:
    from transom.learned.dras.training.training import Training
    from transom.learned.dras.training.validation import Validation

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
                note(look(at.judge, found))

        try:
            made = run_training(training, out, stated, plan.minutes, print_step, looked, against, replaying)
        except KeyboardInterrupt:
            note(f"interrupted after {training.decisions:,} decisions; the same command goes on from there")
            raise
    simulate = ["transom", "simulate", str(trace), *(["--nodes", str(plan.nodes)] if plan.nodes else []), "--policy"]
    path = out / f"{stated.name}.safetensors"
    report(training, made.card, path, simulate, policy_of(training.settings), parts.shared, json)
