"""Stored translations of a flow, for what goes on without its driver."""

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.mirror.flow import Flow
from barnabas.mirror.formats.internal_topics import offset_syncs_topic
from barnabas.mirror.groups.anchors import take_anchors
from barnabas.mirror.groups.stored_syncs import restore
from barnabas.mirror.groups.topic_records import TopicReader
from barnabas.mirror.offsets.translations import Translations


async def stored_translations(flow: Flow, target: ClusterClient) -> Translations:
    """What the target knows of a flow."""
    translations = Translations()
    reader = TopicReader(target, offset_syncs_topic(flow.source.name))
    restore(flow, await reader.read_new(), translations)
    await take_anchors(flow, target, translations)
    return translations
