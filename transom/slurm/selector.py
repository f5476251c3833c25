"""Which jobs may be touched, as stated on the command line: ``user=alice,partition=main``."""

from __future__ import annotations

from dataclasses import dataclass

from transom.errors import SpecError
from transom.traces.records.slurm_text.jobs import SlurmJob

_KEYS = ("user", "partition", "job")


@dataclass(frozen=True, slots=True)
class Selector:
    """Jobs that fulfil all terms of one of the alternatives.

    Parameters
    ----------
    texts : an alternative each: ``KEY=VALUE,...`` with ``user``, ``partition`` and ``job``, or ``all``.

    Raises
    ------
    SpecError : there is none, or one is no such text.
    """

    texts: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.texts:
            raise SpecError("--select is needed: which jobs may be touched, such as user=alice or partition=main")
        for text in self.texts:
            for term in () if text == "all" else text.split(","):
                key, is_, value = term.partition("=")
                if key == "user" and is_ and not value:
                    raise SpecError(f"--select {text!r}: names no user; cron and services set no USER, $(id -un) does")
                if key not in _KEYS or not is_ or not value:
                    raise SpecError(f"--select {text!r}: expected all, or {', '.join(f'{k}=...' for k in _KEYS)}")

    def takes_hold(self, job: SlurmJob, partition: str, user: int) -> bool:
        """Whether a hold hands a job over: only a user's own, as other users may hold theirs for reasons of their own.

        Parameters
        ----------
        partition : whose jobs are driven.
        user : whose run it is, by number.
        """
        return job.uid == user and job.partition == partition and self.takes(job)

    def takes(self, job: SlurmJob) -> bool:
        """Whether a job is selected."""
        facts = {"user": job.user, "partition": job.partition, "job": job.name}
        return any(
            text == "all" or all(facts[key] == value for key, _, value in (t.partition("=") for t in text.split(",")))
            for text in self.texts
        )
