"""What a service manager is told: that a service is ready, and that it lives."""

from __future__ import annotations

import os
import socket
from contextlib import suppress


def notify(text: str) -> None:
    """Tell the service manager something, such as ``READY=1`` (sd_notify); nothing where none listens."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as listener, suppress(OSError):
        listener.sendto(text.encode(), "\0" + address[1:] if address[0] == "@" else address)
