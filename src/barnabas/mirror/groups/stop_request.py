"""Telling a driver elsewhere to end: a number in the target that grows.

It is a committed offset of a group of its own. A driver remembers the number that it has started
with, and ends when there is a larger one; no clocks are compared. Starting a flow again needs no
further word.
"""

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import commit_offsets, fetch_committed
from barnabas.mirror.flow import Flow
from barnabas.mirror.names import syncs_topic_of


class StopRequest:
    """The number of one flow."""

    def __init__(self, flow: Flow, target: ClusterClient) -> None:
        self._target = target
        self._group = f"{flow.group_id}.stop"
        self._place = TopicPartition(syncs_topic_of(flow), 0)

    async def number(self) -> int:
        """How often the flow was stopped."""
        found = await fetch_committed(self._target, self._group, [self._place])
        return found.get(self._place, 0)

    async def send(self) -> None:
        """Stop the drivers that run now."""
        await commit_offsets(self._target, self._group, {self._place: await self.number() + 1})
