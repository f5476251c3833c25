"""Dask clusters: workers on this machine, a cluster that runs already, or jobs of a batch system."""

from __future__ import annotations

import logging
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from transom import registry
from transom._system.settings import Above, Natural, Positive
from transom._system.signals import sigint_masked_for_pools
from transom.bench.run.dask_logs import overheard
from transom.bench.run.dask_security import Certificates, is_loopback, security_of
from transom.bench.run.engine import EngineError
from transom.errors import DocumentError, SpecError
from transom.io.toml_files import parse_toml, read_text

if TYPE_CHECKING:
    from distributed import Client

SYSTEMS = ("slurm", "pbs", "sge", "lsf")
DEATHS = 3
"""How often a worker of a cluster of ours has to die of a call before it is not made again."""
CONNECT = 20.0
"""How long a scheduler may take to answer [s]."""
PATIENCE = 300.0
"""How long there may be no worker: one that is started again imports for minutes on a busy machine [s]."""

SETTINGS = {
    "distributed.scheduler.allowed-failures": DEATHS - 1,
    # A worker that died is started again, and is not given up where that takes a busy machine long.
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    "distributed.worker.profile.enabled": False,
    "distributed.admin.large-graph-warning-threshold": "1GiB",
}

_NO_DASHBOARD = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}


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
    patience: Above = 86_400.0


@dataclass(frozen=True)
class Cluster:
    """Where calls are sent (:func:`parse_cluster`).

    Parameters
    ----------
    kind : ``dask`` or a batch system.
    workers : how many calls it can do at once, as far as that is known before it is opened.
    address : of the scheduler of a cluster that runs already.
    jobs : what is asked of a batch system.
    certificates : for TLS; without them those of Dask's own configuration, or temporary ones for a batch system.
    insecure : accept that everything travels unprotected to other machines.
    patience : how long it may be without any worker before it counts as lost [s].
    """

    kind: str
    workers: int = 1
    address: str | None = None
    jobs: Jobs | None = None
    certificates: Certificates | None = None
    insecure: bool = False
    patience: float = PATIENCE

    @contextmanager
    def open(self) -> Iterator[Client]:
        """Start or reach it; what we started ends with the block, what runs already is left as it is.

        Raises
        ------
        EngineError : it cannot be reached or started.
        SpecError : a certificate cannot be read, or a package is missing.
        """
        import dask
        from distributed import Client

        where = self.address or ("this machine" if self.jobs is None else self.kind)
        with ExitStack() as stack:
            heard = stack.enter_context(overheard())
            # They count whenever a worker is started again, so they stand until the end.
            stack.enter_context(dask.config.set(SETTINGS))
            try:
                if self.address is not None:
                    place, security = self.address, security_of(self.certificates)
                else:
                    place, security = self.started(), None  # the client takes those of the cluster
                    stack.callback(_close, place)
                with sigint_masked_for_pools():
                    client = stack.enter_context(
                        Client(place, security=security, set_as_default=False, timeout=CONNECT)
                    )
                if self.jobs is not None:
                    self._hand_in(place, self.jobs, heard.last)
            except (OSError, RuntimeError) as error:
                said = heard.last()
                words = f"Dask on {where}: {error or type(error).__name__}" + (f" ({said})" if said else "")
                raise EngineError(" ".join(words.split())) from error
            yield client

    def started(self) -> Any:
        """A cluster of Dask with its scheduler; of a batch system no job is handed in yet."""
        if self.jobs is not None:
            return self._of_jobs(self.jobs)
        from distributed import LocalCluster

        with sigint_masked_for_pools():
            return LocalCluster(
                n_workers=self.workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                scheduler_kwargs=_NO_DASHBOARD,
                memory_limit=0,  # runs are watched one by one
                security=security_of(self.certificates, everyone=True),
                silence_logs=logging.CRITICAL,
            )

    def _of_jobs(self, jobs: Jobs) -> Any:
        extra = ["--no-dashboard", "--nthreads", "1"]
        if jobs.walltime is not None and (leaves := lifetime(jobs.walltime, self.kind)) is not None:
            extra += ["--lifetime", f"{leaves}s"]
        given = {
            "queue": jobs.queue,
            "project" if self.kind in ("sge", "lsf") else "account": jobs.account,
            "walltime": jobs.walltime,
            "interface": jobs.interface,
            "python": jobs.python,
            "log_directory": jobs.log_folder,
            "local_directory": jobs.local_folder,
            "shared_temp_directory": jobs.shared_folder or str(Path.home()),
        }
        return getattr(dask_jobqueue(), f"{self.kind.upper()}Cluster")(
            cores=jobs.cores,
            memory=jobs.memory,
            processes=jobs.cores // jobs.threads,
            job_name="transom",
            job_script_prologue=list(jobs.prologue),
            job_extra_directives=list(jobs.directives),
            worker_extra_args=extra,
            scheduler_options=_NO_DASHBOARD,
            security=self._protection(),
            silence_logs=None,
            **{name: value for name, value in given.items() if value is not None},
        )

    def _protection(self) -> Any:
        """Certificates of a batch cluster: those given, temporary ones, or none if that is accepted."""
        if (security := security_of(self.certificates, everyone=True)) is not None or self.insecure:
            return security
        from distributed.security import Security

        try:
            return Security.temporary()
        except ImportError:
            raise SpecError(
                f"{self.kind}: code and results would travel unprotected between the nodes; give --tls-ca, --tls-cert "
                "and --tls-key, install 'transom[distributed]' with all that it brings for temporary certificates, or "
                "accept it with --insecure"
            ) from None

    def _hand_in(self, cluster: Any, jobs: Jobs, error: Any) -> None:
        command = cluster.job_cls.submit_command.split()[0]
        if shutil.which(command) is None:
            raise EngineError(f"{self.kind}: {command} is not on the path of this machine")
        if jobs.maximum is not None:
            cluster.adapt(minimum_jobs=jobs.minimum, maximum_jobs=jobs.maximum)
            return
        wanted, taken = jobs.jobs or 1, 0
        cluster.scale(jobs=wanted)
        while taken < wanted and not error():
            sleep(0.1)
            taken = sum(getattr(job, "job_id", None) is not None for job in list(cluster.workers.values()))
        if not taken:
            raise EngineError(f"{self.kind}: no job can be handed in: {error()}")


