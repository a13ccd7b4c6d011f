"""Who reads a topic and who writes it, as far as the cluster knows."""

from typing import Any

from barnabas.client.admin.active_producers import ActiveProducer, describe_producers
from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicPartition
from barnabas.console.api.parameters import TOPIC
from barnabas.console.endpoint import Call, Endpoint
from barnabas.coordination.mirror_groups import is_of_mirror

_MAX_WRITERS = 200


async def topic_readers(call: Call) -> dict[str, Any]:
    """Groups that have committed offsets in the topic, but mirrors, which write it."""
    topic = call.text("topic")
    looked = await call.cluster.watch.look()
    readers = []
    for row in [] if looked is None else looked.groups:
        if topic not in row.topics or is_of_mirror(row.id):
            continue
        assert looked is not None
        lags = looked.lags.get(row.id, {})
        lag = sum(each for name, each in lags.items() if name.topic == topic)
        readers.append({"id": row.id, "type": row.type, "state": row.state, "lag": lag})
    return {"groups": sorted(readers, key=lambda each: (-each["lag"], each["id"]))}


async def topic_writers(call: Call) -> dict[str, Any]:
    """Producers that the leaders remember: those that are idempotent or transactional."""
    topic = call.text("topic")
    client = call.cluster.client
    metadata = (await client.topics([topic]))[topic]
    names = [
        TopicPartition(topic, each.partition)
        for each in metadata.partitions
        if each.leader != NO_LEADER
    ]
    by_producer: dict[int, list[ActiveProducer]] = {}
    for each in await describe_producers(client, names):
        by_producer.setdefault(each.producer_id, []).append(each)
    writers: list[dict[str, Any]] = [
        {
            "producer_id": producer_id,
            "partitions": sorted(each.partition.partition for each in found),
            "last_ms": max(each.last_timestamp_ms for each in found),
            "in_transaction": any(each.transaction_start_offset is not None for each in found),
        }
        for producer_id, found in by_producer.items()
    ]
    writers.sort(key=lambda each: -each["last_ms"])
    return {"total": len(writers), "writers": writers[:_MAX_WRITERS]}


ENDPOINTS = (
    Endpoint("GET", "/api/topics/{topic}/readers", "Groups that read it.", topic_readers, (TOPIC,)),
    Endpoint(
        "GET",
        "/api/topics/{topic}/writers",
        "Producers that write it, as far as its leaders know them.",
        topic_writers,
        (TOPIC,),
    ),
)
