"""A Dask cluster whose workers are jobs of a batch system."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from transom.bench.run.dask_clusters import ALWAYS, CONNECT, OURS, reaching
from transom.bench.run.dask_logs import overheard
from transom.bench.run.dask_security import Certificates, security_of
from transom.bench.run.engine import EngineError
from transom.errors import SpecError

if TYPE_CHECKING:
    from distributed import Client

Positive = Annotated[int, msgspec.Meta(ge=1)]
Natural = Annotated[int, msgspec.Meta(ge=0)]


class Jobs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The jobs of a batch system that become Dask workers.

    Parameters
    ----------
    cores : of one job.
    memory : of one job, such as ``32GB``.
    queue : partition or queue.
    account : account or project that pays.
    walltime : of one job, as the batch system writes it; needs to be longer than the longest run.
    jobs : how many jobs; 1 by default.
    minimum, maximum : instead of ``jobs``: so many as there is work for, within these.
    threads : cores of each run; ``cores // threads`` runs go on side by side in a job.
    interface : network interface of scheduler and workers, such as ``ib0``.
    prologue : lines of the job's script before the worker starts, such as ``module load python``.
    directives : further options of the batch system, each as it would stand in the script.
    python : the interpreter on the nodes; this one by default.
    log_folder, local_folder, shared_folder : for the logs of the jobs, scratch files of workers, and temporary
        certificates.
    patience : how long to wait while there is no worker, which is how long jobs may wait in the queue [s].
    """

    cores: Positive
    memory: str
    queue: str | None = None
    account: str | None = None
    walltime: str | None = None
    jobs: Positive | None = None
    minimum: Natural = 0
    maximum: Positive | None = None
    threads: Positive = 1
    interface: str | None = None
    prologue: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()
    python: str | None = None
    log_folder: str | None = None
    local_folder: str | None = None
    shared_folder: str | None = None
    patience: Annotated[float, msgspec.Meta(gt=0)] = 86_400.0


