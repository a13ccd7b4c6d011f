"""The last record of a key in a topic."""

from collections.abc import Mapping, Sequence

from barnabas.aio.consumer import Consumer
from barnabas.cli.records.consume_loop import EndOffsets, named_partitions
from barnabas.cli.records.start_offsets import Start, start_offsets
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST
from barnabas.records.message import Message
from barnabas.records.record import Record

_POLL_S = 0.2


async def last_record(
    bootstrap: str,
    cluster: ClusterClient,
    topic: str,
    key: bytes,
    only: Sequence[int] | None,
    client_id: str,
    security: Mapping[str, str],
) -> tuple[TopicPartition, Record] | None:
    """What is committed now; None if there is none.

    All partitions are read unless it is said which: clients differ in where they send a key. Of
    several that have it, the one with the newest record counts.
    """
    partitions = await named_partitions(cluster, [topic], only)
    isolation = IsolationLevel.READ_COMMITTED
    offsets = await start_offsets(cluster, partitions, Start(timestamp=EARLIEST), isolation)
    ends = EndOffsets(cluster, isolation)
    found: dict[int, Message] = {}
    async with Consumer(
        bootstrap, on_data_loss="earliest", client_id=client_id, security=security
    ) as consumer:
        await consumer.assign(offsets)
        await ends.assigned(partitions)
        while not await ends.reached(consumer):
            for message in await consumer.poll(_POLL_S):
                if message.key == key:
                    found[message.partition] = message
    newest = max(found.values(), key=lambda each: each.timestamp_ms, default=None)
    if newest is None:
        return None
    record = Record(newest.timestamp_ms, newest.key, newest.value, newest.headers, newest.offset)
    return TopicPartition(topic, newest.partition), record
