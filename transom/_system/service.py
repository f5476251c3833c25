"""Notifications to a service manager: that a service is ready, and that it lives."""

from __future__ import annotations

import os
import socket
from contextlib import suppress


def notify(text: str) -> None:
    """Tell the service manager something, such as ``READY=1`` (sd_notify).

    Nothing is said where no service manager listens, or where it has not yet read what came before: a scheduler must
    not wait for it.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    with socket.socket(socket.AF_UNIX, kind) as listener, suppress(OSError):
        listener.sendto(text.encode(), "\0" + address[1:] if address[0] == "@" else address)
