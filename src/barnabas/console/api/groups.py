"""Groups of every type: listed, described, moved, deleted."""

import asyncio
from http import HTTPStatus
from time import time
from typing import Any

from barnabas.client.admin.descriptions import GroupOffset
from barnabas.client.admin.group_offsets import describe_offsets
from barnabas.client.admin.group_reset import (
    Move,
    ResetKind,
    ResetTarget,
    apply_reset,
    plan_reset,
)
from barnabas.client.admin.groups import delete_groups, describe_group
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.progress_groups import purpose_of
from barnabas.console.answers import ApiError
from barnabas.console.api.parameters import (
    CONFIRM,
    DESCENDING,
    PAGE,
    PAGE_SIZE,
    SEARCH,
    sort_parameter,
)
from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.console.messages.ranges import RangeReader
from barnabas.console.watch.group_rows import SORT_KEYS, select
from barnabas.coordination.mirror_groups import is_of_mirror
from barnabas.errors import BarnabasError

GROUP = Parameter("id", "string", "Id of the group.", required=True)
_MAX_TIMES = 64
"""Partitions whose time behind is looked up: each is a request."""
_LOOK_BYTES = 64 * 1024


async def list_groups(call: Call) -> dict[str, Any]:
    looked = await call.cluster.watch.look()
    rows = select(
        [] if looked is None else looked.groups,
        search=call.text("search"),
        kind=call.text("type"),
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
        "groups": [
            {**row._asdict(), "topics": row.topics[:5], "topic_count": len(row.topics)}
            for row in shown
        ],
    }


async def show_group(call: Call) -> dict[str, Any]:
    group_id = call.text("id")
    client = call.cluster.client
    group = await describe_group(client, group_id)
    offsets = await describe_offsets(client, group)
    behind = await _behind(
        call,
        {
            name: each.committed
            for name, each in offsets.items()
            if each.lag and each.committed is not None
        },
    )
    history = call.cluster.watch.lags
    await call.cluster.watch.look()
    now_ms = int(time() * 1000)
    lags = {name: _lag(each) for name, each in offsets.items()}
    lag: int | None = sum(each for each in lags.values() if each is not None)
    if is_of_mirror(group_id):
        lag = None
    return {
        "id": group_id,
        "type": group.group_type.value or "unknown",
        "state": group.state,
        "protocol": group.protocol_type,
        "assignor": group.assignor,
        "epoch": group.epoch,
        "members": [
            {
                "id": each.member_id,
                "instance_id": each.group_instance_id,
                "client_id": each.client_id,
                "host": each.host.removeprefix("/"),
                "partitions": [str(name) for name in each.partitions],
                "topics": each.topics,
            }
            for each in group.members
        ],
        "lag": lag,
        "records_progress": purpose_of(group_id),
        "uncommitted": sum(each.lag or 0 for name, each in offsets.items() if lags[name] is None),
        "behind_ms": max(behind.values(), default=None),
        "partitions": [
            {
                "topic": name.topic,
                "partition": name.partition,
                "committed": each.committed,
                "end": each.end,
                "lag": each.lag if lags[name] is None else lags[name],
                "deleted": _deleted(each),
                "member": each.member_id,
                "behind_ms": behind.get(name),
                "in_flight": None
                if each.in_flight is None
                else {
                    "acquired": each.in_flight.acquired,
                    "released": each.in_flight.released,
                    "done": each.in_flight.done,
                    "deliveries": each.in_flight.deliveries,
                },
            }
            for name, each in offsets.items()
        ],
        "history": [] if lag is None else [*history.of_group(group_id), (now_ms, lag)],
        "partition_history": {
            str(name): [*points, (now_ms, lags[name] or 0)]
            for name, points in history.of_partitions(group_id, offsets).items()
            if points
        },
    }


def _lag(offset: GroupOffset) -> int | None:
    """As lists and plots count it, and Kafka's tools; None if nothing is committed."""
    if offset.told_lag is not None:
        return offset.told_lag
    if offset.committed is None or offset.end is None:
        return None
    return max(0, offset.end - offset.committed)


