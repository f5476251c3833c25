"""``transom serve batsim`` as a user runs it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.conftest import Ran

zmq = pytest.importorskip("zmq")
BEGIN = {"timestamp": 0, "type": "SIMULATION_BEGINS", "data": {"nb_resources": 4}}
SUBMIT = {"timestamp": 0, "type": "JOB_SUBMITTED", "data": {"job_id": "w!1", "job": {"res": 4, "walltime": 9}}}
END = {"timestamp": 9, "type": "SIMULATION_ENDS", "data": {}}


@pytest.fixture
def address() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:  # whose name is short enough
        yield f"ipc://{Path(folder) / 'batsim'}"


def talk(address: str, *messages: bytes) -> tuple[Thread, list[bytes]]:
    answers: list[bytes] = []

    def batsim() -> None:
        with zmq.Context() as context, context.socket(zmq.REQ) as client:
            client.setsockopt(zmq.LINGER, 0)
            client.connect(address)
            for message in messages:
                client.send(message)
                if client.poll(60_000 if message != messages[-1] or message.startswith(b'{"now": 9') else 1):
                    answers.append(client.recv())

    thread = Thread(target=batsim)
    thread.start()
    return thread, answers


def message(now: float, *events: object) -> bytes:
    return json.dumps({"now": now, "events": events}).encode()


@pytest.mark.parametrize("printed", [(), ("--json",)])
def test_it_serves_one_simulation(transom: Callable[..., Ran], address: str, printed: tuple[str, ...]) -> None:
    done = {"timestamp": 4, "type": "JOB_COMPLETED", "data": {"job_id": "w!1"}}
    thread, answers = talk(address, message(0, BEGIN, SUBMIT), message(4, done), message(9, END))
    ran = transom("serve", "batsim", "--policy", "fcfs-easy", "--socket", address, *printed)
    thread.join()
    assert ran.status == 0
    assert ran.err == f"fcfs-easy waits for Batsim at {address}\n"
    assert [json.loads(answer)["events"] for answer in answers][1:] == [[], []]
    if printed:
        assert ran.lines == [
            {"policy": "fcfs-easy", "submitted": 1, "started": 1, "ended": 1, "rejected": 0, "ignored": {}}
        ]
    else:
        assert ran.out == "1 job: 1 started, 0 rejected, 1 ended\n"


def test_a_bad_peer_is_one_line_and_a_status(transom: Callable[..., Ran], address: str) -> None:
    thread, _ = talk(address, message(0, BEGIN), message(5, SUBMIT | {"timestamp": 5}), message(3))
    ran = transom("serve", "batsim", "--socket", address, "-q")
    thread.join()
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == "error: time goes back from 5.0 s to 3.0 s\n"


def test_policies_and_addresses_are_checked_at_once(transom: Callable[..., Ran]) -> None:
    ran = transom("serve", "batsim", "--policy", "fcfs-eazy")
    assert ran.status == 2
    assert "fcfs-easy" in ran.err
    ran = transom("serve", "batsim", "--socket", "tcp://*:0")
    assert ran.status == 2
    assert "--anywhere" in ran.err
