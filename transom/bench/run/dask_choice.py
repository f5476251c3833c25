"""The Dask cluster that the option ``--on`` names."""

from __future__ import annotations

from typing import Any

import msgspec

from transom import registry
from transom.bench.run.dask_clusters import OwnCluster, RunningCluster
from transom.bench.run.dask_jobs import BatchCluster, Jobs
from transom.bench.run.dask_security import Certificates
from transom.errors import DocumentError, SpecError
from transom.io.toml_files import parse_toml, read_text

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
        settings = parse_toml(read_text(rest), rest)
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
