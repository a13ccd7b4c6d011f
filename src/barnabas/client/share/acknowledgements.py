"""What is still to be acknowledged, by partition.

A leader takes all acknowledgements of a partition in one request, or none of them: one record whose
lock is lost fails those beside it. They are then sent again one by one.
"""

from collections.abc import Callable
from typing import NamedTuple

from barnabas.client.share.acknowledge_type import AcknowledgeType
from barnabas.client.share.queue_message import Acknowledgement, QueueMessage
from barnabas.client.share.share_session import SharePartition


class PendingAcknowledgement(NamedTuple):
    """Of one offset. A gap has neither a message nor somebody who waits."""

    offset: int
    kind: AcknowledgeType
    message: QueueMessage | None = None
    answer: Acknowledgement | None = None
    alone: bool = False
    """Whether it goes in a request without others of its partition."""


TakenAcknowledgements = dict[SharePartition, list[PendingAcknowledgement]]


class PendingAcknowledgements:
    """Of one member, for all leaders."""

    def __init__(self) -> None:
        self._pending: dict[SharePartition, dict[int, PendingAcknowledgement]] = {}

    def add(self, partition: SharePartition, pending: PendingAcknowledgement) -> None:
        """An offset has at most one: what ends a lock replaces its renewal, and of two that end it
        the first counts, whose answer is for both."""
        by_offset = self._pending.setdefault(partition, {})
        before = by_offset.get(pending.offset)
        if before is not None and before.kind is not AcknowledgeType.RENEW:
            before, pending = pending, before
        by_offset[pending.offset] = pending
        if before is not None and before.answer is not None:
            if before.kind is AcknowledgeType.RENEW or pending.answer is None:
                before.answer.finish(None)  # nobody needs it any more
            else:
                before.answer.follow(pending.answer)

    def relock(self, partition: SharePartition, offset: int, deadline: float) -> bool:
        """Whether the record is to be acknowledged already: its new lock is just for that."""
        found = self._pending.get(partition, {}).get(offset)
        if found is None or found.message is None or found.kind is AcknowledgeType.RENEW:
            return False
        found.message.deadline = deadline
        return True

    def add_alone(self, partition: SharePartition, taken: list[PendingAcknowledgement]) -> None:
        """Send these again, each in its own request."""
        for each in taken:
            self.add(partition, each._replace(alone=True))

    def partitions(self) -> list[SharePartition]:
        """Those that have something to be acknowledged."""
        return list(self._pending)

    def has_renewals(self, leads: Callable[[SharePartition], bool]) -> bool:
        """Whether locks are to be renewed, which no fetch does."""
        return any(
            each.kind is AcknowledgeType.RENEW
            for partition, by_offset in self._pending.items()
            if leads(partition)
            for each in by_offset.values()
        )

    def expired(self, now: float) -> list[tuple[SharePartition, PendingAcknowledgement]]:
        """Take what no leader was found for while its lock held."""
        late = [
            (partition, each)
            for partition, by_offset in self._pending.items()
            for each in by_offset.values()
            if each.message is not None and each.message.deadline <= now
        ]
        for partition, each in late:
            del self._pending[partition][each.offset]
            if not self._pending[partition]:
                del self._pending[partition]
        return late

    def take(
        self, leads: Callable[[SharePartition], bool], *, renewals: bool
    ) -> TakenAcknowledgements:
        """Take what goes into one request to the leader of these partitions."""
        taken: TakenAcknowledgements = {}
        for partition in [each for each in self._pending if leads(each)]:
            chosen = self._choose(self._pending[partition], renewals=renewals)
            for each in chosen:
                del self._pending[partition][each.offset]
            if not self._pending[partition]:
                del self._pending[partition]
            if chosen:
                taken[partition] = chosen
        return taken

    def _choose(
        self, by_offset: dict[int, PendingAcknowledgement], *, renewals: bool
    ) -> list[PendingAcknowledgement]:
        fitting = [
            each
            for each in by_offset.values()
            if renewals or each.kind is not AcknowledgeType.RENEW
        ]
        together = [each for each in fitting if not each.alone]
        return together or fitting[:1]
