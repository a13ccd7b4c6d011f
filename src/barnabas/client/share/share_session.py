"""A share session: the epochs of its requests, and the partitions that are in it.

    epoch 0         opens it, with all partitions, and without acknowledgements
    epoch 1, 2, …   changes it: partitions that are new, or forgotten
    epoch -1        closes it; the leader releases what this member has locked there

Fetches and acknowledgements share one sequence of epochs: the leader refuses one out of order, and
also the answer to a fetch that was overtaken.
"""

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition

FINAL_EPOCH = -1
_MAX_EPOCH = 2**31 - 1


class SharePartition(NamedTuple):
    """A partition by the id of its topic, and by its name for people and metadata."""

    topic_id: bytes
    topic: str
    partition: int

    @property
    def name(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class SessionStep(NamedTuple):
    """What the next fetch has to say."""

    epoch: int
    added: list[SharePartition]
    forgotten: list[SharePartition]


class ShareSession:
    """Of one member with one leader."""

    def __init__(self) -> None:
        self._next_epoch = 0
        self._partitions: set[SharePartition] = set()

    @property
    def is_open(self) -> bool:
        return self._next_epoch > 0

    def next_fetch(self, wanted: Iterable[SharePartition]) -> SessionStep:
        """Take the next epoch, for a fetch from these partitions."""
        chosen = set(wanted)
        step = SessionStep(
            self._next_epoch,
            sorted(chosen - self._partitions),
            sorted(self._partitions - chosen) if self.is_open else [],
        )
        self._partitions = chosen
        self._advance()
        return step

    def next_acknowledge(self) -> int:
        """Take the next epoch, for acknowledgements alone."""
        assert self.is_open
        taken = self._next_epoch
        self._advance()
        return taken

    def reset(self) -> None:
        """The leader does not know it, or knows another epoch: the next fetch opens a new one."""
        self._next_epoch = 0
        self._partitions = set()

    def _advance(self) -> None:
        self._next_epoch = _after(self._next_epoch)


def _after(epoch: int) -> int:
    return 1 if epoch == _MAX_EPOCH else epoch + 1