@dataclass(frozen=True)
class BatchCluster:
    """Workers that are jobs of a batch system; their scheduler runs in this process.

    Parameters
    ----------
    system : ``slurm``, ``pbs``, ``sge`` or ``lsf``.
    jobs : what is asked of it.
    certificates : for TLS; without them temporary ones are made.
    insecure : accept that everything travels unprotected between the nodes.

    Raises
    ------
    SpecError : the conditions of ``jobs`` contradict each other.
    """

    system: str
    jobs: Jobs
    certificates: Certificates | None = None
    insecure: bool = False

    def __post_init__(self) -> None:
        jobs = self.jobs
        if jobs.jobs is not None and (jobs.maximum is not None or jobs.minimum):
            raise SpecError(f"{self.system}: either jobs or minimum and maximum")
        if jobs.minimum and (jobs.maximum is None or jobs.minimum > jobs.maximum):
            raise SpecError(f"{self.system}: minimum must be <= maximum, got {jobs.minimum} and {jobs.maximum}")
        if jobs.threads > jobs.cores:
            raise SpecError(f"{self.system}: a run of {jobs.threads} threads does not fit on {jobs.cores} cores")

    @property
    def workers(self) -> int:
        """How many runs go on at once when all jobs run."""
        return (self.jobs.maximum or self.jobs.jobs or 1) * (self.jobs.cores // self.jobs.threads)

    @property
    def patience(self) -> float:
        """How long the jobs may wait in the queue [s]."""
        return self.jobs.patience

    @contextmanager
    def open(self) -> Iterator[Client]:
        """Hand the jobs in; they are cancelled with the end of the block."""
        import dask
        from distributed import Client

        with ExitStack() as stack:
            heard = stack.enter_context(overheard())
            stack.enter_context(dask.config.set({**ALWAYS, **OURS}))
            with reaching(self.system, heard):
                cluster = self.make()
                stack.callback(_close, cluster)
                command = cluster.job_cls.submit_command.split()[0]
                if shutil.which(command) is None:
                    raise EngineError(f"{self.system}: {command} is not on the path of this machine")
                client = stack.enter_context(Client(cluster, set_as_default=False, timeout=CONNECT))
                if self.jobs.maximum is not None:
                    cluster.adapt(minimum_jobs=self.jobs.minimum, maximum_jobs=self.jobs.maximum)
                else:
                    cluster.scale(jobs=self.jobs.jobs or 1)
                    while not (said := heard.last()) and _handed_in(cluster) < (self.jobs.jobs or 1):
                        sleep(0.1)
                    if said and not _handed_in(cluster):
                        raise EngineError(f"{self.system}: no job can be handed in: {said}")
            yield client

    def make(self) -> Any:
        """The cluster of dask-jobqueue; starts its scheduler, but hands no job in.

        Raises
        ------
        SpecError : dask-jobqueue is missing, or there is no protection and nobody said that this is wanted.
        """
        dask_jobqueue = _library()
        jobs = self.jobs
        extra = ["--no-dashboard", "--nthreads", "1"]
        if jobs.walltime is not None and (leaves := lifetime(jobs.walltime, self.system)) is not None:
            extra += ["--lifetime", f"{leaves}s"]
        given = {
            "queue": jobs.queue,
            "project" if self.system in ("sge", "lsf") else "account": jobs.account,
            "walltime": jobs.walltime,
            "interface": jobs.interface,
            "python": jobs.python,
            "log_directory": jobs.log_folder,
            "local_directory": jobs.local_folder,
            "shared_temp_directory": jobs.shared_folder or str(Path.home()),
        }
        return getattr(dask_jobqueue, f"{self.system.upper()}Cluster")(
            cores=jobs.cores,
            memory=jobs.memory,
            processes=jobs.cores // jobs.threads,
            job_name="transom",
            job_script_prologue=list(jobs.prologue),
            job_extra_directives=list(jobs.directives),
            worker_extra_args=extra,
            scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            security=self._protection(),
            silence_logs=None,
            **{name: value for name, value in given.items() if value is not None},
        )

    def _protection(self) -> Any:
        """Certificates of the cluster: those given, temporary ones, or none if that is accepted."""
        if (security := security_of(self.certificates, everyone=True)) is not None:
            return security
        if self.insecure:
            return None
        from distributed.security import Security

        try:
            return Security.temporary()
        except ImportError:
            raise SpecError(
                f"{self.system}: code and results would travel unprotected between the nodes; give --tls-ca, "
                "--tls-cert and --tls-key, install 'transom[distributed]' with all that it brings for temporary "
                "certificates, or accept it with --insecure"
            ) from None


def _library() -> Any:
    """The library dask-jobqueue, which replaces what Ctrl-C and an end from outside do when it is imported."""
    kept = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        import dask_jobqueue
    except ImportError:
        raise SpecError("batch systems need dask-jobqueue: pip install 'transom[distributed]'") from None
    finally:
        for each, handler in kept.items():
            if signal.getsignal(each) is not handler:
                signal.signal(each, handler)
    return dask_jobqueue


def _handed_in(cluster: Any) -> int:
    """How many jobs the batch system has taken."""
    return sum(getattr(job, "job_id", None) is not None for job in list(cluster.workers.values()))


def _close(cluster: Any) -> None:
    """Cancel the jobs and stop the scheduler."""
    # Of jobs that were never handed in dask-jobqueue says by an assertion that there is nothing to cancel.
    with suppress(AssertionError):
        cluster.close()


def lifetime(walltime: str, system: str) -> int | None:
    """When a worker leaves of its own accord, before its job is ended [s]; None if the walltime is not understood.

    What it does then goes to another worker and does not count as its death.
    """
    days, _, clock = walltime.rpartition("-")
    try:
        parts = [int(part) for part in clock.split(":")]
        seconds = int(days or 0) * 86_400
    except ValueError:
        return None
    if len(parts) > 3:
        return None
    if days:  # D-HH[:MM[:SS]]
        units = [3600, 60, 1]
    elif system == "lsf":  # [HH:]MM
        units = [3600, 60][-len(parts) :]
    elif system == "slurm":  # MM[:SS] or HH:MM:SS
        units = [3600, 60, 1] if len(parts) == 3 else [60, 1]
    else:  # [[HH:]MM:]SS
        units = [3600, 60, 1][-len(parts) :]
    seconds += sum(part * unit for part, unit in zip(parts, units, strict=False))
    return max(seconds - max(60, seconds // 20), seconds // 2)
