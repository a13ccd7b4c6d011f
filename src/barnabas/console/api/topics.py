"""Topics: listed, created, described, grown, emptied, deleted."""

import asyncio
from http import HTTPStatus
from typing import Any

from barnabas.client.admin.log_directories import log_directories
from barnabas.client.admin.topics import (
    BROKER_DEFAULT,
    create_partitions,
    create_topic,
    delete_records,
    delete_topics,
)
from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicPartition
from barnabas.client.connect.environment import RETRY
from barnabas.console.answers import ApiError
from barnabas.console.api.parameters import (
    CONFIRM,
    DESCENDING,
    PAGE,
    PAGE_SIZE,
    SEARCH,
    TOPIC,
    sort_parameter,
)
from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.console.messages.positions import bounds_of
from barnabas.console.watch.topic_rows import SORT_KEYS, select
from barnabas.errors import BarnabasError, BrokerError

_VISIBLE_WITHIN_S = 5.0


async def list_topics(call: Call) -> dict[str, Any]:
    looked = await call.cluster.watch.look()
    rows = select(
        [] if looked is None else looked.topics,
        search=call.text("search"),
        internal=call.flag("internal"),
        sort=call.text("sort"),
        descending=call.flag("descending"),
    )
    size, page = call.number("size"), call.number("page")
    shown = rows[(page - 1) * size : page * size]
    return {
        "total": len(rows),
        "page": page,
        "size": size,
        "at_ms": looked and looked.at_ms,
        "error": call.cluster.watch.error,
        "topics": [row._asdict() for row in shown],
    }


async def describe_topic(call: Call) -> dict[str, Any]:
    topic = call.text("topic")
    client = call.cluster.client
    metadata = (await client.topics([topic]))[topic]
    bounds = await bounds_of(client, topic)
    names = [TopicPartition(topic, each.partition) for each in metadata.partitions]
    sizes = await _sizes(call, names)
    partitions = []
    for each in metadata.partitions:
        name = TopicPartition(topic, each.partition)
        found = bounds.get(name)
        partitions.append(
            {
                "partition": each.partition,
                "leader": None if each.leader == NO_LEADER else each.leader,
                "leader_epoch": each.leader_epoch,
                "replicas": each.replicas,
                "isr": each.isr,
                "offline_replicas": each.offline_replicas,
                "beginning": found and found.beginning,
                "end": found and found.end,
                "open_from": found.stable if found and found.stable < found.end else None,
                "size": sizes.get(name),
            }
        )
    looked = await call.cluster.watch.look()
    row = next((row for row in looked.topics if row.name == topic), None) if looked else None
    return {
        "name": topic,
        "internal": metadata.is_internal or topic.startswith("__"),
        "id": metadata.topic_id.hex(),
        "partitions": partitions,
        "records_s": row and row.records_s,
        "bytes_in_s": row and row.bytes_in_s,
    }


async def make_topic(call: Call) -> dict[str, Any]:
    settings = call.given("settings") or {}
    if not all(isinstance(each, str) for each in settings.values()):
        raise ApiError(HTTPStatus.BAD_REQUEST, "settings: each has to be text")
    await create_topic(
        call.cluster.client,
        call.text("name"),
        partitions=call.given("partitions") or BROKER_DEFAULT,
        replication_factor=call.given("replication") or BROKER_DEFAULT,
        configs=settings,
    )
    await _until_visible(call, call.text("name"))
    call.cluster.watch.changed()
    return {"created": call.text("name")}


async def grow_topic(call: Call) -> dict[str, Any]:
    await create_partitions(call.cluster.client, call.text("topic"), call.number("total"))
    call.cluster.watch.changed()
    return {"partitions": call.number("total")}


async def empty_topic(call: Call) -> dict[str, Any]:
    topic = call.text("topic")
    _check_confirmed(call, topic)
    metadata = (await call.cluster.client.topics([topic]))[topic]
    names = [TopicPartition(topic, each.partition) for each in metadata.partitions]
    await delete_records(call.cluster.client, dict.fromkeys(names, -1))
    call.cluster.watch.changed()
    return {"emptied": topic}


async def delete_topic(call: Call) -> dict[str, Any]:
    topic = call.text("topic")
    _check_confirmed(call, topic)
    for error in (await delete_topics(call.cluster.client, [topic])).values():
        if error is not None:
            raise error
    call.cluster.watch.changed()
    return {"deleted": topic}


async def _until_visible(call: Call, topic: str) -> None:
    """Brokers hear of a topic one after the other; the page that follows should find it."""
    environment = call.cluster.client.environment
    deadline = environment.monotonic() + _VISIBLE_WITHIN_S
    for pause in RETRY.pauses(environment.random):
        try:
            await bounds_of(call.cluster.client, topic)
        except BrokerError:
            if environment.monotonic() + pause > deadline:
                return
            await asyncio.sleep(pause)
        else:
            return


def _check_confirmed(call: Call, name: str) -> None:
    if call.text("confirm") != name:
        raise ApiError(
            HTTPStatus.BAD_REQUEST,
            f"{call.text('confirm')[:80]!r} is not the name of the topic",
            f"Type {name} to confirm.",
        )


async def _sizes(call: Call, names: list[TopicPartition]) -> dict[TopicPartition, int]:
    """Bytes of the largest replica; nothing where the user may not see them."""
    sizes: dict[TopicPartition, int] = {}
    try:
        directories = await log_directories(call.cluster.client, names)
    except BarnabasError:
        return sizes
    for directory in directories:
        for name, size in directory.sizes.items():
            sizes[name] = max(size, sizes.get(name, 0))
    return sizes


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/topics",
        "A page of the list of topics.",
        list_topics,
        (
            SEARCH,
            sort_parameter(SORT_KEYS),
            DESCENDING,
            PAGE,
            PAGE_SIZE,
            Parameter("internal", "boolean", "With internal topics.", False),
        ),
    ),
    Endpoint(
        "POST",
        "/api/topics",
        "Create a topic.",
        make_topic,
        body=(
            Parameter("name", "string", "Name.", required=True),
            Parameter("partitions", "integer", "Default: the broker's.", minimum=1, maximum=10_000),
            Parameter("replication", "integer", "Default: the broker's.", minimum=1, maximum=100),
            Parameter("settings", "object", "Settings by name, as text."),
        ),
        changes=True,
    ),
    Endpoint("GET", "/api/topics/{topic}", "One topic.", describe_topic, (TOPIC,)),
    Endpoint(
        "POST",
        "/api/topics/{topic}/partitions",
        "Grow a topic.",
        grow_topic,
        (TOPIC,),
        (Parameter("total", "integer", "Partitions afterwards.", required=True, minimum=2),),
        changes=True,
    ),
    Endpoint(
        "POST",
        "/api/topics/{topic}/empty",
        "Delete all records of a topic.",
        empty_topic,
        (TOPIC,),
        (CONFIRM,),
        changes=True,
    ),
    Endpoint(
        "DELETE",
        "/api/topics/{topic}",
        "Delete a topic.",
        delete_topic,
        (TOPIC,),
        (CONFIRM,),
        changes=True,
    ),
)
