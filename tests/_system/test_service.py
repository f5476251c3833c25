"""Notifications to a service manager."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from transom._system.service import notify


def test_a_service_manager_that_does_not_read_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(address))
        monkeypatch.setenv("NOTIFY_SOCKET", str(address))
        notify("READY=1")
        for _ in range(5000):  # more than any queue of datagrams holds
            notify("WATCHDOG=1")
        assert listener.recv(100) == b"READY=1"
        assert listener.recv(100) == b"WATCHDOG=1"


@pytest.mark.parametrize("address", ["", "relative", "/not/there"])
def test_nobody_listens(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    notify("READY=1")
