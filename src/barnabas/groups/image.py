"""What the log says about groups: the persistent state of one partition of `__consumer_offsets`.

A `GroupsImage` changes by `replay` and `replay_end` only, in the order of the log and from the
bytes that are in it. A leader replays a record when it is committed, and a successor replays the
same records when it loads the partition, so both have equal images.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from barnabas.groups.consumer.state import ConsumerState
from barnabas.groups.modern.state import ModernState
from barnabas.groups.offsets.committed_offsets import NO_PRODUCER_ID, CommittedOffsets
from barnabas.groups.records import CONSUMER_RECORDS, SHARE_RECORDS, DecodedRecord, decode_record
from barnabas.groups.share.state import ShareGroupImage
from barnabas.wire.message import Message
from barnabas.wire.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)


@dataclass(slots=True)
class GroupImage:
    """One group as the log has it."""

    metadata: GroupMetadataValue | None = None
    """The last generation that was persisted, of a classic group."""
    metadata_bytes: int = 0
    modern: ModernState[Any] | None = None
    """The state of a group of a newer protocol."""
    offsets: CommittedOffsets = field(default_factory=CommittedOffsets)

    def __bool__(self) -> bool:
        """Whether the log has anything about the group."""
        return self.metadata is not None or self.modern is not None or bool(self.offsets)

    def replay_modern(self, record: DecodedRecord) -> None:
        kind = _STATES[type(record.key)]
        state = self.modern
        if not isinstance(state, kind):
            if record.value is None:
                return  # of a group that another kind of group has replaced
            state = self.modern = kind()
        state.replay(*record)
        if not state:
            self.modern = None


_STATES: dict[type[Message], type[ModernState[Any]]] = {
    **dict.fromkeys(CONSUMER_RECORDS, ConsumerState),
    **dict.fromkeys(SHARE_RECORDS, ShareGroupImage),
}
"""Which state a record belongs to, by the class of its key."""


class GroupsImage:
    """The images of all groups of one partition, by group id."""

    __slots__ = ("_groups", "_groups_of_producer")

    def __init__(self) -> None:
        self._groups: dict[str, GroupImage] = {}
        self._groups_of_producer: dict[int, dict[str, None]] = {}
        """Groups in which an ongoing transaction has committed offsets, by producer id."""

    def __getitem__(self, group_id: str) -> GroupImage:
        """The image of a group; an empty one, which is not kept, if the log has nothing."""
        image = self._groups.get(group_id)
        return GroupImage() if image is None else image

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupsImage) and self._groups == other._groups

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"GroupsImage({self._groups})"

    def replay(
        self, key: bytes, value: bytes | None, producer_id: int = NO_PRODUCER_ID
    ) -> DecodedRecord | None:
        """Apply one record and return it; None for a kind that is not served here.

        With a producer id the record is part of a transaction. Raises `CorruptRecord`.
        """
        record = decode_record(key, value)
        if record is None:
            return None
        group_id = record.group_id
        image = self._groups.setdefault(group_id, GroupImage())
        match record.key:
            case GroupMetadataKey():
                assert record.value is None or isinstance(record.value, GroupMetadataValue)
                image.metadata = record.value
                image.metadata_bytes = 0 if value is None else len(value)
            case OffsetCommitKey(topic=topic, partition=partition):
                assert record.value is None or isinstance(record.value, OffsetCommitValue)
                image.offsets.replay(topic, partition, record.value, producer_id)
                if producer_id != NO_PRODUCER_ID:
                    self._groups_of_producer.setdefault(producer_id, {})[group_id] = None
            case _:
                image.replay_modern(record)
        self._drop_if_empty(group_id)
        return record

    def replay_end(self, producer_id: int, *, is_commit: bool) -> list[str]:
        """Apply a marker: the producer's transaction ended. Returns the groups it is about."""
        group_ids = list(self._groups_of_producer.pop(producer_id, ()))
        for group_id in group_ids:
            image = self._groups.get(group_id)
            if image is not None:
                image.offsets.replay_end(producer_id, is_commit=is_commit)
                self._drop_if_empty(group_id)
        return group_ids

    def _drop_if_empty(self, group_id: str) -> None:
        if not self._groups[group_id]:
            del self._groups[group_id]
