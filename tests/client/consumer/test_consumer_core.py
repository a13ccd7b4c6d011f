"""Positions, seeking, and answers that come too late or broken."""

import asyncio
from collections.abc import Mapping
from copy import copy

import pytest

from barnabas.backoff import Backoff
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST
from barnabas.errors import BrokerError, CorruptRecords, DataLost, InvalidArgument
from barnabas.records.encode import encode_batch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.messages.metadata import MetadataRequest, MetadataResponse
from tests.client.core_consumer import CoreConsumer
from tests.client.fake_broker import FakeBroker
from tests.client.patient_time import run

T0 = TopicPartition("t", 0)


def batch(first: int, last: int, *, control: bool = False) -> bytes:
    rows = [(1_000 + offset, None, b"%d" % offset, ()) for offset in range(first, last + 1)]
    return bytes(encode_batch(rows, base_offset=first, control=control))


class Logs:
    """Answers fetches of topic t from batches, given by their first offset."""

    def __init__(self, broker: FakeBroker, batches: Mapping[int, bytes], end: int) -> None:
        self.batches = batches
        self.end = end
        self.error: int = ErrorCode.NONE
        self.delay = 0.0
        broker.on(FetchRequest, self.answer)
        broker.on(ListOffsetsRequest, self.earliest)

    async def answer(self, request: FetchRequest) -> FetchResponse:
        await asyncio.sleep(self.delay)
        offset = request.topics[0].partitions[0].fetch_offset
        known = [first for first in self.batches if first <= offset]
        if offset >= self.end or not known:
            await asyncio.sleep(0.02)
        data = PartitionData(high_watermark=self.end, error_code=self.error)
        if not self.error and not 0 <= offset <= self.end:
            data.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        elif offset < self.end and known:
            data.records = self.batches[max(known)]
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[data])])

    def earliest(self, _: ListOffsetsRequest) -> ListOffsetsResponse:
        answer = ListOffsetsPartitionResponse(offset=0)
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", [answer])])


async def read(consumer: CoreConsumer, count: int) -> list[int]:
    """The offsets of the next records; every value must be that of its offset."""
    offsets: list[int] = []
    while len(offsets) < count:
        for message in await consumer.poll():
            assert message.value == b"%d" % message.offset
            offsets.append(message.offset)
    return offsets


def test_records_come_once_and_in_order_from_the_middle_of_a_batch_on() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            Logs(broker, {0: batch(0, 9), 10: batch(10, 14) + batch(15, 19)}, 20)
            async with CoreConsumer(cluster) as consumer:
                await consumer.assign({T0: 4})
                assert await read(consumer, 16) == list(range(4, 20))
                assert consumer.positions == {T0: 20}
                assert await consumer.poll(100) == []

    run(main())


def test_control_batches_move_the_position_and_show_nothing() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            control = batch(2, 2, control=True)
            Logs(broker, {0: batch(0, 1) + control, 3: batch(3, 4)}, 5)
            async with CoreConsumer(cluster) as consumer:
                await consumer.assign({T0: 0})
                assert await read(consumer, 4) == [0, 1, 3, 4]

    run(main())


def test_a_batch_cut_off_at_the_end_is_fetched_again() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            Logs(broker, {0: batch(0, 1) + batch(2, 3)[:-5], 2: batch(2, 3)}, 4)
            async with CoreConsumer(cluster) as consumer:
                await consumer.assign({T0: 0})
                assert await read(consumer, 4) == [0, 1, 2, 3]

    run(main())


def test_what_was_under_way_before_a_seek_is_dropped() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            logs = Logs(broker, {0: batch(0, 9), 10: batch(10, 19)}, 20)
            async with CoreConsumer(cluster) as consumer:
                await consumer.assign({T0: 0})
                assert await read(consumer, 10) == list(range(10))
                logs.delay = 0.02
                await asyncio.sleep(0.05)  # the next fetch has been answered, and waits
                await consumer.seek({T0: 5})
                assert await read(consumer, 15) == list(range(5, 20))
                await consumer.assign({})
                assert await consumer.poll(50) == []

    run(main())


def test_a_position_outside_the_log_is_reset_only_if_that_was_wanted() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            Logs(broker, {0: batch(0, 4)}, 5)
            async with CoreConsumer(cluster, out_of_range=EARLIEST) as consumer:
                await consumer.assign({T0: 99})
                assert await read(consumer, 5) == [0, 1, 2, 3, 4]
            async with CoreConsumer(cluster) as consumer:
                await consumer.assign({T0: 99})
                with pytest.raises(DataLost, match=r"t-0 has no offset 99.*on_data_loss"):
                    await read(consumer, 1)

    run(main())


def test_what_was_fetched_before_it_was_deleted_is_handed_out() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:

            def answer(request: FetchRequest) -> FetchResponse:
                offset = request.topics[0].partitions[0].fetch_offset
                data = PartitionData(high_watermark=25)
                if offset < 10:
                    data.records = batch(0, 9)
                elif offset < 20:
                    data.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
                elif offset < 25:
                    data.records = batch(20, 24)
                return FetchResponse(
                    responses=[FetchableTopicResponse(topic="t", partitions=[data])]
                )

            def earliest(_: ListOffsetsRequest) -> ListOffsetsResponse:
                found = ListOffsetsPartitionResponse(offset=20)
                return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", [found])])

            broker.on(FetchRequest, answer)
            broker.on(ListOffsetsRequest, earliest)
            async with CoreConsumer(cluster, out_of_range=EARLIEST) as consumer:
                await consumer.assign({T0: 0})
                await asyncio.sleep(0.2)  # all of it is fetched, and nothing is handed out
                assert await read(consumer, 15) == [*range(10), *range(20, 25)]

    run(main())