def _deleted(offset: GroupOffset) -> int:
    """Records of the lag that were deleted before they were read."""
    if offset.told_lag is not None or offset.committed is None:
        return 0
    return max(0, (offset.beginning or 0) - offset.committed)


async def _behind(call: Call, committed: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
    """How long ago the next record of each partition was written."""
    now_ms = int(time() * 1000)

    async def look(name: TopicPartition, offset: int) -> tuple[TopicPartition, int | None]:
        reader = RangeReader(
            call.cluster.client, call.cluster.records, name, 1 << 62, max_bytes=_LOOK_BYTES
        )
        try:
            piece = await reader.read_piece(offset, offset + 1)
        except BarnabasError:
            return name, None
        at_ms = piece.records[0].message.timestamp_ms if piece.records else -1
        return name, max(0, now_ms - at_ms) if at_ms >= 0 else None

    some = sorted(committed.items())[:_MAX_TIMES]
    found = await asyncio.gather(*(look(*each) for each in some))
    return {name: each for name, each in found if each is not None}


async def reset_group(call: Call) -> dict[str, Any]:
    """The plan, which is applied only with `execute`."""
    client, group_id = call.cluster.client, call.text("id")
    target = ResetTarget(ResetKind(call.text("to")), call.given("number") or 0)
    plan = await plan_reset(client, group_id, await _partitions(call), target)
    if call.flag("execute"):
        await apply_reset(client, group_id, plan)
        call.cluster.watch.changed()
    return {"executed": call.flag("execute"), "plan": [_move(each) for each in plan]}


async def _partitions(call: Call) -> list[TopicPartition] | None:
    topic = call.given("topic")
    if not topic:
        return None
    metadata = (await call.cluster.client.topics([topic]))[topic]
    names = [TopicPartition(topic, each.partition) for each in metadata.partitions]
    partition = call.given("partition")
    if partition is None:
        return names
    if partition >= len(names):
        raise ApiError(HTTPStatus.BAD_REQUEST, f"{topic} has partitions 0 to {len(names) - 1}")
    return [names[partition]]


def _move(move: Move) -> dict[str, Any]:
    change = None if move.current is None else move.new - move.current
    return {
        "topic": move.partition.topic,
        "partition": move.partition.partition,
        "current": move.current,
        "new": move.new,
        "change": change,
    }


async def delete_group(call: Call) -> dict[str, Any]:
    group_id = call.text("id")
    if call.text("confirm") != group_id:
        raise ApiError(
            HTTPStatus.BAD_REQUEST, "what was typed is not the id of the group", f"Type {group_id}."
        )
    purpose = purpose_of(group_id)
    if purpose is not None:
        raise ApiError(
            HTTPStatus.CONFLICT,
            f"group {group_id} is not deleted: {purpose}",
            f"barnabas groups delete {group_id} --forget-progress deletes it all the same.",
        )
    for error in (await delete_groups(call.cluster.client, [group_id])).values():
        if error is not None:
            raise error
    call.cluster.watch.changed()
    return {"deleted": group_id}


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/groups",
        "A page of the list of groups.",
        list_groups,
        (
            SEARCH,
            sort_parameter(SORT_KEYS),
            DESCENDING,
            PAGE,
            PAGE_SIZE,
            Parameter("type", "string", "Type: classic, consumer or share.", ""),
        ),
    ),
    Endpoint("GET", "/api/group", "One group: members, offsets, lag.", show_group, (GROUP,)),
    Endpoint(
        "POST",
        "/api/group/reset",
        "Plan new committed offsets, and with `execute` commit them.",
        reset_group,
        body=(
            GROUP,
            Parameter(
                "to", "string", "Where to.", required=True, choices=tuple(map(str, ResetKind))
            ),
            Parameter("number", "integer", "Offset, time in ms, or by how many records."),
            Parameter("topic", "string", "Default: all topics that the group has committed."),
            Parameter("partition", "integer", "Default: all.", minimum=0),
            Parameter("execute", "boolean", "Apply the plan.", False),
        ),
        changes=True,
    ),
    Endpoint(
        "DELETE",
        "/api/group",
        "Delete a group without members.",
        delete_group,
        body=(GROUP, CONFIRM),
        changes=True,
    ),
)
