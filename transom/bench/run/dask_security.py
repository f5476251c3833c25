"""Transport security of a Dask cluster: certificates, and when none are needed."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from transom.errors import SpecError

if TYPE_CHECKING:
    from distributed.security import Security


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


def security_of(certificates: Certificates | None, everyone: bool = False) -> Security | None:
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


def is_loopback(host: str) -> bool:
    """Whether a host name or address is a loopback address."""
    try:
        found = {each[4][0] for each in socket.getaddrinfo(host, None)}
    except OSError:
        raise SpecError(f"{host}: no such host") from None
    return all(ipaddress.ip_address(str(each).partition("%")[0]).is_loopback for each in found)
