"""The socket that Batsim connects to, with peers that behave and peers that do not."""

from __future__ import annotations

import socket as plain_sockets
from collections.abc import Callable
from threading import Thread

import numpy as np
import pytest

from tests.adapters.batsim_stand_in import StandIn
from transom.adapters.batsim import DecisionComponent
from transom.adapters.batsim_socket import serve
from transom.errors import PeerError, SpecError
from transom.generate import generate_lublin
from transom.simulation import simulate

zmq = pytest.importorskip("zmq")
ANY_PORT = "tcp://127.0.0.1:*"
BEGIN = b'{"now": 0, "events": [{"timestamp": 0, "type": "SIMULATION_BEGINS", "data": {"nb_resources": 4}}]}'


def served(peer: Callable[[str], None], policy: str = "fcfs-easy", patience: float = 600) -> DecisionComponent:
    """Serve one peer, which gets the address as soon as it is bound."""
    component, threads = DecisionComponent(policy), []

    def ready(address: str) -> None:
        threads.append(Thread(target=peer, args=(address,)))
        threads[0].start()

    try:
        serve(component, ANY_PORT, ready, patience=patience)
    finally:
        for thread in threads:
            thread.join()
    return component


def requesting(address: str, *messages: bytes, hear: bool = True) -> list[bytes]:
    with zmq.Context() as context, context.socket(zmq.REQ) as client:
        client.setsockopt(zmq.LINGER, -1 if not hear else 0)
        client.connect(address)
        answers = []
        for message in messages:
            client.send(message)
            answers += [client.recv()] if hear else []
        return answers


@pytest.mark.parametrize("version", [4, 5])
def test_a_simulation_is_served_to_its_end(version: int) -> None:
    workload = generate_lublin(100, 32, np.random.default_rng(2), load=0.9)
    started: dict[int, int] = {}

    def batsim(address: str) -> None:
        with zmq.Context() as context, context.socket(zmq.REQ) as client:
            client.connect(address)
            started.update(StandIn(workload, version).play(lambda message: (client.send(message), client.recv())[1]))

    component = served(batsim)
    schedule = simulate(workload, "fcfs-easy")
    assert started == dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
    assert component.over


@pytest.mark.parametrize(("begin", "size"), [(b'{"now": 5, "ev', 0), (b"", 0), (b"", 100_000_000)])
def test_a_bad_message_ends_it(begin: bytes, size: int) -> None:
    message = begin + bytes(size)
    with pytest.raises(PeerError, match=r"not a message of Batsim|more than 64 MiB are not taken"):
        served(lambda address: _send_and_leave(address, message))


def _send_and_leave(address: str, message: bytes) -> None:
    with zmq.Context() as context, context.socket(zmq.REQ) as client:
        client.setsockopt(zmq.LINGER, 0)
        client.setsockopt(zmq.RECONNECT_STOP, zmq.RECONNECT_STOP_CONN_REFUSED)
        monitor = client.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        client.connect(address)
        client.send(message)
        monitor.recv_multipart()  # the other side hangs up
        client.disable_monitor()
        monitor.close(0)


def test_a_peer_that_hangs_up_ends_it() -> None:
    with pytest.raises(PeerError, match="the connection broke before the simulation ended"):
        served(lambda address: requesting(address, BEGIN) and None)


def connected_plainly(address: str, data: bytes) -> None:
    """Connect without ZeroMQ, send this and leave."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    with plain_sockets.create_connection((host, int(port))) as client:
        client.sendall(data)


def test_what_does_not_speak_zeromq_ends_it() -> None:
    with pytest.raises(PeerError, match="does not speak ZeroMQ"):
        served(lambda address: connected_plainly(address, b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\x01" + b"HTTP" * 99))


@pytest.mark.parametrize("half", [b"", b"\xff\0\0\0\0\0\0\0\x01\x7f\x03"])
def test_who_only_looks_whether_the_port_is_open_does_not_matter(half: bytes) -> None:
    end = b'{"now": 1, "events": [{"timestamp": 1, "type": "SIMULATION_ENDS", "data": {}}]}'

    def peers(address: str) -> None:
        connected_plainly(address, half)
        with zmq.Context() as context, context.socket(zmq.REQ) as client:
            client.connect(address)
            client.send(BEGIN)
            client.recv()
            connected_plainly(address, half)
            client.send(end)
            client.recv()

    assert served(peers).over


def test_a_silent_peer_ends_it() -> None:
    with zmq.Context() as context, context.socket(zmq.REQ) as client:
        client.setsockopt(zmq.LINGER, 0)
        with pytest.raises(PeerError, match=r"no message for 0\.1 s"):
            served(lambda address: client.connect(address), patience=0.1)


@pytest.mark.parametrize(
    "address", ["tcp://*:28000", "tcp://0.0.0.0:28000", "tcp://10.0.0.1:28000", "tcp://example.org:1"]
)
def test_other_machines_cannot_connect_unasked(address: str) -> None:
    with pytest.raises(SpecError, match="other machines could connect; --anywhere allows that"):
        serve(DecisionComponent("fcfs"), address, print)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1", "ipc:///no/such/folder/socket"])
def test_an_address_that_cannot_be_bound_is_named(address: str) -> None:
    with pytest.raises(SpecError, match=address):
        serve(DecisionComponent("fcfs"), address, print)


def test_a_port_beyond_the_last_is_refused() -> None:
    with pytest.raises(SpecError, match="below 65,536"):
        serve(DecisionComponent("fcfs-easy"), "tcp://127.0.0.1:65536", lambda address: None)
