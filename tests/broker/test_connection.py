"""A connection between a transport that notes everything and a dispatcher under control."""

import asyncio
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas.broker.net.connection import MAX_PARKED, MAX_PARKED_BYTES, Connection
from barnabas.broker.net.held_memory import HeldMemory
from barnabas.broker.net.receive_buffer import INITIAL_BYTES
from barnabas.wire.primitives import WireError

LARGE = bytes(MAX_PARKED_BYTES // 4)


class Transport:
    """Notes what a connection does to it."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.reading = True
        self.closed = False
        self.takes = True
        """Whether the client reads; if not, `on_full` is called."""
        self.on_full: Callable[[], None] = lambda: None

    def get_extra_info(self, name: str) -> tuple[str, int]:
        return {"peername": ("10.0.0.1", 5), "sockname": ("10.0.0.2", 9)}[name]

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.written.append(bytes(data))
        if not self.takes:
            self.on_full()

    def writelines(self, buffers: list[bytes]) -> None:
        self.write(b"".join(buffers))

    def pause_reading(self) -> None:
        assert self.reading
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True

    def close(self) -> None:
        self.closed = True

    abort = close


class Door:
    """Lets everybody in."""

    max_request_bytes = 1000

    def __init__(self) -> None:
        self.inside: set[Connection] = set()
        self.arriving = HeldMemory("", "", self.now)
        self.unread = HeldMemory("", "", self.now)
        self.arriving.max_bytes = self.unread.max_bytes = 1 << 40

    def now(self) -> float:
        return 0.0

    def enter(self, connection: Connection) -> str | None:
        self.inside.add(connection)
        return None

    def leave(self, connection: Connection) -> None:
        self.inside.remove(connection)


class Talk:
    """A connection whose frames are answered with themselves, or later when they begin with `?`."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.door = Door()
        self.transport = Transport()
        self.handled: list[bytes] = []
        self.parked: list[asyncio.Future[Any]] = []
        self.connection = Connection(self._dispatch, self.door)
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]
        self.transport.on_full = self.connection.pause_writing

    def _dispatch(self, frame: memoryview, _: Connection) -> Any:
        data = bytes(frame)
        self.handled.append(data)
        if data == b"!":
            raise WireError("bad")
        if data == b"0":
            return None
        if data == b"L":
            return [LARGE]
        if not data.startswith(b"?"):
            return [data]
        future = self.loop.create_future()
        self.parked.append(future)
        return future

    def send(self, *frames: bytes) -> None:
        self.receive(b"".join(struct.pack(">i", len(frame)) + frame for frame in frames))

    def receive(self, data: bytes) -> None:
        while data:
            room = self.connection.get_buffer(-1)
            size = min(len(room), len(data))
            room[:size] = data[:size]
            self.connection.buffer_updated(size)
            data = data[size:]

    def answer(self, number: int, data: bytes) -> None:
        self.parked[number].set_result([data])
        self.turn()

    def turn(self) -> None:
        self.loop.run_until_complete(asyncio.sleep(0))

    @property
    def said(self) -> bytes:
        return b"".join(self.transport.written)


@pytest.fixture
def talk() -> Iterator[Talk]:
    talk = Talk()
    yield talk
    talk.loop.close()


def test_addresses(talk: Talk) -> None:
    assert (talk.connection.client_host, talk.connection.local_host) == ("10.0.0.1", "10.0.0.2")


def test_answers_of_one_read_go_out_together(talk: Talk) -> None:
    talk.send(b"a", b"b", b"0", b"c")
    assert talk.transport.written == [b"abc"]


def test_a_parked_answer_holds_back_those_behind_it(talk: Talk) -> None:
    talk.send(b"a", b"?", b"b", b"0", b"?", b"c")
    assert talk.said == b"a"
    assert talk.connection.is_waiting
    talk.answer(1, b"2")
    assert talk.said == b"a"
    talk.answer(0, b"1")
    assert talk.said == b"a1b2c"
    assert not talk.connection.is_waiting
    talk.send(b"d")
    assert talk.said == b"a1b2cd"


