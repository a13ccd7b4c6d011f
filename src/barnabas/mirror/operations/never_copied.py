"""Partitions that a flow should copy, by the topics that it names, and has not begun.

Lag is counted from positions, so it says nothing about them.
"""

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.errors import UnknownTopic
from barnabas.mirror.flow import Flow, Names
from barnabas.mirror.names import is_heartbeats, remote_topic
from barnabas.mirror.operations.mirror_clients import MirrorClients
from barnabas.mirror.positions import fetch_positions
from barnabas.mirror.topic_plan import flows


async def never_copied(
    flow: Flow, clients: MirrorClients, *, only_known: bool = False
) -> list[TopicPartition]:
    """Partitions of the source that have records, and of which the flow has no position.

    With `only_known`, in topics that the flow copies to all appearances: it may have been started
    with other names of topics than are given now.
    """
    source = clients.required_source()
    while True:
        topics = await source.refresh(None)
        positions = await fetch_positions(clients.target, flow)
        if only_known:
            begun = {each.topic for each in positions}
            if flow.names is Names.PREFIX:
                begun |= (await clients.target.refresh(None)).keys()
            topics = {
                name: each for name, each in topics.items() if remote_topic(flow, name) in begun
            }
        missing = [
            TopicPartition(name, each.partition)
            for name, topic in sorted(topics.items())
            if flows(flow, name) and not is_heartbeats(flow, name)
            for each in topic.partitions
            if TopicPartition(remote_topic(flow, name), each.partition) not in positions
        ]
        try:
            bounds = await beginning_and_end(source, missing, IsolationLevel.READ_COMMITTED)
        except UnknownTopic:
            continue  # one was deleted just now
        return [each for each, (first, end) in bounds.items() if end > first]