@pytest.mark.parametrize("out_of_range", [None, EARLIEST, LATEST])
def test_an_offset_that_a_former_leader_lacks_is_not_lost(out_of_range: int | None) -> None:
    """One that does not know that another one leads, nor what that one has."""

    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            logs = Logs(broker, {3: batch(3, 4)}, 5)
            logs.error = ErrorCode.OFFSET_OUT_OF_RANGE

            def metadata(request: MetadataRequest) -> MetadataResponse:
                told = broker.metadata(request)
                if broker.count(FetchRequest):
                    logs.error = ErrorCode.NONE
                    another = copy(told.brokers[0])
                    another.node_id = 2
                    told.brokers.append(another)
                    for partition in told.topics[0].partitions if told.topics else ():
                        partition.leader_id, partition.leader_epoch = 2, 1
                return told

            broker.on(MetadataRequest, metadata)
            async with CoreConsumer(cluster, out_of_range=out_of_range) as consumer:
                await consumer.assign({T0: 3})
                assert await read(consumer, 2) == [3, 4]

    run(main())


def test_what_the_leader_has_refused_is_lost_even_if_its_log_has_grown_since() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            logs = Logs(broker, {3: batch(3, 4)}, 5)
            logs.error = ErrorCode.OFFSET_OUT_OF_RANGE

            def offsets(request: ListOffsetsRequest) -> ListOffsetsResponse:
                is_latest = request.topics[0].partitions[0].timestamp == LATEST
                found = ListOffsetsPartitionResponse(offset=5 if is_latest else 0)
                return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", [found])])

            broker.on(ListOffsetsRequest, offsets)
            async with CoreConsumer(cluster) as consumer:
                await consumer.assign({T0: 3})
                with pytest.raises(DataLost, match="no offset 3"):
                    await read(consumer, 2)

    run(main())


def test_a_leader_that_moved_is_looked_for() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            logs = Logs(broker, {0: batch(0, 4)}, 5)
            logs.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
            async with CoreConsumer(cluster) as consumer:
                await consumer.assign({T0: 0})
                assert await consumer.poll(200) == []
                logs.error = ErrorCode.NONE
                assert await read(consumer, 5) == [0, 1, 2, 3, 4]

    run(main())


def test_a_partition_that_is_gone_does_not_keep_the_others_from_being_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "barnabas.client.consumer.unavailable_partitions.RETRY", Backoff(0.02, 0.02)
    )
    t1 = TopicPartition("t", 1)
    end = 3

    def answer(request: FetchRequest) -> FetchResponse:
        answers = []
        for asked in request.topics[0].partitions:
            data = PartitionData(partition_index=asked.partition, high_watermark=end)
            if asked.partition >= len(known):
                data.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif asked.fetch_offset < end:
                data.records = batch(asked.fetch_offset, end - 1)
            answers.append(data)
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=answers)])

    async def main() -> None:
        nonlocal end
        async with FakeBroker({"t": 2}) as broker, ClusterClient(broker.bootstrap) as cluster:
            broker.on(FetchRequest, answer)
            async with CoreConsumer(cluster) as consumer:
                await consumer.assign({t1: 3, T0: 0})
                assert await read(consumer, 3) == [0, 1, 2]  # metadata still has both
                assert list(consumer.unavailable) == [t1]
                broker.topics["t"] = 1
                end = 6
                assert await read(consumer, 3) == [3, 4, 5]
                await asyncio.sleep(0.03)
                await consumer.poll(20)
                assert list(consumer.unavailable) == [t1]
                broker.topics["t"] = 2
                known.append(1)
                await asyncio.sleep(0.03)
                assert await read(consumer, 3) == [3, 4, 5]
                assert not consumer.unavailable

    known = [0]
    run(main())


def test_when_no_partition_is_left_that_is_an_error() -> None:
    async def main() -> None:
        async with (
            FakeBroker({"t": 1}) as broker,
            ClusterClient(broker.bootstrap, retry_timeout_ms=200) as cluster,
        ):
            logs = Logs(broker, {0: batch(0, 4)}, 5)
            logs.error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            async with CoreConsumer(cluster) as consumer:
                await consumer.assign({T0: 0})
                with pytest.raises(BrokerError, match="does not exist"):
                    await read(consumer, 1)

    run(main())


def test_what_is_refused_for_good_is_raised() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            logs = Logs(broker, {0: batch(0, 4)}, 5)
            logs.error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            async with CoreConsumer(cluster) as consumer:
                await consumer.assign({T0: 0})
                with pytest.raises(BrokerError, match="not allowed"):
                    await read(consumer, 1)

    run(main())


def test_damaged_records_are_called_so() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            damaged = bytearray(batch(0, 4))
            damaged[-3] ^= 1
            Logs(broker, {0: bytes(damaged)}, 5)
            async with CoreConsumer(cluster) as consumer:
                await consumer.assign({T0: 0})
                with pytest.raises(CorruptRecords, match="t-0: the batch at offset 0 is damaged"):
                    await read(consumer, 1)

    run(main())


def test_positions_that_cannot_be_are_refused() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 1}) as broker, ClusterClient(broker.bootstrap) as cluster:
            consumer = CoreConsumer(cluster)
            with pytest.raises(InvalidArgument, match="negative"):
                await consumer.assign({T0: -1})
            with pytest.raises(InvalidArgument, match="not assigned"):
                await consumer.seek({T0: 1})

    run(main())
