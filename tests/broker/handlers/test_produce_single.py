"""The short cut for small Produce requests answers, byte for byte, what the ordinary way does."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barnabas.broker.environment import Environment
from barnabas.broker.handlers import produce, produce_single
from barnabas.broker.net.dispatcher import Dispatcher, Route
from barnabas.broker.node import Node
from barnabas.broker.node_run import close_node, start_node
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import DataDirectory, OsDisk
from barnabas.metadata.image import CONSUMER_OFFSETS
from barnabas.records.compression import Compression
from barnabas.records.encode import encode_batch
from barnabas.wire.endpoint import Endpoint
from barnabas.wire.framing import encode_request
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.wire.primitives import WireError
from tests.support.tier import examples

TOPIC = "orders"
TOPIC_ID = bytes(range(16))
NOW_MS = 1_700_000_000_000


class Peer:
    client_host = "test"
    peer = None

    def refuse(self, why: str) -> None:
        del why


class Pair:
    """Two brokers in the same state: one with the short cut, one without."""

    def __init__(self, directory: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.nodes = [self._node(directory / name, loop) for name in ("short", "long")]
        short = Route(ProduceRequest, produce.handle, produce_single.handle)
        ordinary = Route(ProduceRequest, produce.handle)
        self.short = Dispatcher(self.nodes[0], [short])
        self.ordinary = Dispatcher(self.nodes[1], [ordinary])

    @staticmethod
    def _node(directory: Path, loop: asyncio.AbstractEventLoop) -> Node:
        disk = OsDisk()
        data = DataDirectory.open(
            disk, str(directory), node_id=1, new_cluster_id="c", new_directory_id=bytes(16)
        )
        config = BrokerConfig(
            {
                "log.message.timestamp.after.max.ms": str(2**62),
                "broker.session.timeout.ms": str(24 * 3_600_000),  # its loop runs now and then only
            }
        )
        node = Node(config, data, Environment.real(loop), pytest.fail)
        node.cluster.advertised = {"PLAINTEXT": Endpoint("PLAINTEXT", "localhost", 9092)}
        loop.run_until_complete(start_node(node))
        loop.run_until_complete(node.topic_creation.create([TOPIC]))
        loop.run_until_complete(node.topic_creation.ensure("__consumer_offsets"))
        for name in (TOPIC, CONSUMER_OFFSETS):
            topic = node.image.topics[name]
            node.partitions.by_id[TOPIC_ID if name == TOPIC else bytes(16)] = (
                node.partitions.by_name[topic.name]
            )
        return node

    def answers(self, frame: bytes) -> tuple[object, object]:
        return self._answer(self.short, frame), self._answer(self.ordinary, frame)

    @staticmethod
    def _answer(dispatcher: Dispatcher[Node], frame: bytes) -> object:
        try:
            answer = dispatcher.dispatch(memoryview(bytearray(frame)), Peer())  # type: ignore[arg-type]
        except WireError as error:
            return str(error)
        assert not isinstance(answer, asyncio.Future)
        return None if answer is None else b"".join(answer)

    def logs(self) -> list[list[bytes]]:
        return [[bytes(p.log.read(0, 1 << 30)) for p in node.partitions] for node in self.nodes]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    loop = asyncio.new_event_loop()
    pair = Pair(tmp_path_factory.mktemp("pair"), loop)
    yield pair
    for node in pair.nodes:
        loop.run_until_complete(close_node(node))
    loop.close()


def batch(compression: Compression = Compression.NONE, **options: int) -> bytes:
    rows = [(NOW_MS, b"k", b"v" * 20, ()) for _ in range(3)]
    return bytes(encode_batch(rows, compression=compression, **options))


def frame_of(request: ProduceRequest, version: int, client_id: str | None = "c") -> bytes:
    return b"".join(encode_request(request, version, 77, client_id))[4:]


def single(version: int, *, acks: int = 1, index: int = 0, records: bytes | None) -> ProduceRequest:
    topic = TopicProduceData(partition_data=[PartitionProduceData(index, records)])
    if version >= 13:
        topic.topic_id = TOPIC_ID
    else:
        topic.name = TOPIC
    return ProduceRequest(None, acks, 1000, [topic])


@pytest.mark.parametrize("version", range(14))
@pytest.mark.parametrize("acks", [1, -1, 0, 2])
def test_every_version_is_answered_alike(pair: Pair, version: int, acks: int) -> None:
    for client_id in (None, "", "someone"):
        frame = frame_of(single(version, acks=acks, records=batch()), version, client_id)
        taken = produce_single.handle(pair.nodes[0], memoryview(bytearray(frame)))
        assert (taken is not None) == (version >= 3 and acks in (1, -1))
        if taken is not None:  # the other broker stores it too, to stay in the same state
            assert b"".join(taken) == Pair._answer(pair.ordinary, frame)
        short, ordinary = pair.answers(frame)
        assert short == ordinary
    assert pair.logs()[0] == pair.logs()[1]


@pytest.mark.parametrize("version", [3, 8, 12, 13])
@pytest.mark.parametrize(
    "records",
    [
        None,
        b"",
        batch()[:-1],
        batch() + batch(),
        batch(Compression.LZ4),
        batch(producer_id=9, producer_epoch=0, base_sequence=0),
        batch()[:30] + b"\xff" + batch()[31:],
        batch(transactional=1, producer_id=1, producer_epoch=0, base_sequence=0),
        bytes(200),
    ],
)
def test_odd_records_are_answered_alike(pair: Pair, version: int, records: bytes | None) -> None:
    for index in (0, 1, -1):
        short, ordinary = pair.answers(
            frame_of(single(version, index=index, records=records), version)
        )
        assert short == ordinary
    assert pair.logs()[0] == pair.logs()[1]


@pytest.mark.parametrize("version", [5, 9])
def test_other_shapes_go_the_ordinary_way(pair: Pair, version: int) -> None:
    data = PartitionProduceData(0, batch())
    internal = TopicProduceData(CONSUMER_OFFSETS, partition_data=[data])
    long_name = TopicProduceData("n" * 200, partition_data=[data])
    twice = TopicProduceData(TOPIC, partition_data=[data, data])
    once = TopicProduceData(TOPIC, partition_data=[data])
    for topics in ([internal], [long_name], [twice], [once, once], []):
        for transactional_id in (None, "t"):
            frame = frame_of(ProduceRequest(transactional_id, 1, 1000, topics), version)
            assert produce_single.handle(pair.nodes[0], memoryview(bytearray(frame))) is None
            short, ordinary = pair.answers(frame)
            assert short == ordinary


@pytest.mark.parametrize("version", [3, 8, 9, 13])
def test_a_client_id_that_is_no_text_is_answered_alike(pair: Pair, version: int) -> None:
    frame = bytearray(frame_of(single(version, records=batch()), version, "c"))
    before = pair.logs()
    frame[10] = 0xFF
    short, ordinary = pair.answers(bytes(frame))
    assert short == ordinary
    frame[8:10] = b"\xff\xf0"  # a negative length
    short, ordinary = pair.answers(bytes(frame))
    assert short == ordinary
    assert pair.logs() == before


@settings(
    max_examples=examples(300),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    database=None,
)
@given(
    version=st.sampled_from([3, 5, 8, 9, 12, 13]),
    changes=st.lists(st.tuples(st.integers(2, 90), st.integers(0, 255)), max_size=3),
    cut=st.integers(0, 60),
    extra=st.binary(max_size=4),
)
def test_mutated_frames_are_answered_alike(
    pair: Pair, version: int, changes: list[tuple[int, int]], cut: int, extra: bytes
) -> None:
    frame = bytearray(frame_of(single(version, records=batch()), version))
    for at, value in changes:
        frame[min(at, len(frame) - 1)] = value
    mutated = bytes(frame[: len(frame) - cut]) + extra
    short, ordinary = pair.answers(mutated)
    assert short == ordinary
    assert pair.logs()[0][0] == pair.logs()[1][0]
