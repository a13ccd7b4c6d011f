"""What the log says about groups: the persistent state of one partition of `__consumer_offsets`.

A `GroupsImage` changes by `replay` and `replay_end` only, in the order of the log and from the
bytes that are in it. A leader replays a record when it is committed, and a successor replays the
same records when it loads the partition, so both have equal images.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from barnabas.groups.offsets import NO_PRODUCER_ID, CommittedOffsets
from barnabas.groups.records import decode_group, decode_key, decode_offset
from barnabas.wire.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
)


@dataclass(slots=True)
class GroupImage:
    """One group as the log has it."""

    metadata: GroupMetadataValue | None = None
    """The last generation that was persisted."""
    metadata_bytes: int = 0
    offsets: CommittedOffsets = field(default_factory=CommittedOffsets)

    def __bool__(self) -> bool:
        """Whether the log has anything about the group."""
        return self.metadata is not None or bool(self.offsets)


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
    ) -> OffsetCommitKey | GroupMetadataKey | None:
        """Apply one record and return its key; None for a kind that is not served here.

        With a producer id the record is part of a transaction. Raises `CorruptRecord`.
        """
        decoded = decode_key(key)
        if decoded is None:
            return None
        image = self._groups.setdefault(decoded.group, GroupImage())
        if isinstance(decoded, GroupMetadataKey):
            image.metadata = None if value is None else decode_group(value)
            image.metadata_bytes = 0 if value is None else len(value)
        else:
            offset = None if value is None else decode_offset(value)
            image.offsets.replay(decoded.topic, decoded.partition, offset, producer_id)
            if producer_id != NO_PRODUCER_ID:
                self._groups_of_producer.setdefault(producer_id, {})[decoded.group] = None
        self._drop_if_empty(decoded.group)
        return decoded

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
