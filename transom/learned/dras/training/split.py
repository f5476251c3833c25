"""Which part of a trace an agent is trained on, and on which other part its snapshots are compared."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from transom._system.wording import digits
from transom.errors import ModelError, SpecError
from transom.generate.workload.jobsets import by_months, count_months
from transom.traces import Workload, cut

_TRAINED = 0.75  # share of the jobs, where no months are stated


class Split(NamedTuple):
    """The two parts of a trace, and in words what they have in common; empty for nothing."""

    training: Workload
    validation: Workload
    shared: str


def split(workload: Workload, months: str | None, validation: str | None, overlap: bool, epoch: int = 0) -> Split:
    """Take a trace apart; the two parts have no job in common unless that is asked for.

    Without months, the first three quarters of the jobs are for training and the others for validation. Months of the
    training without those of the validation leave the month that follows for it; months of the validation without
    those of the training all before them. With ``overlap`` what is not stated is all of the other part.

    Parameters
    ----------
    workload : the trace.
    months, validation : ``A`` or ``A-B``, counted from 1 (:func:`~transom.generate.workload.jobsets.by_months`); None:
        not stated.
    overlap : whether months may be in both parts.
    epoch : second 0 of the trace's clock in Unix time [s].

    Raises
    ------
    SpecError : a text is none of months, the parts have months in common, or nothing is left for one of them.
    ModelError : there are no such months.
    """
    trained, compared = _range("--months", months), _range("--validation", validation)
    if trained is None and compared is None:
        return _whole(workload) if overlap else _by_jobs(workload)
    if compared is None:
        assert trained is not None
        compared = trained if overlap else (trained[1] + 1, trained[1] + 1)
    elif trained is None:
        trained = (1, count_months(workload, epoch)) if overlap else (1, compared[0] - 1)
        if trained[1] < 1:
            raise SpecError(f"--validation {validation}: no month is left before it to train on; state --months")
    first, last = max(trained[0], compared[0]), min(trained[1], compared[1])
    shared = "" if first > last else f"month{'s' if last > first else ''} {_months(first, last)}"
    if shared and not overlap:
        raise SpecError(
            f"--validation {validation} would compare snapshots on {shared} of the training, --months {months}; "
            "overlap in --settings allows it"
        )
    training = by_months(workload, *trained, epoch)
    try:
        return Split(training, by_months(workload, *compared, epoch), shared)
    except ModelError as error:
        if validation is not None:
            raise
        raise SpecError(f"--months {months}: {error}, to compare snapshots on; state --validation or overlap") from None


def _whole(workload: Workload) -> Split:
    return Split(workload, workload, "all jobs")


def _by_jobs(workload: Workload) -> Split:
    number = len(workload)
    kept = int(_TRAINED * number)
    if not 0 < kept < number:
        raise SpecError(f"{workload.name}: {number} jobs are too few to train and to compare snapshots; take overlap")
    names = f"{workload.name}-jobs-1-{kept}", f"{workload.name}-jobs-{kept + 1}-{number}"
    parts = cut(workload, 0, kept), cut(workload, kept)
    training, validation = (replace(part, name=name) for part, name in zip(parts, names, strict=True))
    return Split(training, validation, "")


def _range(option: str, text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, dash, last = text.partition("-")
    if not digits(first) or (dash and not digits(last)):
        raise SpecError(f"{option}: expected months such as 1-2, got {text!r}")
    return int(first), int(last or first)


def _months(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
