"""The core of a `Table`: the last value of each key of a topic, in memory, kept current.

A record without a value, a tombstone, takes its key away. Keys and values stay bytes: the caller of
a lookup decodes them. `entries` is changed in the core's thread and read by any: each change is one
operation of a dict.
"""

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.consumer.topic_follower import TopicFollower
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.records.message import Message


class TableCore(TopicFollower[dict[bytes, bytes]]):
    """Follows one topic. It begins with its first use."""

    def __init__(self, cluster: ClusterClient, topic: str, isolation: IsolationLevel) -> None:
        super().__init__(cluster, topic, isolation, dict, _apply)

    @property
    def entries(self) -> dict[bytes, bytes]:
        return self.state


def _apply(entries: dict[bytes, bytes], messages: list[Message]) -> None:
    for message in messages:
        key, value = message.key, message.value
        if key is None:
            continue
        if value is None:
            entries.pop(key, None)
        else:
            entries[key] = value
