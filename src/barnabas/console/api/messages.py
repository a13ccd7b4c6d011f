"""Messages: read, followed, looked at, sent again."""

import asyncio
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.console.answers import ApiError
from barnabas.console.api.parameters import PARTITION, TOPIC
from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.console.messages.newest import MAX_BYTES, newest
from barnabas.console.messages.positions import bounds_of, cursor_of, parse_cursor
from barnabas.console.messages.ranges import DEFAULT_BYTES, Found, RangeReader, size_of
from barnabas.console.messages.shown import WHOLE, show
from barnabas.console.messages.start import AT, FROM, START, start_offsets

_TAIL_BYTES = 4 * 1024 * 1024
_TAIL_RECORDS = 500

OFFSET = Parameter("offset", "integer", "Offset of the record.", required=True, minimum=0)
IN_PARTITION = Parameter(
    "partition", "integer", "Number of the partition.", required=True, minimum=0
)


async def read_messages(call: Call) -> dict[str, Any]:
    """A page of records: the newest first, or from a place on."""
    topic, limit = call.text("topic"), call.number("limit")
    partition = call.given("partition")
    bounds = await bounds_of(call.cluster.client, topic, partition)
    cursor = parse_cursor(topic, call.text("cursor")) if call.given("cursor") else None
    ends = {name: each.end for name, each in bounds.items()}
    if call.text("from") == "newest":
        found = await newest(call.cluster, bounds, cursor, limit)
        records, following = found.records, found.older
    else:
        starts = cursor or await start_offsets(call, bounds)
        records, following = await _forward(call, bounds, starts, limit)
    await call.view.prepare(records)
    return {
        "messages": [show(each, call.view) for each in records],
        "cursor": cursor_of(following) if following else None,
        "tail": cursor_of(ends),
        "total": sum(each.end - each.beginning for each in bounds.values()),
    }


