"""What happened to one transactional id, told from the committed log and the markers alone.

It knows which steps make sense one after the other, and how each transaction has ended, and says
so loudly when a record or a marker does not fit.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from barnabas.coordination.decision import CoordinatorRecord
from barnabas.transactions import MarkersToWrite, TopicPartition
from barnabas.transactions.image import Identity, TransactionImage
from barnabas.transactions.records import decode_image
from barnabas.transactions.state import TxnState

S = TxnState

FOLLOWERS: dict[TxnState | None, set[TxnState | None]] = {
    None: {S.EMPTY},
    S.EMPTY: {None, S.EMPTY, S.ONGOING, S.PREPARE_ABORT},
    S.ONGOING: {S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT},
    S.PREPARE_COMMIT: {S.COMPLETE_COMMIT},
    S.PREPARE_ABORT: {S.COMPLETE_ABORT},
    S.COMPLETE_COMMIT: {None, S.EMPTY, S.ONGOING, S.PREPARE_ABORT},
    S.COMPLETE_ABORT: {None, S.EMPTY, S.ONGOING, S.PREPARE_ABORT},
}


@dataclass
class End:
    """A transaction whose end is decided."""

    producer_id: int
    producer_epoch: int
    committed: bool
    partitions: frozenset[TopicPartition]
    marked: set[TopicPartition] = field(default_factory=set)
    is_complete: bool = False


class History:
    def __init__(self) -> None:
        self.image: TransactionImage | None = None
        self.ends: list[End] = []
        self._announced: list[tuple[MarkersToWrite, End]] = []
        self._coordinator_of: dict[TopicPartition, int] = {}

    @property
    def ongoing(self) -> frozenset[TopicPartition]:
        """What is part of the transaction that goes on."""
        is_ongoing = self.image is not None and self.image.state is S.ONGOING
        return self.image.partitions if self.image and is_ongoing else frozenset()

    @property
    def last_end(self) -> End | None:
        return self.ends[-1] if self.ends else None

    def read(self, records: Iterable[CoordinatorRecord]) -> None:
        for _, value in records:
            self._step(None if value is None else decode_image(value))

    def start(self, image: TransactionImage) -> None:
        self.image = image

    def _step(self, image: TransactionImage | None) -> None:
        before, self.image = self.image, image
        state = None if image is None else image.state
        assert state in FOLLOWERS[before and before.state], f"{before} -> {image}"
        if before is None or image is None:
            return
        if not image.state.is_prepared:
            _check_identities(before.identity_given_out, image.identity_given_out)
        if image.state is S.ONGOING:
            assert before.identity == image.identity
            assert before.partitions <= image.partitions
            if image.is_kept:
                assert before.partitions == image.partitions, "more is written to what is kept"
        elif image.state.is_prepared:
            assert image.producer_id == before.producer_id
            assert image.producer_epoch - before.producer_epoch in (0, 1)
            assert image.partitions == before.partitions
            committed = image.state is S.PREPARE_COMMIT
            self.ends.append(End(*image.identity, committed, image.partitions))
        elif image.state.is_complete:
            end = self.ends[-1]
            assert end.marked == end.partitions, "complete, but not marked everywhere"
            end.is_complete = True

    @property
    def waits(self) -> bool:
        """Whether a transaction goes on that has no timeout."""
        image = self.image
        return image is not None and image.state is S.ONGOING and not image.has_timeout

    def announce(self, markers: MarkersToWrite) -> None:
        """A coordinator sends these: the end must be decided, and not be complete."""
        end = self.ends[-1]
        assert not end.is_complete
        assert markers[1:4] == (end.producer_id, end.producer_epoch, end.committed)
        assert markers.partitions == end.partitions
        self._announced.append((markers, end))

    def write(self, markers: MarkersToWrite, partition: TopicPartition, coordinator: int) -> None:
        """The leader of the partition gets a marker, late maybe.

        It refuses it if another coordinator came since, or if the producer's epoch has moved on.
        """
        if coordinator < self._coordinator_of.get(partition, 0):
            return
        self._coordinator_of[partition] = coordinator
        end = next(end for each, end in self._announced if each is markers)
        if not end.is_complete:
            end.marked.add(partition)
        elif self.image is not None and self.image.identity == markers[1:3]:
            assert partition not in self.image.partitions, "a late marker tears the next one"


def _check_identities(before: Identity, after: Identity) -> None:
    """Epochs only grow, and another producer id comes when they have run out."""
    if after[0] == before[0]:
        assert after[1] >= before[1]
    else:
        assert after[1] == 0
        assert before[1] >= 32_766
