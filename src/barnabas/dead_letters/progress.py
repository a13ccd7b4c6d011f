"""Which dead letters were sent back: offsets of a group, and the texts stored with them."""

from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import fetch_offsets_and_metadata
from barnabas.client.group.progress_groups import REPLAY_SUFFIX
from barnabas.dead_letters.letters import LetterCluster
from barnabas.dead_letters.passed_over import PassedOver


class Replayed(NamedTuple):
    """How far replays of a partition are, and what they have passed over before that."""

    end: int = 0
    passed_over: PassedOver = PassedOver()

    def has(self, offset: int) -> bool:
        """Whether a letter was sent back for certain."""
        return self.sent_back(offset) is True

    def sent_back(self, offset: int) -> bool | None:
        """Whether a letter was sent back; None if it is not known."""
        if offset >= self.end or self.passed_over.is_known(offset):
            return False
        return None if self.passed_over.is_uncertain(offset) else True


def group_of(topic: str) -> str:
    """The group that records which were sent back."""
    return f"{topic}{REPLAY_SUFFIX}"


async def replayed_up_to(
    cluster: LetterCluster, topic: str, *, stable: list[TopicPartition] | None = None
) -> dict[TopicPartition, Replayed]:
    """What was sent back; with `stable`, of these partitions, after transactions have ended."""
    async with cluster.client() as client:
        found = await fetch_offsets_and_metadata(
            client, group_of(topic), stable, stable=stable is not None
        )
    return {
        each: Replayed(one.offset, PassedOver.decode(one.metadata)) for each, one in found.items()
    }