async def _forward(
    call: Call,
    bounds: Any,
    starts: dict[TopicPartition, int],
    limit: int,
) -> tuple[list[Found], dict[TopicPartition, int]]:
    """From offsets on, in order of time; and where the next page begins."""
    positions = {}
    queues: dict[TopicPartition, list[Found]] = {}
    for name, start in starts.items():
        if name in bounds:
            positions[name] = max(start, bounds[name].beginning)
            queues[name] = []

    async def fill(name: TopicPartition) -> None:
        reader = RangeReader(
            call.cluster.client,
            call.cluster.records,
            name,
            bounds[name].stable,
            max_bytes=min(DEFAULT_BYTES, MAX_BYTES // len(queues)),
        )
        while not queues[name] and positions[name] < bounds[name].end:
            piece = await reader.read_piece(positions[name], bounds[name].end)
            queues[name], positions[name] = piece.records[:limit], piece.next_offset
            if len(piece.records) > limit:
                positions[name] = piece.records[limit].message.offset

    await asyncio.gather(*map(fill, queues))
    taken: list[Found] = []
    size = 0
    while len(taken) < limit and size < MAX_BYTES:
        ready = [name for name, queue in queues.items() if queue]
        if not ready:
            break
        first = min(ready, key=lambda name: queues[name][0].message.timestamp_ms)
        taken.append(queues[first].pop(0))
        size += size_of(taken[-1:])
        await fill(first)
    following = {
        name: queue[0].message.offset if queue else positions[name]
        for name, queue in queues.items()
        if queue or positions[name] < bounds[name].end
    }
    if following:  # partitions that are read to their ends stay there
        following |= {name: at for name, at in positions.items() if name not in following}
    return taken, following


async def tail_messages(call: Call) -> dict[str, Any]:
    """What has come since a cursor; at most so much that a page can show it."""
    topic = call.text("topic")
    after = parse_cursor(topic, call.text("cursor"))
    bounds = await bounds_of(call.cluster.client, topic, call.given("partition"))
    records: list[Found] = []
    positions = {}
    for name, each in bounds.items():
        start = max(after.get(name, each.end), each.beginning)
        if each.end - start > _TAIL_RECORDS:  # too fast to follow: the last ones
            start = each.end - _TAIL_RECORDS
        if start < each.end and size_of(records) < MAX_BYTES:  # else the next answer has it
            reader = RangeReader(
                call.cluster.client,
                call.cluster.records,
                name,
                each.stable,
                max_bytes=_TAIL_BYTES,
            )
            piece = await reader.read_piece(start, each.end)
            records += piece.records
            start = piece.next_offset
        positions[name] = start
    records.sort(key=lambda each: (each.message.timestamp_ms, each.message.offset))
    await call.view.prepare(records[-_TAIL_RECORDS:])
    return {
        "messages": [show(each, call.view) for each in records[-_TAIL_RECORDS:]],
        "skipped": max(0, len(records) - _TAIL_RECORDS),
        "cursor": cursor_of(positions),
    }


async def read_message(call: Call) -> dict[str, Any]:
    found = await _find(call)
    await call.view.prepare([found])
    return show(found, call.view, WHOLE)


async def download_message(call: Call) -> Response:
    """A value as it is, as a file: no browser shows it."""
    message = call.view.masks.apply((await _find(call)).message)
    name = f"{message.topic}-{message.partition}-{message.offset}.bin"
    return Response(
        message.value or b"",
        media_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


async def send_message_again(call: Call) -> dict[str, Any]:
    message = (await _find(call)).message
    target = call.given("to") or call.text("topic")
    if target != message.topic and call.view.masks.cover_record(message):
        raise ApiError(
            HTTPStatus.FORBIDDEN,
            f"this record of {message.topic} is masked, so it can't be sent to another topic",
        )
    sent = await call.cluster.producer().send(
        target, message.value, message.key, headers=message.headers
    )
    delivery = await sent
    call.cluster.watch.changed()
    return {"topic": target, "partition": delivery.partition, "offset": delivery.offset}


async def _find(call: Call) -> Found:
    topic, offset = call.text("topic"), call.number("offset")
    bounds = await bounds_of(call.cluster.client, topic, call.number("partition"))
    for name, each in bounds.items():
        if each.beginning <= offset < each.end:
            reader = RangeReader(call.cluster.client, call.cluster.records, name, each.stable)
            for found in await reader.read(offset, offset + 1):
                return found
        raise ApiError(
            HTTPStatus.NOT_FOUND,
            f"there is no record at offset {offset} of partition {name}",
            f"The log has {each.beginning} to {each.end - 1}; retention, compaction or a "
            "transaction marker may have taken this one.",
        )
    raise ApiError(HTTPStatus.CONFLICT, "the partition has no leader now", "Try again later.")


LIMIT = Parameter("limit", "integer", "Records at most.", 50, minimum=1, maximum=500)
CURSOR = Parameter("cursor", "string", "Of an earlier answer: PARTITION:OFFSET,…")

ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/topics/{topic}/messages",
        "A page of records.",
        read_messages,
        (TOPIC, PARTITION, FROM, START, AT, LIMIT, CURSOR),
    ),
    Endpoint(
        "GET",
        "/api/topics/{topic}/tail",
        "Records since a cursor.",
        tail_messages,
        (TOPIC, PARTITION, Parameter("cursor", "string", "PARTITION:OFFSET,…", required=True)),
    ),
    Endpoint(
        "GET",
        "/api/topics/{topic}/messages/{partition}/{offset}",
        "One record.",
        read_message,
        (TOPIC, IN_PARTITION, OFFSET),
    ),
    Endpoint(
        "GET",
        "/api/topics/{topic}/messages/{partition}/{offset}/value",
        "The value of one record, as a file.",
        download_message,
        (TOPIC, IN_PARTITION, OFFSET),
    ),
    Endpoint(
        "POST",
        "/api/topics/{topic}/messages/{partition}/{offset}/send-again",
        "Send a copy of a record.",
        send_message_again,
        (TOPIC, IN_PARTITION, OFFSET),
        (Parameter("to", "string", "Topic to send it to. Default: the same."),),
        changes=True,
    ),
)
