"""The Dask cluster that runs are sent to: our own on this machine, one that runs already, or jobs of a batch system."""

from __future__ import annotations

import ipaddress
import logging
import shutil
import socket
import tomllib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any, Protocol
from urllib.parse import urlsplit

import msgspec

from transom import registry
from transom.bench.dask_logs import Overheard, overheard
from transom.bench.engine import EngineError
from transom.errors import DocumentError, SpecError

if TYPE_CHECKING:
    from distributed import Client
    from distributed.security import Security

# Of every cluster that is ours. A run has a process of its own inside of a worker, which a daemon may not have. Who
# killed a worker is found out by the engine, not by running what was there again and again.
_OURS = {"distributed.worker.daemon": False, "distributed.scheduler.allowed-failures": 0}
_ALWAYS = {"distributed.admin.large-graph-warning-threshold": "1GiB"}

_CONNECT = 20.0  # how long a scheduler may take to answer [s]


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files in PEM format with which both sides of a TLS connection show who they are.

    Parameters
    ----------
    ca : of the authority that signed all certificates of the cluster.
    cert, key : our own certificate and its key; of a cluster that we start, those of its scheduler and workers too.
    """

    ca: Path
    cert: Path
    key: Path


class Cluster(Protocol):
    """Where a :class:`~transom.bench.dask_engine.DaskEngine` sends its runs."""

    @property
    def workers(self) -> int:
        """How many runs it can do at once, as far as that is known before it is opened."""

    @property
    def patience(self) -> float:
        """How long it may be without any worker before it counts as lost [s]."""

    def open(self) -> AbstractContextManager[Client]:
        """Start or reach it; what we started ends with the block, what runs already is left as it is.

        Raises
        ------
        EngineError : it cannot be reached or started.
        """


@dataclass(frozen=True)
class OwnCluster:
    """Worker processes on this machine, bound to the loopback interface, without a dashboard.

    Parameters
    ----------
    workers : how many processes, each of which does one run at a time.
    certificates : for TLS, where others who use this machine are not trusted.
    patience : how long it may be without any worker [s].
    """

    workers: int
    certificates: Certificates | None = None
    patience: float = 60.0

    @contextmanager
    def open(self) -> Iterator[Client]:
        """Start the processes; they end with the block."""
        import dask
        from distributed import Client, LocalCluster

        with ExitStack() as stack:
            heard = stack.enter_context(overheard())
            # The settings count whenever a worker is started again, so they stand until the end.
            stack.enter_context(dask.config.set({**_ALWAYS, **_OURS, "distributed.worker.profile.enabled": False}))
            with _reaching("this machine", heard):
                cluster = stack.enter_context(
                    LocalCluster(
                        n_workers=self.workers,
                        threads_per_worker=1,
                        processes=True,
                        host="127.0.0.1",
                        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                        memory_limit=0,  # runs are watched one by one
                        security=_security(self.certificates, everyone=True),
                        silence_logs=logging.CRITICAL,
                    )
                )
                client = stack.enter_context(Client(cluster, set_as_default=False, timeout=_CONNECT))
            yield client


@dataclass(frozen=True)
class RunningCluster:
    """A cluster that others started, by the address of its scheduler.

    Parameters
    ----------
    address : ``tcp://HOST:PORT`` or ``tls://HOST:PORT``.
    certificates : for ``tls``; without them those of Dask's own configuration.
    insecure : accept that everything travels unprotected to another machine.
    patience : how long it may be without any worker [s].

    Raises
    ------
    SpecError : the address is none, TLS lacks certificates, or the way is unprotected and nobody said that this
        is wanted.
    """

    address: str
    certificates: Certificates | None = None
    insecure: bool = False
    patience: float = 120.0
    workers: int = 1

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.address)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if parts.scheme not in ("tcp", "tls") or not host or not port or parts.path:
            raise SpecError(
                f"{self.address!r} is no address of a scheduler; expected tcp://HOST:PORT or tls://HOST:PORT"
            )
        if parts.scheme == "tls":
            security = _security(self.certificates)
            if security is None or not (security.tls_ca_file and security.tls_client_cert):
                raise SpecError(f"{self.address}: TLS needs --tls-ca, --tls-cert and --tls-key")
        elif self.certificates is not None:
            raise SpecError(f"{self.address}: certificates are for tls://HOST:PORT")
        elif not self.insecure and not _is_loopback(host):
            raise SpecError(
                f"{self.address}: code and results would travel unprotected, and whoever reaches the scheduler can "
                "run code; use tls:// with --tls-ca, --tls-cert and --tls-key, or accept it with --insecure"
            )

    @contextmanager
    def open(self) -> Iterator[Client]:
        """Connect to it."""
        import dask
        from distributed import Client

        with ExitStack() as stack:
            heard = stack.enter_context(overheard())
            stack.enter_context(dask.config.set(_ALWAYS))
            security = _security(self.certificates)
            with _reaching(self.address, heard):
                client = Client(self.address, set_as_default=False, timeout=_CONNECT, security=security)
            yield stack.enter_context(client)


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
            stack.enter_context(dask.config.set({**_ALWAYS, **_OURS}))
            with _reaching(self.system, heard):
                cluster = self.make()
                stack.callback(_close, cluster)
                command = cluster.job_cls.submit_command.split()[0]
                if shutil.which(command) is None:
                    raise EngineError(f"{self.system}: {command} is not on the path of this machine")
                client = stack.enter_context(Client(cluster, set_as_default=False, timeout=_CONNECT))
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
        try:
            import dask_jobqueue
        except ImportError:
            raise SpecError("batch systems need dask-jobqueue: pip install 'transom[distributed]'") from None

        jobs = self.jobs
        extra = ["--no-dashboard", "--nthreads", "1"]
        if jobs.walltime is not None and (lifetime := _lifetime(jobs.walltime, self.system)) is not None:
            extra += ["--lifetime", f"{lifetime}s"]
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
            job_script_prologue=["export DASK_DISTRIBUTED__WORKER__DAEMON=False", *jobs.prologue],
            job_extra_directives=list(jobs.directives),
            worker_extra_args=extra,
            scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            security=self._protection(),
            silence_logs=None,
            **{name: value for name, value in given.items() if value is not None},
        )

    def _protection(self) -> Any:
        """Certificates of the cluster: those given, temporary ones, or none if that is accepted."""
        if (security := _security(self.certificates, everyone=True)) is not None:
            return security
        if self.insecure:
            return None
        from distributed.security import Security

        try:
            return Security.temporary()
        except ImportError:
            raise SpecError(
                f"{self.system}: code and results would travel unprotected between the nodes; give --tls-ca, "
                "--tls-cert and --tls-key, install cryptography for temporary certificates, or accept it with "
                "--insecure"
            ) from None


def _handed_in(cluster: Any) -> int:
    """How many jobs the batch system has taken."""
    return sum(getattr(job, "job_id", None) is not None for job in list(cluster.workers.values()))


def _close(cluster: Any) -> None:
    """Cancel the jobs and stop the scheduler."""
    # Of jobs that were never handed in dask-jobqueue says by an assertion that there is nothing to cancel.
    with suppress(AssertionError):
        cluster.close()


SYSTEMS = ("slurm", "pbs", "sge", "lsf")


def parse_cluster(
    on: str, workers: int, certificates: Certificates | None = None, insecure: bool = False
) -> OwnCluster | RunningCluster | BatchCluster:
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
        return OwnCluster(workers, certificates)
    if kind == "dask":
        return RunningCluster(rest, certificates, insecure)
    if rest.endswith(".toml"):
        try:
            settings: Any = tomllib.loads(Path(rest).read_text(encoding="utf-8"))
        except OSError as error:
            raise DocumentError(f"{rest}: cannot be read: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise DocumentError(f"{rest}: not TOML: {error}") from None
        return BatchCluster(kind, _jobs(settings, rest, strict=True), certificates, insecure)
    _, text = registry.parse(on)
    lists = {name: (text[name],) for name in ("prologue", "directives") if name in text}
    return BatchCluster(kind, _jobs({**text, **lists}, on, strict=False), certificates, insecure)


def _jobs(settings: Any, where: str, strict: bool) -> Jobs:
    try:
        return msgspec.convert(settings, Jobs, strict=strict)
    except msgspec.ValidationError as error:
        kind = DocumentError if strict else SpecError
        raise kind(f"{where}: {str(error)[0].lower()}{str(error)[1:]}") from None


def _security(certificates: Certificates | None, everyone: bool = False) -> Security | None:
    """Dask's form of certificates; without any, what Dask's own configuration says, and None if that is nothing.

    Raises
    ------
    SpecError : a file cannot be read.
    """
    from distributed.security import Security

    if certificates is None:
        configured = Security()
        return configured if configured.tls_ca_file else None
    for path in (certificates.ca, certificates.cert, certificates.key):
        try:
            path.open("rb").close()
        except OSError as error:
            raise SpecError(f"{path}: cannot be read: {error.strerror}") from None
    roles = ("client", "scheduler", "worker") if everyone else ("client",)
    files = {f"tls_{role}_cert": str(certificates.cert.absolute()) for role in roles}
    files |= {f"tls_{role}_key": str(certificates.key.absolute()) for role in roles}
    return Security(require_encryption=True, tls_ca_file=str(certificates.ca.absolute()), **files)


def _is_loopback(host: str) -> bool:
    """Whether a name or address means this machine alone, wherever it is asked."""
    try:
        found = {each[4][0] for each in socket.getaddrinfo(host, None)}
    except OSError:
        raise SpecError(f"{host}: no such host") from None
    return all(ipaddress.ip_address(str(each).partition("%")[0]).is_loopback for each in found)


def _lifetime(walltime: str, system: str) -> int | None:
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


@contextmanager
def _reaching(where: str, heard: Overheard) -> Iterator[None]:
    """Turn what Dask raises when a cluster cannot be reached or started into one clear line."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        said = heard.last()
        words = f"Dask on {where}: {error or type(error).__name__}" + (f" ({said})" if said else "")
        raise EngineError(" ".join(words.split())) from error
