"""Anchors of a flow: what can be said of offsets without reports of what was copied.

It needs an order of reading: first the end of the target's committed records, then the flow's
position, waiting for a transaction that is about to commit it. Only then are all records from that
position on behind that end.

What is committed between the two reads makes the anchor too low, so it is taken again. Otherwise a
group would stay before the last marker, or repeat records, until the flow copies something else.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import LATEST, list_offsets
from barnabas.mirror.flow import Flow
from barnabas.mirror.names import upstream_topic
from barnabas.mirror.offsets.translations import Translations
from barnabas.mirror.positions import fetch_positions

_PATIENCE_S = 1.0
_AT_ONCE = 64


async def take_anchors(
    flow: Flow,
    target: ClusterClient,
    translations: Translations,
    positions: Mapping[TopicPartition, int] | None = None,
) -> None:
    """Anchor the partitions that were copied since their end was last looked up.

    `positions` are those of the partitions of the target that matter, as far as they are known;
    without them it is all partitions of the flow.

    Each is asked for by itself: among many there is always one whose transaction is about to
    commit. One that goes on for long is left for the next time.
    """
    if positions is None:
        found = await fetch_positions(target, flow)
        positions = {there: position.offset for there, position in found.items()}
    moved = {
        there: offset
        for there, offset in positions.items()
        if not translations.is_anchored(there, offset)
    }
    if not moved:
        return
    ends = await list_offsets(target, dict.fromkeys(moved, LATEST), IsolationLevel.READ_COMMITTED)

    async def anchor(there: TopicPartition) -> None:
        topic = upstream_topic(flow, there.topic)
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                found = await fetch_positions(target, flow, [there], stable=True)
                if topic is not None and there in found:
                    here = TopicPartition(topic, there.partition)
                    position, end = found[there].offset, ends[there].offset
                    translations.anchor(here, there, position, end, before=moved[there])

    names = list(moved)
    for some in range(0, len(names), _AT_ONCE):
        await asyncio.gather(*map(anchor, names[some : some + _AT_ONCE]))
