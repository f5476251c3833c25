"""Dask clusters: a local one that is started here, or an existing one."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from transom._system.signals import sigint_masked_for_pools
from transom.bench.run.dask_logs import Overheard, overheard
from transom.bench.run.dask_security import Certificates, is_loopback, security_of
from transom.bench.run.engine import EngineError
from transom.errors import SpecError

if TYPE_CHECKING:
    from distributed import Client

# Of every cluster that is ours: what a worker has died of is sent again by us, who count.
OURS = {"distributed.scheduler.allowed-failures": 0}
# Of workers on this machine. One that died is started again, and is not given up where that takes a busy machine long.
HERE = {"distributed.deploy.lost-worker-timeout": "10 minutes", "distributed.worker.profile.enabled": False}
ALWAYS = {"distributed.admin.large-graph-warning-threshold": "1GiB"}

CONNECT = 20.0  # how long a scheduler may take to answer [s]
PATIENCE = 300.0  # how long there may be no worker: one that is started again imports for minutes on a busy machine [s]


class Cluster(Protocol):
    """Where a :class:`~transom.bench.run.dask_engine.DaskEngine` sends its runs."""

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
    patience: float = PATIENCE

    @contextmanager
    def open(self) -> Iterator[Client]:
        """Start the processes; they end with the block."""
        import dask
        from distributed import Client, LocalCluster

        with ExitStack() as stack:
            heard = stack.enter_context(overheard())
            # The settings count whenever a worker is started again, so they stand until the end.
            stack.enter_context(dask.config.set({**ALWAYS, **OURS, **HERE}))
            with reaching("this machine", heard), sigint_masked_for_pools():
                cluster = stack.enter_context(
                    LocalCluster(
                        n_workers=self.workers,
                        threads_per_worker=1,
                        processes=True,
                        host="127.0.0.1",
                        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                        memory_limit=0,  # runs are watched one by one
                        security=security_of(self.certificates, everyone=True),
                        silence_logs=logging.CRITICAL,
                    )
                )
                client = stack.enter_context(Client(cluster, set_as_default=False, timeout=CONNECT))
            yield client


@dataclass(frozen=True)
class RunningCluster:
    """An existing cluster, by the address of its scheduler.

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
    patience: float = PATIENCE
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
            security = security_of(self.certificates)
            if security is None or not (security.tls_ca_file and security.tls_client_cert):
                raise SpecError(f"{self.address}: TLS needs --tls-ca, --tls-cert and --tls-key")
        elif self.certificates is not None:
            raise SpecError(f"{self.address}: certificates are for tls://HOST:PORT")
        elif not self.insecure and not is_loopback(host):
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
            stack.enter_context(dask.config.set(ALWAYS))
            security = security_of(self.certificates)
            with reaching(self.address, heard):
                client = Client(self.address, set_as_default=False, timeout=CONNECT, security=security)
            yield stack.enter_context(client)


@contextmanager
def reaching(where: str, heard: Overheard) -> Iterator[None]:
    """Turn what Dask raises when a cluster cannot be reached or started into one clear line."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        said = heard.last()
        words = f"Dask on {where}: {error or type(error).__name__}" + (f" ({said})" if said else "")
        raise EngineError(" ".join(words.split())) from error
