"""How far each partition was copied: committed offsets of the flow's group, in the target.

They are written by the transactions that write the records, so both are there or neither is. The
partition is the target's, because a group can have offsets of existing topics only; the offset is
the source's. The text that is committed with an offset says which topic it is an offset of:

    TOPIC_ID CLUSTER_ID RECENT      32 hexadecimal digits, the id of the source's cluster, and
                                    where records are in the target (`offsets/recent_runs.py`)

Committed offsets of a group without members expire (`offsets.retention.minutes` of the target,
seven days), so a running flow commits those of idle partitions again.
"""

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.client.admin.transactions import fence_producer, list_transactions
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import fetch_offsets_and_metadata
from barnabas.mirror.flow import Flow
from barnabas.mirror.offsets.recent_runs import RecentRuns, recent_runs
from barnabas.wire.primitives import ZERO_UUID


class SourcePosition(NamedTuple):
    """Where to go on in a partition of the source."""

    offset: int
    """Of the record that is copied next."""
    topic_id: bytes = ZERO_UUID
    """Of the source's topic; zeros if it is not known."""
    cluster_id: str = ""
    recent: RecentRuns | None = None
    """Where the records before it are; None if it is not known."""

    @property
    def text(self) -> str:
        """What is committed with the offset."""
        recent = "" if self.recent is None else self.recent.text
        return f"{self.topic_id.hex()} {self.cluster_id} {recent}".rstrip()

    def is_of(self, topic_id: bytes) -> bool:
        """Whether it may be a position in this topic: the id is the same, or one is not known."""
        return self.topic_id == topic_id or ZERO_UUID in (self.topic_id, topic_id)


def position_of(offset: int, text: str) -> SourcePosition:
    """The position that was committed; a text that somebody else has committed says nothing."""
    topic_id, _, rest = text.partition(" ")
    cluster_id, _, recent = rest.partition(" ")
    try:
        raw = bytes.fromhex(topic_id)
    except ValueError:
        raw = b""
    if len(raw) != len(ZERO_UUID):
        return SourcePosition(offset)
    return SourcePosition(offset, raw, cluster_id, recent_runs(recent))


def text_without_recent(text: str) -> str:
    """What stays true of a committed text if the target's records get other offsets."""
    return " ".join(text.split(" ")[:2]).rstrip()


async def fetch_positions(
    target: ClusterClient,
    flow: Flow,
    partitions: Iterable[TopicPartition] | None = None,
    *,
    stable: bool = False,
) -> dict[TopicPartition, SourcePosition]:
    """The positions of partitions of the target; of all if none are named.

    Those that were never copied are left out. With `stable`, transactions that are about to commit
    are waited for, if partitions are named.
    """
    found = await fetch_offsets_and_metadata(target, flow.group_id, partitions, stable=stable)
    return {name: position_of(each.offset, each.metadata) for name, each in found.items()}


async def abort_open_transactions(target: ClusterClient, flow: Flow) -> int:
    """Fence what still writes for this flow, and roll back what it has left open.

    Returns how many there were. Otherwise readers of the target would wait for their timeout.
    """
    prefix = flow.transactional_id(TopicPartition("", 0)).removesuffix("-0")
    open_ids = [
        each.transactional_id
        for each in await list_transactions(target, states=["Ongoing"])
        if each.transactional_id.startswith(prefix)
    ]
    for each in open_ids:
        await fence_producer(target, each)
    return len(open_ids)
