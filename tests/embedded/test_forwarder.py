"""The network of a cluster: it carries every byte, and cuts are cuts."""

import asyncio
import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.embedded.forwarder import Forwarder, _Passage, sender_of
from barnabas.embedded.launcher import Launcher
from barnabas.embedded.network import CLIENTS, Network
from barnabas.embedded.ports import HOST, Ports
from barnabas.wire.framing import encode_request
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.primitives import Buffer


def hello(client_id: str | None) -> bytes:
    return b"".join(encode_request(MetadataRequest(), 12, 1, client_id))


@given(st.none() | st.text(max_size=40), st.integers(0, 60))
def test_whoever_is_no_node_is_a_client(client_id: str | None, cut: int) -> None:
    first = hello(client_id)
    whole = 14 + len((client_id or "").encode())
    expected = CLIENTS if cut >= whole else None
    assert sender_of(first[:cut]) == expected
    assert sender_of(first) == CLIENTS


@given(st.integers(0, 2**31 - 1), st.integers(0, 40))
def test_nodes_say_who_they_are(node_id: int, cut: int) -> None:
    name = f"barnabas-node-{node_id}"
    first = hello(name)
    assert sender_of(first) == node_id
    assert sender_of(first[:cut]) == (node_id if cut >= 14 + len(name) else None)


@given(st.binary(max_size=60))
def test_nonsense_is_a_clients(first: bytes) -> None:
    assert sender_of(first) in (None, CLIENTS) or b"barnabas-node-" in first


class Wires:
    """Two nodes that are nothing but listening sockets, each behind its front."""

    def __init__(self, launcher: Launcher, stack: ExitStack) -> None:
        ports = Ports(4)
        stack.callback(ports.close)
        fronts, own = ports.numbers[:2], ports.numbers[2:]
        self.listening = {
            node: stack.enter_context(socket.create_server((HOST, port)))
            for node, port in zip((1, 2), own, strict=True)
        }
        for listening in self.listening.values():
            listening.settimeout(60)
        self._fronts = dict(zip((1, 2), fronts, strict=True))
        self.network = Network(launcher, list(zip((1, 2), fronts, own, strict=True)))
        stack.callback(self.network.close)
        self._stack = stack

    def connect(self, to: int, sender: str) -> socket.socket:
        """A connection to a node by way of its front, on which something has been sent."""
        near = self._stack.enter_context(socket.create_connection((HOST, self._fronts[to]), 60))
        near.sendall(hello(sender))
        return near

    def accept(self, node: int) -> socket.socket:
        far, _ = self.listening[node].accept()
        far.settimeout(60)
        self._stack.enter_context(far)
        (size,) = struct.unpack(">i", far.recv(4))
        assert len(far.recv(1 << 16)) == size
        return far


def is_ended(source: socket.socket) -> bool:
    try:
        return source.recv(1) == b""
    except ConnectionResetError:
        return True


def is_silent(source: socket.socket, seconds: float = 0.2) -> bool:
    source.settimeout(seconds)
    try:
        source.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return True
    finally:
        source.settimeout(60)
    return False


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    launcher = Launcher.borrow()
    yield launcher
    launcher.give_back()


@pytest.fixture
def wires(launcher: Launcher) -> Iterator[Wires]:
    with ExitStack() as stack:
        yield Wires(launcher, stack)


def test_all_bytes_get_through_both_ways_at_once(wires: Wires) -> None:
    """Far more than any buffer holds, so each side has to be made to wait for the other."""
    near = wires.connect(1, "app")
    far = wires.accept(1)
    data = os.urandom(1 << 20) * 16
    sending = [threading.Thread(target=end.sendall, args=(data,)) for end in (near, far)]
    for thread in sending:
        thread.start()
    for end in (far, near):
        received = bytearray()
        while len(received) < len(data):
            received += end.recv(1 << 16)
        assert received == data
    for thread in sending:
        thread.join()


def test_who_is_not_read_from_has_to_wait(wires: Wires) -> None:
    """The forwarder keeps little: what the other end does not take stays with the sender."""
    near = wires.connect(1, "app")
    wires.accept(1)
    near.settimeout(0.5)
    with pytest.raises(TimeoutError):
        near.sendall(bytes(64 << 20))


def test_a_cut_holds_both_directions_and_nobody_is_told(wires: Wires) -> None:
    near = wires.connect(1, "barnabas-node-2")
    far = wires.accept(1)
    other = wires.connect(1, "app")
    other_far = wires.accept(1)
    wires.network.isolate([2], from_clients=False)
    near.sendall(b"question")
    far.sendall(b"answer")
    assert is_silent(near)
    assert is_silent(far)
    other.sendall(b"client")
    assert other_far.recv(100) == b"client"
    wires.network.heal([2])
    assert near.recv(100) == b"answer"
    assert far.recv(100) == b"question"


def test_the_end_of_a_connection_is_not_seen_across_a_cut(wires: Wires) -> None:
    near = wires.connect(1, "app")
    far = wires.accept(1)
    wires.network.isolate([1], from_clients=True)
    near.close()
    assert is_silent(far)
    wires.network.heal([1])
    assert far.recv(1) == b""


class FakeTransport(asyncio.Transport):
    """One that notes whether it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.is_closed = False

    def is_closing(self) -> bool:
        return self.is_closed

    def is_reading(self) -> bool:
        return True

    def pause_reading(self) -> None:
        """There is nothing to read."""

    def write(self, data: Buffer) -> None:
        """The other end gets nothing."""

    def close(self) -> None:
        self.is_closed = True


def test_a_reset_that_is_noticed_during_a_cut_is_passed_on_after_it() -> None:
    """Nothing is read meanwhile, but bytes that are still to be written tell of a reset too."""
    forwarder = Forwarder()
    passage = _Passage(forwarder, 1, 0)
    link = passage._link = frozenset((CLIENTS, 1))
    front, back = FakeTransport(), FakeTransport()
    passage.front.connection_made(front)
    passage.back.connection_made(back)
    forwarder.cut(frozenset((link,)))
    passage.front.connection_lost(ConnectionResetError())
    assert not back.is_closed
    forwarder.cut(frozenset())
    assert back.is_closed
    assert not forwarder.connections


def test_what_is_opened_across_a_cut_never_arrives(wires: Wires) -> None:
    wires.network.isolate([1], from_clients=True)
    near = wires.connect(1, "app")
    assert is_silent(near)
    wires.listening[1].settimeout(0.2)
    with pytest.raises(TimeoutError):
        wires.listening[1].accept()
    wires.network.heal([1])
    with pytest.raises(TimeoutError):
        wires.listening[1].accept()
    assert is_ended(near)


def test_a_node_that_is_down_is_noticed(wires: Wires) -> None:
    near = wires.connect(1, "app")
    far = wires.accept(1)
    far.close()
    assert near.recv(1) == b""
    wires.listening[1].close()
    assert is_ended(wires.connect(1, "app"))


def test_who_is_on_the_greater_side(wires: Wires) -> None:
    assert wires.network.reaches_majority(1)
    wires.network.isolate([1], from_clients=True)
    assert not wires.network.reaches_majority(1)
    assert not wires.network.reaches_majority(2), "one of two is no majority"
    wires.network.heal([2])
    assert wires.network.reaches_majority(1)
    assert wires.network.cuts == {frozenset((CLIENTS, 1))}
