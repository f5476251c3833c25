"""What ``transom train dras`` is asked for: the settings of a training, and what makes its workloads of a trace."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from transom import registry
from transom._system.settings import Above, Positive, check_settings, fields_of, setting
from transom._system.wording import real_number
from transom.errors import SpecError
from transom.learned.checkpoints import check_name
from transom.learned.dras.process.process import RANGES, AgentConfig
from transom.learned.dras.training.jobsets import compared, copies, how_copied, lengths, phased, validated_on
from transom.learned.dras.training.run import Stated
from transom.learned.dras.training.settings import TrainingSettings
from transom.learned.dras.training.split import Split, split
from transom.learned.dras.training.training import Training
from transom.learned.training.devices import chosen_device
from transom.learned.training.settings import Threads, option_of, settings_text
from transom.simulation import make_policy
from transom.traces import Workload, cut


def _within(name: str) -> Meta:
    least, most = RANGES[name]
    return Meta(ge=least, le=most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is asked for beside :class:`~transom.learned.dras.training.settings.TrainingSettings`.

    Raises
    ------
    SpecError : a number is out of range, a text is malformed, or a policy is unknown.
    """

    learning_rate: Annotated[
        float | None, setting("At the beginning; that of ppo falls to a tenth: 0.003 for ppo, 0.001 for pg and dql.")
    ] = None
    discount: Annotated[
        float | None, setting("Of what comes later, per scheduling instance: 0.999 for ppo, 1 for pg, 0.99 for dql.")
    ] = None
    minutes: Annotated[Above | None, setting("Stop after so long, even if fewer decisions were taken.")] = None
    months: Annotated[
        str | None,
        setting("Train on these months of the trace.  [default: those before --validation, or 3/4 of the jobs]", "A-B"),
    ] = None
    validation: Annotated[
        str | None,
        setting(
            "Compare snapshots on these months.  [default: the one after --months, or the last 1/4 of the jobs]", "A-B"
        ),
    ] = None
    overlap: Annotated[bool, setting("Allow training months in the validation. The card says so.")] = False
    against: Annotated[
        tuple[str, ...] | None, setting("Policies that snapshots are compared with: those of docs/dras.md.")
    ] = None
    epoch: Annotated[int, setting("Second 0 of the trace in Unix time, its UnixStartTime; for months.")] = 0
    phases: Annotated[
        str | None,
        setting("Train phase by phase on job sets, not copies: sampled,real,synthetic, with NAME=COUNT for fewer."),
    ] = None
    phase_jobs: Annotated[Positive | None, setting("Jobs of a sampled or synthetic jobset: 3200.")] = None
    loads: Annotated[str, setting("Without phases: range of factors on the load of the trace.")] = "0.9-1.25"
    laps: Annotated[Positive, setting("Repetitions of the trace in a copy. Starvation shows only on long copies.")] = 2
    reservation: Annotated[
        Literal["selected", "head"],
        setting("Reserve for the selected job (paper), or for the head of the queue (code)."),
    ] = "selected"
    keep: Annotated[bool, setting("Keep a reservation until its job starts, or select again each time.")] = True
    levels: Annotated[
        int, _within("levels"), setting("Levels of the agent. 1: no reservation and no backfilling (Decima-PG).")
    ] = 2
    window: Annotated[int, _within("window"), setting("Largest number of candidates of a decision.")] = 50
    longest: Annotated[
        int | None,
        _within("longest"),
        setting("Walltime that times are divided by [s]: the longest of the training."),
    ] = None
    validation_jobs: Annotated[
        Positive | None, setting("Compare snapshots on so many jobs only: all; with paper_size 300.")
    ] = None
    name: Annotated[str | None, setting("Of the checkpoint: dras-pg, dras-dql or decima-pg.")] = None
    device: Annotated[str, setting("Device of PyTorch: cpu, cuda, or auto (cuda if available).")] = "auto"
    threads: Threads = 1
    nodes: Annotated[Positive | None, setting("Number of nodes, instead of what the header of the trace says.")] = None

    def __post_init__(self) -> None:
        check_settings("train dras", self)
        if self.name is not None:
            check_name(self.name)
        for spec in self.against or ():
            make_policy(spec)

    @property
    def factors(self) -> tuple[float, float]:
        """The least and the largest factor on the load.

        Raises
        ------
        SpecError : these are not two numbers, or they are out of range.
        """
        try:
            least, most = (real_number(part) for part in self.loads.split("-"))
        except ValueError:
            raise SpecError(f"loads: expected two numbers such as 0.9-1.25, got {self.loads!r}") from None
        if not 0 < least <= most < 100:
            raise SpecError(f"loads: expected 0 < A <= B < 100, got {self.loads!r}")
        return least, most