def parse_cluster(on: str, workers: int, certificates: Certificates | None = None, insecure: bool = False) -> Cluster:
    """The cluster that ``--on`` names.

    Parameters
    ----------
    on : ``dask``, ``dask:ADDRESS``, or ``slurm:``, ``pbs:``, ``sge:``, ``lsf:`` with either the name of a TOML file or
        ``key=value,...`` after it.
    workers : of ``dask`` alone.
    certificates, insecure : of TLS, or that none is wanted.

    Raises
    ------
    SpecError : there is no such cluster, or a parameter is unknown, missing or does not fit.
    DocumentError : the file cannot be read or breaks a condition.
    """
    kind, _, rest = on.partition(":")
    if kind not in ("dask", *SYSTEMS):
        raise registry.unknown("engine", on, ["local", "dask", "dask:tcp://HOST:PORT", "slurm:FILE.toml", *SYSTEMS[1:]])
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise SpecError(f"--on {kind} needs Dask: pip install 'transom[distributed]'") from None
    if on == "dask":
        if insecure:
            raise SpecError("--on dask stays on this machine; --insecure is for others")
        return Cluster(kind, workers, certificates=certificates)
    if kind == "dask":
        _check_address(rest, certificates, insecure)
        return Cluster(kind, 1, rest, None, certificates, insecure)
    jobs = _jobs(kind, rest, on)
    at_once = (jobs.maximum or jobs.jobs or 1) * (jobs.cores // jobs.threads)
    return Cluster(kind, at_once, None, jobs, certificates, insecure, jobs.patience)


def _check_address(address: str, certificates: Certificates | None, insecure: bool) -> None:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port or parts.scheme not in ("tcp", "tls") or parts.path:
        raise SpecError(f"{address!r} is no address of a scheduler; expected tcp://HOST:PORT or tls://HOST:PORT")
    if parts.scheme == "tls":
        security = security_of(certificates)
        if security is None or not (security.tls_ca_file and security.tls_client_cert):
            raise SpecError(f"{address}: TLS needs --tls-ca, --tls-cert and --tls-key")
    elif certificates is not None:
        raise SpecError(f"{address}: certificates are for tls://HOST:PORT")
    elif not insecure and not is_loopback(host):
        raise SpecError(
            f"{address}: code and results would travel unprotected, and whoever reaches the scheduler can run code; "
            "use tls:// with --tls-ca, --tls-cert and --tls-key, or accept it with --insecure"
        )


def _jobs(system: str, rest: str, on: str) -> Jobs:
    """The jobs that a file or a list of keys asks for."""
    if from_file := rest.endswith(".toml"):
        settings, where = parse_toml(read_text(rest), rest), rest
    else:
        _, text = registry.parse(on)
        settings, where = {**text, **{key: (text[key],) for key in ("prologue", "directives") if key in text}}, on
    try:
        jobs = msgspec.convert(settings, Jobs, strict=from_file)
    except msgspec.ValidationError as error:
        kind = DocumentError if from_file else SpecError
        raise kind(f"{where}: {str(error)[0].lower()}{str(error)[1:]}") from None
    if jobs.jobs is not None and (jobs.maximum is not None or jobs.minimum):
        raise SpecError(f"{system}: either jobs or minimum and maximum")
    if jobs.minimum and (jobs.maximum is None or jobs.minimum > jobs.maximum):
        raise SpecError(f"{system}: minimum must be <= maximum, got {jobs.minimum} and {jobs.maximum}")
    if jobs.threads > jobs.cores:
        raise SpecError(f"{system}: a run of {jobs.threads} threads does not fit on {jobs.cores} cores")
    return jobs


def dask_jobqueue() -> Any:
    """The library of that name, which replaces what Ctrl-C and an end from outside do when it is imported.

    Raises
    ------
    SpecError : it is missing.
    """
    kept = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        import dask_jobqueue as library
    except ImportError:
        raise SpecError("batch systems need dask-jobqueue: pip install 'transom[distributed]'") from None
    finally:
        for each, handler in kept.items():
            signal.signal(each, handler)
    return library


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
        parts = [*parts, 0, 0][:3]
    elif system == "lsf" or (system == "slurm" and len(parts) == 1):  # [HH:]MM
        parts = [*parts, 0]
    for part, unit in zip(reversed(parts), (1, 60, 3600), strict=False):
        seconds += part * unit
    return max(seconds - max(60, seconds // 20), seconds // 2)


def _close(cluster: Any) -> None:
    """Cancel the jobs and stop the scheduler."""
    # Of jobs that were never handed in dask-jobqueue says by an assertion that there is nothing to cancel.
    with suppress(AssertionError):
        cluster.close()
