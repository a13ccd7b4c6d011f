"""How far a mirror has copied, in the shape of Mirror Maker 2's offsets.

    {"partition": {"cluster": "A", "topic": "orders", "partition": 0}, "offset": {"offset": 17}}

Positions are committed offsets in the mirror's target, so they are read and changed there. The
offset here is that of the record which is copied next; Mirror Maker's is that of the last one.
"""

from collections.abc import Mapping
from typing import Any

from barnabas.client.admin.groups import delete_groups
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import commit_offsets
from barnabas.errors import InvalidArgument, UnknownGroup
from barnabas.mirror.flow import Flow
from barnabas.mirror.mirror_maker.connector_settings import flow_of
from barnabas.mirror.names import remote_topic, upstream_topic
from barnabas.mirror.positions import fetch_positions

_SHAPE = (
    '{"offsets": [{"partition": {"cluster": "A", "topic": "t", "partition": 0}, '
    '"offset": {"offset": 5}}]}'
)


async def mirror_offsets(config: Mapping[str, str]) -> list[dict[str, Any]]:
    """The positions of a mirror; raises `BarnabasError`."""
    flow = flow_of(config).flow
    async with flow.target.client() as target:
        found = await fetch_positions(target, flow)
    return [
        {
            "partition": {"cluster": flow.source.name, "topic": here, "partition": there.partition},
            "offset": {"offset": position.offset},
        }
        for there, position in sorted(found.items())
        if (here := upstream_topic(flow, there.topic)) is not None
    ]


async def forget_mirror_offsets(config: Mapping[str, str]) -> None:
    """Let a mirror that does not run copy everything again; raises `BarnabasError`."""
    flow = flow_of(config).flow
    async with flow.target.client() as target:
        failed = await delete_groups(target, [flow.group_id])
    for error in failed.values():
        if error is not None and not isinstance(error, UnknownGroup):
            raise error


async def change_mirror_offsets(config: Mapping[str, str], body: Mapping[str, Any]) -> None:
    """Let a mirror that does not run go on elsewhere; raises `BarnabasError`."""
    flow = flow_of(config).flow
    wanted = _wanted(flow, body)
    async with flow.target.client() as target:
        topics = await target.refresh({each.topic for each in wanted})
        for each in wanted:
            known = topics.get(each.topic)
            if known is None or each.partition >= len(known.partitions):
                raise InvalidArgument(f"{flow.target.name} has no partition {each}")
        await commit_offsets(target, flow.group_id, wanted)


def _wanted(flow: Flow, body: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """Offsets of the source by partition of the target."""
    found = {}
    try:
        for each in body["offsets"]:
            place, offset = each["partition"], int(each["offset"]["offset"])
            if place["cluster"] != flow.source.name:
                raise InvalidArgument(
                    f"cluster {place['cluster']} is not the source, which is {flow.source.name}"
                )
            if offset < 0:
                raise InvalidArgument(f"offset {offset}: use 0 or more")
            there = remote_topic(flow, str(place["topic"]))
            found[TopicPartition(there, int(place["partition"]))] = offset
    except (KeyError, TypeError, ValueError):
        raise InvalidArgument(f"write {_SHAPE}") from None
    if not found:
        raise InvalidArgument(f"name at least one offset: {_SHAPE}")
    return found