def test_a_full_row_stops_the_reading(talk: Talk) -> None:
    talk.send(*[b"?"] * (MAX_PARKED + 1), b"a")
    assert len(talk.parked) == MAX_PARKED
    assert not talk.transport.reading
    talk.answer(0, b"1")
    assert len(talk.parked) == MAX_PARKED + 1
    assert not talk.transport.reading
    for number in range(1, MAX_PARKED + 1):
        talk.answer(number, b"1")
    assert talk.transport.reading
    assert talk.said == b"1" * (MAX_PARKED + 1) + b"a"


def test_large_answers_that_wait_stop_the_reading(talk: Talk) -> None:
    talk.send(b"?", *[b"L"] * 10, b"a")
    assert talk.handled == [b"?", *[b"L"] * 4]
    assert not talk.transport.reading
    talk.answer(0, b"1")
    assert talk.said == b"1" + LARGE * 10 + b"a"
    assert talk.transport.reading


def test_a_large_answer_that_comes_meanwhile_counts(talk: Talk) -> None:
    talk.send(b"?", b"?", *[b"L"] * 3)
    talk.answer(1, LARGE)
    talk.send(b"a")
    assert b"a" not in talk.handled
    assert not talk.transport.reading
    talk.answer(0, b"1")
    assert talk.said == b"1" + LARGE * 4 + b"a"


def test_a_client_that_does_not_read_is_not_read_from(talk: Talk) -> None:
    talk.send(b"a")
    talk.connection.pause_writing()
    talk.send(b"b", b"c")
    assert talk.handled == [b"a"]
    assert not talk.transport.reading
    talk.connection.resume_writing()
    assert talk.transport.reading
    assert talk.said == b"abc"


def test_an_answer_counts_as_unread_until_the_client_takes_it(talk: Talk) -> None:
    talk.send(b"a")
    assert talk.door.unread.total == 0
    talk.transport.takes = False
    talk.send(b"bcd")
    assert talk.door.unread.total == 3
    talk.connection.resume_writing()
    assert talk.door.unread.total == 0


def test_an_unread_answer_is_forgotten_with_its_connection(talk: Talk) -> None:
    talk.transport.takes = False
    talk.send(b"bcd")
    talk.connection.connection_lost(None)
    assert talk.door.unread.total == 0


def test_a_request_counts_while_it_arrives(talk: Talk) -> None:
    frame = struct.pack(">i", 4 * INITIAL_BYTES) + bytes(4 * INITIAL_BYTES)
    talk.door.max_request_bytes = len(frame)
    talk.receive(frame[: 3 * INITIAL_BYTES])
    assert talk.door.arriving.total == 4 * INITIAL_BYTES
    talk.receive(frame[3 * INITIAL_BYTES :])
    assert talk.door.arriving.total == 0


@pytest.mark.parametrize("how", ["cancel", "fail"])
def test_an_answer_that_will_not_come_ends_the_connection(talk: Talk, how: str) -> None:
    talk.send(b"?", b"a")
    if how == "cancel":
        talk.parked[0].cancel()
    else:
        talk.parked[0].set_exception(ZeroDivisionError())
    talk.turn()
    assert talk.transport.closed
    assert talk.said == b""


def test_nothing_is_handled_behind_a_bad_frame(talk: Talk) -> None:
    talk.send(b"a", b"!", b"b")
    assert talk.handled == [b"a", b"!"]
    assert talk.said == b"a"
    assert talk.transport.closed


def test_a_frame_that_is_too_large(talk: Talk) -> None:
    talk.send(b"x" * 1000)
    assert talk.said == b"x" * 1000
    talk.send(b"x" * 1001)
    assert talk.transport.closed


def test_a_lost_connection_lets_go_of_what_it_waits_for(talk: Talk) -> None:
    talk.send(b"?", b"a", b"?")
    talk.connection.connection_lost(None)
    talk.turn()
    assert all(future.cancelled() for future in talk.parked)
    assert talk.door.inside == set()
    assert talk.said == b""


def test_when_the_broker_stops_only_answers_go_out(talk: Talk) -> None:
    talk.send(b"?")
    talk.connection.take_no_more()
    talk.send(b"a")
    talk.answer(0, b"1")
    assert talk.handled == [b"?"]
    assert talk.said == b"1"
