"""When jobs started, by Slurm's names of them."""

from __future__ import annotations

from collections.abc import Sequence

from transom.errors import SlurmError
from transom.slurm.state import ask_jobs
from transom.traces.records.importing import ImportRules
from transom.traces.records.slurm import read_slurm


def starts_of_slurm() -> dict[str, int]:
    """The starts of the jobs that Slurm still remembers [s since 1970].

    Raises
    ------
    SlurmError : there is no Slurm, or it does not answer.
    """
    return {job.name: job.start for job in ask_jobs("all") if not job.waits and job.start > 0}


def starts_of_records(paths: Sequence[str], timezone: str | None = None) -> dict[str, int]:
    """The starts that records state [s since 1970].

    Parameters
    ----------
    timezone : name of the zone of times that state none; None is UTC.

    Raises
    ------
    TraceError : a file cannot be read.
    SlurmError : they state no starts.
    SpecError : there is no such zone.
    """
    jobs = read_slurm(paths, ImportRules(timezone=timezone)).jobs
    if not {"start", "label"} <= set(jobs.columns):
        raise SlurmError(f"{', '.join(paths)}: state no starts of jobs")
    return {name: at for name, at in jobs.select("label", "start").iter_rows() if at >= 0}
