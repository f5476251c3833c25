"""The socket that Batsim connects to."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from transom._system.wording import digits
from transom.adapters.batsim import DecisionComponent
from transom.errors import PeerError, SpecError
from transom.reading import LINE


def serve(
    component: DecisionComponent,
    address: str,
    ready: Callable[[str], None],
    anywhere: bool = False,
    patience: float = 600.0,
) -> None:
    """Answer one Batsim until its simulation has ended.

    Parameters
    ----------
    component : what answers.
    address : ``tcp://HOST:PORT``, where port ``*`` is any free one, or ``ipc://PATH``.
    ready : called with the address that is bound.
    anywhere : whether other machines may connect.
    patience : how long to wait for the next message of who is connected [s].

    Raises
    ------
    SpecError : the address is none, cannot be bound, or is open to other machines without ``anywhere``.
    PeerError : the other side breaks the protocol, hangs up before the end, or is silent for too long.
    PolicyError : the policy starts what does not fit.
    """
    try:
        import zmq
        from zmq.utils.monitor import recv_monitor_message
    except ImportError:
        raise SpecError('serve batsim needs pyzmq: pip install "transom[batsim]"') from None
    port = address.rpartition(":")[2]
    if address.startswith("tcp:") and port != "*" and not (digits(port) and int(port) < 2**16):  # ZeroMQ wraps it round
        raise SpecError(f"{address}: the port must be * or a number below 65,536")
    if not anywhere and not _is_local(address):
        raise SpecError(f"{address}: other machines could connect; --anywhere allows that")
    gone, odd = zmq.EVENT_DISCONNECTED, zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    left = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL  # before it said who it is, as who looks whether a port is open
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        socket.setsockopt(zmq.LINGER, 1000)
        socket.setsockopt(zmq.MAXMSGSIZE, LINE)
        socket.setsockopt(zmq.IPV6, "[" in address)
        monitor = socket.get_monitor_socket(gone | odd | left | zmq.EVENT_HANDSHAKE_SUCCEEDED)
        try:
            socket.bind(address)
        except zmq.ZMQError as error:
            raise SpecError(f"{address}: {error}") from None
        ready(socket.getsockopt_string(zmq.LAST_ENDPOINT))
        poller = zmq.Poller()
        poller.register(socket, zmq.POLLIN)
        poller.register(monitor, zmq.POLLIN)
        connected, strangers = False, 0
        try:
            while not component.over:
                found = dict(poller.poll(int(patience * 1000) if connected else None))
                if not found:
                    raise PeerError(f"{address}: no message for {patience:g} s")
                if socket in found:
                    socket.send(component.answer(socket.recv()))
                    continue
                event = recv_monitor_message(monitor)["event"]
                if event == odd and not connected:
                    raise PeerError(f"{address}: who connects does not speak ZeroMQ")
                if event == gone and not strangers:
                    largest = f"messages of more than {LINE >> 20} MiB are not taken"
                    raise PeerError(f"{address}: the connection broke before the simulation ended ({largest})")
                connected = connected or event == zmq.EVENT_HANDSHAKE_SUCCEEDED
                strangers += (event in (odd, left)) - (event == gone)
        except BaseException:
            socket.setsockopt(zmq.LINGER, 0)
            raise
        finally:
            socket.disable_monitor()
            monitor.close(0)


def _is_local(address: str) -> bool:
    """Whether only this machine can connect to an address."""
    kind, _, rest = address.partition("://")
    host = rest.rpartition(":")[0].strip("[]")
    try:
        return kind == "ipc" or host == "localhost" or (kind == "tcp" and ipaddress.ip_address(host).is_loopback)
    except ValueError:
        return False