SETTINGS = [each for kind in (TrainingSettings, Plan) for each in fields_of(kind) if each.stated("description")]
"""The fields of both, all of which a file of settings may state."""


def asked(given: Mapping[str, Any]) -> tuple[dict[str, Any], Plan]:
    """What is stated of :class:`TrainingSettings`, with the agent as a whole, and the plan.

    Raises
    ------
    SpecError : a setting is out of range, or is stated twice.
    """
    own = {field.name for field in fields_of(TrainingSettings)}
    plan = Plan(**{name: value for name, value in given.items() if name not in own})
    settings = {name: value for name, value in given.items() if name in own}
    settings["agent"] = agent_spec(given.get("agent", TrainingSettings().agent), plan.learning_rate, plan.discount)
    if settings.get("paper_size"):
        settings.setdefault("hidden", (4000, 1000))
    return settings, plan


def agent_spec(text: str, learning_rate: float | None, discount: float | None) -> str:
    """The specification of an agent with what has settings of its own.

    Parameters
    ----------
    text : of ``--agent``, without them.
    learning_rate, discount : of the settings; None: as is usual for the agent.

    Raises
    ------
    SpecError : the text states what a setting is for, or something by a name that is no longer used.
    """
    name, given = registry.parse(text)
    elsewhere = {"learning_rate": "learning_rate", "discount": "discount", "gamma": "discount"}
    for key in given:
        if key in elsewhere:
            raise SpecError(f"--agent {text}: {key} is stated by {elsewhere[key]} in --settings")
        if key == "epochs":
            raise SpecError(f"--agent {text}: epochs is now passes")
    stated = {"learning_rate": learning_rate, "discount": discount}
    words = [f"{key}={value!r}" for key, value in stated.items() if value is not None]
    words += [text.partition(":")[2]] if given else []
    return f"{name}:{','.join(words)}" if words else name


def policy_of(settings: TrainingSettings) -> str:
    """The policy that takes the checkpoint of a training."""
    if settings.scheme.levels == 1:
        return "decima-pg"
    return "dras-dql" if settings.agent.partition(":")[0] == "dql" else "dras-pg"


def command_of(trace: Path, given: Mapping[str, Any], options: Collection[str]) -> str:
    """The command that asks for what is given: some settings as options, others in ``--settings``."""
    words = ["transom", "train", "dras", trace.name]
    for name in options:
        words += [option_of(name), str(given[name])] if name in given else []
    more = {field.name: given[field.name] for field in SETTINGS if field.name in given and field.name not in options}
    words += ["--settings", settings_text(more)] if more else []
    return shlex.join([*words, "--out", "DIR"])


def validation_workloads(parts: Split, plan: Plan) -> list[Workload]:
    """What snapshots are compared on."""
    return compared(parts.validation, plan.factors, plan.laps)


def prepared(workload: Workload, stated: Mapping[str, Any], plan: Plan, command: str) -> tuple[Training, Stated, Split]:
    """A training on a trace that has not begun, what its card says of it, and the parts of the trace.

    Parameters
    ----------
    workload : the trace.
    stated, plan : of :func:`asked`.
    command : for the card.

    Raises
    ------
    SpecError, ModelError : a setting is out of range, or the trace has no such months.
    """
    parts = split(workload, plan.months, plan.validation, plan.overlap, plan.epoch)
    scheme = AgentConfig(
        levels=plan.levels,
        window=plan.window,
        head=int(plan.reservation == "head"),
        keep=int(plan.keep),
        longest=plan.longest or int(parts.training.jobs.walltime.max()),
    )
    settings = TrainingSettings(**stated, scheme=scheme)
    if plan.phases:
        sets = phased(parts.training, plan.phases, settings.seed, plan.phase_jobs)
    else:
        sets = copies(parts.training, plan.factors, settings.seed, plan.laps)
    judged = validation_workloads(parts, plan)
    if plan.validation_jobs or settings.paper_size:
        kept = judged[: 1 if settings.paper_size else None]
        judged = [cut(each, 0, min(len(each), plan.validation_jobs or 300)) for each in kept]
    copied = how_copied(plan.laps, plan.loads)
    source = f"phases {plan.phases}" if plan.phases else copied
    card = Stated(
        plan.name or policy_of(settings),
        f"{parts.training.name}: {source}, {lengths(sets)}",
        validated_on(parts, copied, judged),
        command,
    )
    return Training(sets, judged, settings, chosen_device(plan.device)), card, parts
