"""Who holds a port: the answer understood, and real sockets of real processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.host.listening import Listener, listeners, read_listeners, stranger
from eagletui.host.local import LocalHost

ANSWER = b"""seen 12
seen 30
listens 30 0100007F 30
listens 30 00000000000000000000000001000000 44
listens 30 0100007F 1 extra
listens 30 01 44
listens x 0100007F 44
"""


def test_an_answer_is_understood() -> None:
    assert read_listeners(ANSWER) == {
        12: (),
        30: (Listener(address="127.0.0.1", pid=30), Listener(address="::1", pid=44)),
    }


@given(st.lists(st.sampled_from([b"seen ", b"listens ", b"1 ", b"\n", b"0A"]) | st.binary()))
def test_any_answer_is_survived(parts: list[bytes]) -> None:
    read_listeners(b"".join(parts))


@pytest.mark.parametrize(
    ("there", "who"),
    [
        ((), None),
        ((Listener(address="127.0.0.1", pid=8),), 8),
        ((Listener(address="0.0.0.0", pid=0),), None),
        ((Listener(address="::", pid=8),), 8),
        ((Listener(address="0.0.0.0", pid=8), Listener(address="127.0.0.1", pid=6)), None),
        ((Listener(address="192.0.2.1", pid=8),), None),
        ((Listener(address="0.0.0.0", pid=8), Listener(address="127.0.0.1", pid=7)), None),
    ],
)
def test_who_answers_in_a_servers_place(there: tuple[Listener, ...], who: int | None) -> None:
    assert stranger((6, 7), "127.0.0.1", there) == who


@pytest.fixture
def sleeper() -> Iterator[int]:
    if not Path("/proc/self/net/tcp").exists():
        pytest.skip("this system has no /proc")
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process.pid
    process.communicate()


async def test_the_holder_of_a_port_is_found(local: LocalHost, sleeper: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port, nobody = held.getsockname()[1], free.getsockname()[1]
        us = os.getpid()
        own = Listener(address="127.0.0.1", pid=us)
        # A child that listens does it for its server; so the parent is asked about, not the child.
        assert await listeners(local, {us: port}) == {us: (own,)}
        assert await listeners(local, {sleeper: port}, [us]) == {sleeper: (own,)}
        unknown = Listener(address="127.0.0.1", pid=0)
        assert await listeners(local, {sleeper: port}) == {sleeper: (unknown,)}
        assert await listeners(local, {sleeper: nobody}, [us]) == {sleeper: ()}
        assert await listeners(local, {999999999: port}, [us]) == {}
