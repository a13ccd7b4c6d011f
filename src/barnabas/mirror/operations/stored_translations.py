"""Stored translations of a flow, for what goes on without its driver."""

import asyncio
from time import monotonic

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.mirror.flow import Flow
from barnabas.mirror.groups.anchors import take_anchors
from barnabas.mirror.groups.stored_syncs import restore, stored_sync
from barnabas.mirror.groups.topic_records import TopicReader
from barnabas.mirror.names import is_heartbeats, syncs_topic_of, upstream_topic
from barnabas.mirror.offsets.translations import Translations
from barnabas.mirror.positions import fetch_positions
from barnabas.mirror.recovered_runs import recovered_runs

_PATIENCE_S = 5.0
_LOOK_S = 0.5


async def stored_translations(flow: Flow, target: ClusterClient) -> Translations:
    """What the target knows of a flow."""
    translations = Translations()
    reader = TopicReader(target, syncs_topic_of(flow))
    restore(flow, await reader.read_new(), translations)
    for there, position in (await fetch_positions(target, flow)).items():
        topic = upstream_topic(flow, there.topic)
        if topic is not None and position.recent is not None:
            here = TopicPartition(topic, there.partition)
            found = await recovered_runs(target, there, position.recent)
            translations.extend(here, there, found)
    await take_anchors(flow, target, translations)
    return translations


async def await_stored_syncs(flow: Flow, target: ClusterClient) -> None:
    """Wait until the driver has stored where it has written what it has written.

    That takes it two seconds or so, and without it groups repeat more. A driver that is gone, or
    markers of transactions at the end of the source, make this wait for nothing, so not for long.
    """
    deadline = monotonic() + _PATIENCE_S
    while not await _are_stored(flow, target):
        if monotonic() > deadline:
            return
        await asyncio.sleep(_LOOK_S)


async def _are_stored(flow: Flow, target: ClusterClient) -> bool:
    ends: dict[TopicPartition, int] = {}
    for record in await TopicReader(target, syncs_topic_of(flow)).read_new():
        stored = stored_sync(record)
        if stored is not None and stored.segments:
            ends[stored.partition] = stored.segments[-1].upstream_end
    for there, position in (await fetch_positions(target, flow)).items():
        topic = upstream_topic(flow, there.topic)
        if topic is None or is_heartbeats(flow, topic):
            continue
        if ends.get(TopicPartition(topic, there.partition), 0) < position.offset:
            return False
    return True
