"""What read_committed consumers get: Fetch, ListOffsets, and DescribeProducers."""

import asyncio
from typing import Any

import pytest

from barnabas.broker.net.connection import Connection
from barnabas.broker.net.dispatcher import Dispatcher
from barnabas.broker.node import Node
from barnabas.broker.replica.partition import Partition
from barnabas.broker.routes import routes
from barnabas.log import StorageError
from barnabas.records.control import ControlType
from barnabas.records.decode import iter_batches
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import decode_response, encode_request
from barnabas.wire.message import Request
from barnabas.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.wire.messages.fetch import FetchResponse, PartitionData
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.broker.raw_client import batch, now_ms
from tests.broker.verbs import BY_NAME, asked, fetch_request, partitions_of
from tests.log.producers.read_committed import filtered

LATEST, MAX_TIMESTAMP = -1, -3


class Reader:
    """Asks the node in this process; what it writes goes to partition 0 of `t`."""

    def __init__(self, node: Node) -> None:
        self._node = node
        dispatcher = Dispatcher(node, routes())
        self._dispatch = dispatcher.dispatch
        self._connection: Any = Connection(dispatcher.dispatch, node.connections)
        partition = node.partitions.get("t", 0)
        assert partition is not None
        self.partition: Partition = partition
        self.start = partition.log.log_end_offset
        self.session = (0, -1)

    def send(self, request: Request[Any], version: int) -> Any:
        frame = bytearray(b"".join(encode_request(request, version, 7, None))[4:])
        return self._dispatch(memoryview(frame), self._connection)

    def ask(self, request: Request[Any], version: int) -> Any:
        return decode_response(
            b"".join(self.send(request, version))[4:], type(request).RESPONSE, version
        )

    def fetch_later(
        self, offset: int | None = None, *, isolation_level: int = 1, **how: Any
    ) -> Any:
        offset = self.start if offset is None else offset
        request = fetch_request(asked("t", {0: offset}), session=self.session, **how)
        request.isolation_level = isolation_level
        return self.send(request, BY_NAME)

    def fetch(self, offset: int | None = None, **how: Any) -> PartitionData:
        answer = self.fetch_later(offset, **how)
        if isinstance(answer, asyncio.Future):
            answer = self._node.loop.run_until_complete(asyncio.wait_for(answer, 60))
        return self.data(answer)

    def data(self, answer: Any) -> PartitionData:
        response = decode_response(b"".join(answer)[4:], FetchResponse, BY_NAME)
        if response.session_id:
            self.session = (response.session_id, self.session[1] + 1)
        return partitions_of(response).get(("t", 0), PartitionData(records=b""))

    def finished(self, future: "asyncio.Future[Any]") -> PartitionData:
        return self.data(self._node.loop.run_until_complete(asyncio.wait_for(future, 60)))

    def turn(self) -> None:
        for _ in range(5):
            self._node.loop.run_until_complete(asyncio.sleep(0))

    def write(self, producer_id: int, sequence: int = 0, epoch: int = 0) -> int:
        records = batch(
            b"v",
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=True,
        )
        return self.partition.appender.append(
            bytearray(records), now_ms(), verified=True
        ).base_offset

    def end(self, producer_id: int, epoch: int = 0, *, commit: bool) -> int:
        type_ = ControlType.COMMIT if commit else ControlType.ABORT
        info = self.partition.appender.append_marker(producer_id, epoch, 0, type_, 0, now_ms())
        assert info is not None
        return info.base_offset

    def put(self) -> int:
        return self.partition.appender.append(bytearray(batch(b"plain")), now_ms()).base_offset


@pytest.fixture
def reader(local_node: Node) -> Reader:
    reader = Reader(local_node)
    for producer_id, entry in list(reader.partition.log.producer_state.table):
        if entry.transaction_offset >= 0:
            reader.end(producer_id, entry.epoch, commit=True)
    reader.start = reader.partition.log.log_end_offset
    return reader


def offsets_in(data: PartitionData) -> list[int]:
    return [header.base_offset for header, _ in iter_batches(memoryview(data.records or b""))]


def shown(data: PartitionData) -> set[int]:
    """What a client shows of an answer."""
    batches = [bytes(batch) for _, batch in iter_batches(memoryview(data.records or b""))]
    assert data.aborted_transactions is not None
    return filtered(batches, [(t.producer_id, t.first_offset) for t in data.aborted_transactions])


def test_an_open_transaction_is_held_back(reader: Reader) -> None:
    plain = reader.put()
    open_ = reader.write(101)
    later = reader.put()
    committed = reader.fetch()
    assert offsets_in(committed) == [plain]
    assert (committed.last_stable_offset, committed.high_watermark) == (open_, later + 1)
    assert committed.aborted_transactions == []
    everything = reader.fetch(isolation_level=0)
    assert offsets_in(everything) == [plain, open_, later]
    assert everything.aborted_transactions is None
    assert everything.last_stable_offset == open_
    marker = reader.end(101, commit=True)
    assert offsets_in(reader.fetch()) == [plain, open_, later, marker]
    assert reader.fetch().last_stable_offset == marker + 1


