"""The option ``--on``: what carries runs out, and how what travels is protected."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from transom.bench.run.dask_cluster import Cluster
    from transom.bench.run.dask_security import Certificates
    from transom.bench.run.engine import Engine

On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="ENGINE",
        help="Where to run: local (worker processes), dask (a Dask cluster on this machine), "
        "dask:tcp://HOST:PORT or dask:tls://HOST:PORT (a running Dask cluster), "
        "slurm:FILE.toml or slurm:KEY=VALUE,... (jobs of a batch system; also pbs, sge, "
        "lsf). See docs/scale-out.md.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Number of runs in parallel. By default, as many as the cores allow, less one "
        "core where there are more than two.",
    ),
]


def chosen_engine(on: str, workers: int | None, threads: int, protection: Protection) -> Engine:
    """The engine that ``--on`` names.

    Parameters
    ----------
    on : what stands there.
    workers : how many runs go on side by side; None by the cores of this machine.
    threads : the most that a run uses.
    protection : of what travels to other machines.

    Raises
    ------
    SpecError : there is no such engine, or an option does not go with it.
    DocumentError : the file that describes it cannot be read.
    """
    if on == "local":
        from transom.bench.run.local_engine import LocalEngine

        protection.refuse(on)
        return LocalEngine(workers or default_workers(threads))
    from transom.bench.run.dask_engine import DaskEngine

    return DaskEngine(chosen_cluster(on, workers, threads, protection))


def chosen_cluster(on: str, workers: int | None, threads: int, protection: Protection) -> Cluster:
    """The Dask cluster that ``--on`` names; parameters are those of :func:`chosen_engine`.

    Raises
    ------
    SpecError : there is no such cluster, or an option does not go with it.
    DocumentError : the file that describes it cannot be read.
    """
    from transom.bench.run.dask_cluster import parse_cluster
    from transom.errors import SpecError

    if workers is not None and on != "dask":
        raise SpecError(f"--on {on} says itself how many workers there are; --workers is for local and dask")
    return parse_cluster(on, workers or default_workers(threads), protection.certificates(), protection.insecure)


class Protection(NamedTuple):
    """The options that say how what travels to other machines is protected."""

    tls_ca: Annotated[
        Path | None, typer.Option("--tls-ca", metavar="FILE", help="Dask over TLS: certificate of the authority (PEM).")
    ] = None
    tls_cert: Annotated[
        Path | None,
        typer.Option("--tls-cert", metavar="FILE", help="Dask over TLS: certificate of this machine (PEM)."),
    ] = None
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="Dask over TLS: key of that certificate (PEM).")
    ] = None
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Allow unencrypted connections to other machines, in a trusted network."),
    ] = False

    def refuse(self, on: str) -> None:
        """Say no to them where nothing travels.

        Raises
        ------
        SpecError : one is given.
        """
        from transom.errors import SpecError

        if any(self):
            raise SpecError(f"--on {on} sends nothing to other machines; --tls-... and --insecure are for Dask")

    def certificates(self) -> Certificates | None:
        """The three files, or None.

        Raises
        ------
        SpecError : only some of them are given, or there is nothing to protect and something to accept.
        """
        from transom.bench.run.dask_security import Certificates
        from transom.errors import SpecError

        if not (self.tls_ca or self.tls_cert or self.tls_key):
            return None
        if self.tls_ca is None or self.tls_cert is None or self.tls_key is None:
            raise SpecError("--tls-ca, --tls-cert and --tls-key are given together")
        if self.insecure:
            raise SpecError("either certificates or --insecure")
        return Certificates(self.tls_ca, self.tls_cert, self.tls_key)


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_workers(threads: int) -> int:
    """How many runs of so many threads the cores that this process may use have room for, beside the bench itself."""
    cores = usable_cores()
    return max(1, (cores - (cores > 2)) // threads)
