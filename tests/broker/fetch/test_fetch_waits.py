"""Long polls leave nothing behind: no watcher, no timer, whichever way they end."""

import asyncio
from typing import Any

import pytest

from barnabas.broker.net.connection import Connection
from barnabas.broker.net.dispatcher import Dispatcher
from barnabas.broker.node import Node
from barnabas.broker.replica.partition import Partition
from barnabas.broker.routes import routes
from barnabas.log import StorageError
from barnabas.log.reader import LogReader
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import decode_response, encode_request
from barnabas.wire.messages.fetch import FetchResponse
from tests.broker.raw_client import batch, now_ms
from tests.broker.verbs import BY_NAME, asked, fetch_request, partitions_of, values_of

OWNER = "ANONYMOUS"


class Reader:
    """A consumer of `t`, without a socket."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.partitions = node.partitions.by_name["t"]
        dispatcher = Dispatcher(node, routes())
        self._dispatch = dispatcher.dispatch
        self._connection: Any = Connection(dispatcher.dispatch, node.connections)

    def ends(self) -> dict[int, int]:
        return {p.index: p.log.log_end_offset for p in self.partitions}

    def ask(self, **how: Any) -> Any:
        """Read both partitions from their ends on: an answer, or something that will hold it."""
        request = fetch_request(asked("t", self.ends()), **how)
        frame = bytearray(b"".join(encode_request(request, BY_NAME, 7, None))[4:])
        return self._dispatch(memoryview(frame), self._connection)

    def wait(self, **how: Any) -> "asyncio.Future[Any]":
        future = self.ask(**{"max_wait_ms": 20_000, **how})
        assert isinstance(future, asyncio.Future)
        assert all(p.watchers for p in self.partitions)
        return future

    def turn(self) -> None:
        """Let the event loop do what is ready."""
        for _ in range(5):
            self.node.loop.run_until_complete(asyncio.sleep(0))

    def result(self, future: "asyncio.Future[Any]") -> FetchResponse:
        answer = self.node.loop.run_until_complete(asyncio.wait_for(future, 60))
        return decode_response(b"".join(answer)[4:], FetchResponse, BY_NAME)

    @property
    def is_watching(self) -> bool:
        return any(p.watchers for p in self.partitions)


@pytest.fixture
def reader(local_node: Node) -> Reader:
    return Reader(local_node)


def put(partition: Partition, value: bytes) -> None:
    partition.appender.append(bytearray(batch(value)), now_ms())


def test_an_append_ends_it(reader: Reader) -> None:
    future = reader.wait()
    put(reader.partitions[1], b"a")
    told = partitions_of(reader.result(future))
    assert values_of(told["t", 1]) == [b"a"]
    assert values_of(told["t", 0]) == []
    assert not reader.is_watching


def test_time_ends_it(reader: Reader) -> None:
    future = reader.wait(max_wait_ms=20)
    assert not any(map(values_of, partitions_of(reader.result(future)).values()))
    assert not reader.is_watching


def test_a_client_that_goes_ends_it(reader: Reader) -> None:
    future = reader.wait()
    future.cancel()
    reader.turn()
    assert not reader.is_watching


def test_nothing_is_kept_of_a_fetch_that_did_not_wait(reader: Reader) -> None:
    assert not isinstance(reader.ask(), asyncio.Future)
    assert not reader.is_watching


def test_an_evicted_session_watches_no_more(reader: Reader) -> None:
    sessions = reader.node.fetch_sessions
    first = reader.wait(session=(0, 0))
    for _ in range(sessions.max_sessions):
        sessions.open(owner=OWNER)
    told = reader.result(first)
    assert told.error_code == 0
    assert not reader.is_watching


def test_a_session_watches_between_its_requests(reader: Reader) -> None:
    session_id = reader.result(reader.wait(session=(0, 0), max_wait_ms=20)).session_id
    assert reader.is_watching
    reader.node.fetch_sessions.close(session_id, owner=OWNER)
    assert not reader.is_watching


def test_a_disk_that_fails_meanwhile_is_the_readers_problem(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not the producer's, whose append wakes the reader: that one is stored. And the operator's."""
    future = reader.wait(min_bytes=1000)

    def fail(*_: object, **__: object) -> None:
        raise StorageError("can not read")

    monkeypatch.setattr(LogReader, "bytes_between", fail)
    monkeypatch.setattr(LogReader, "read", fail)
    before = reader.partitions[0].high_watermark
    put(reader.partitions[0], b"a")
    assert reader.partitions[0].high_watermark == before + 1
    told = partitions_of(reader.result(future))
    assert told["t", 0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert told["t", 1].error_code == 0
    assert reader.ask(min_bytes=0), "answered at once"
    errors = [each for each in caplog.messages if "can't be read" in each]
    assert errors == ["t-0 can't be read: can not read"], "once a minute"