def test_aborted_transactions_are_named(reader: Reader) -> None:
    first = reader.write(111)
    kept = reader.put()
    reader.end(111, commit=False)
    second = reader.write(111, 1)
    reader.end(111, commit=True)
    third = reader.write(111, 2)
    reader.end(111, commit=False)
    data = reader.fetch()
    assert data.aborted_transactions is not None
    assert [(t.producer_id, t.first_offset) for t in data.aborted_transactions] == [
        (111, first),
        (111, third),
    ]
    assert shown(data) == {kept, second}
    assert shown(reader.fetch(second)) == {second}
    assert reader.fetch(isolation_level=0).aborted_transactions is None


def test_only_those_are_named_that_touch_what_is_sent(reader: Reader) -> None:
    for number in range(5):
        reader.write(121, number)
        reader.end(121, commit=False)
    data = reader.fetch(max_bytes=1)
    assert len(offsets_in(data)) == 1
    assert data.aborted_transactions is not None
    assert len(data.aborted_transactions) == 1


def test_a_wait_ends_with_the_marker(reader: Reader) -> None:
    waiting = reader.fetch_later(max_wait_ms=20_000)
    assert isinstance(waiting, asyncio.Future)
    written = reader.write(131)
    later = reader.put()
    reader.turn()
    assert not waiting.done(), "nothing of it is stable"
    marker = reader.end(131, commit=True)
    assert offsets_in(reader.finished(waiting)) == [written, later, marker]


def test_a_session_may_change_its_mind(reader: Reader) -> None:
    reader.session = (0, 0)
    written = reader.write(141)
    assert offsets_in(reader.fetch()) == []
    assert offsets_in(reader.fetch(isolation_level=0)) == [written]
    assert offsets_in(reader.fetch()) == []
    waiting = reader.fetch_later(max_wait_ms=20_000)
    reader.turn()
    assert not waiting.done()
    marker = reader.end(141, commit=False)
    data = reader.finished(waiting)
    assert offsets_in(data) == [written, marker]
    assert shown(data) == set()


def test_an_index_that_can_not_be_read(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    reader.write(151)
    reader.end(151, commit=False)

    def refuse(*_: int) -> None:
        raise StorageError("no")

    monkeypatch.setattr(type(reader.partition.log.producer_state), "aborted_transactions", refuse)
    data = reader.fetch()
    assert data.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert not data.records
    assert reader.fetch(isolation_level=0).error_code == 0


def list_offset(reader: Reader, timestamp: int, isolation_level: int) -> int:
    partition = ListOffsetsPartition(0, -1, timestamp)
    request = ListOffsetsRequest(-1, isolation_level, [ListOffsetsTopic("t", [partition])])
    ((answer,),) = (topic.partitions for topic in reader.ask(request, 8).topics)
    assert answer.error_code == 0
    return int(answer.offset)


def test_offsets_of_committed_records(reader: Reader) -> None:
    before = now_ms()
    plain = reader.put()
    open_ = reader.write(161)
    reader.put()
    assert list_offset(reader, LATEST, 1) == open_
    assert list_offset(reader, LATEST, 0) == open_ + 2
    assert list_offset(reader, before, 1) == plain
    assert list_offset(reader, now_ms() + 1000, 1) == -1
    future = batch(b"v", producer_id=162, producer_epoch=0, base_sequence=0, transactional=True)
    newest = reader.partition.appender.append(
        bytearray(future), now_ms(), verified=True
    ).base_offset
    assert list_offset(reader, MAX_TIMESTAMP, 0) <= newest
    assert list_offset(reader, MAX_TIMESTAMP, 1) < open_
    marker = reader.end(161, commit=True)
    assert list_offset(reader, LATEST, 1) == newest
    reader.end(162, commit=False)
    assert list_offset(reader, LATEST, 1) == marker + 2


def test_producers_are_described(reader: Reader) -> None:
    def described() -> dict[int, Any]:
        request = DescribeProducersRequest([TopicRequest("t", [0, 9]), TopicRequest("none", [0])])
        known, unknown = reader.ask(request, 0).topics
        assert known.partitions[1].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert unknown.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return {each.producer_id: each for each in known.partitions[0].active_producers}

    first = reader.write(171, epoch=3)
    reader.write(171, 1, epoch=3)
    state = described()[171]
    assert (state.producer_epoch, state.last_sequence) == (3, 1)
    assert (state.coordinator_epoch, state.current_txn_start_offset) == (-1, first)
    assert abs(state.last_timestamp - now_ms()) < 60_000
    reader.end(171, epoch=3, commit=True)
    state = described()[171]
    assert (state.coordinator_epoch, state.current_txn_start_offset) == (0, -1)
