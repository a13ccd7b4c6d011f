"""The records of `__consumer_offsets`, encoded as Kafka encodes them.

A key is an int16 version and a message; the version tells the kind of record. A value is an int16
version and a message.

```
key 0, 1   OffsetCommitKey (group, topic, partition)    value: OffsetCommitValue
key 2      GroupMetadataKey (group)                     value: GroupMetadataValue
key 3-8    consumer groups: epoch, members, assignments   value: ConsumerGroup...Value
key 10-15  share groups: the same, and their states   value: ShareGroup...Value
key 16     a consumer group's regular expression          value: ConsumerGroupRegularExpressionValue
other      records of other protocols, which are not served here and are skipped
```

Offsets are written in version 4, which has the id of the topic, or in version 1 if the client has
set a retention time, because only that version has an expiry time. Groups are written in version 3.
"""

import struct
from typing import NamedTuple, TypeVar

from barnabas.coordination.decision import CoordinatorRecord
from barnabas.coordination.record_format import CorruptRecord, encode
from barnabas.wire.message import Message
from barnabas.wire.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from barnabas.wire.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from barnabas.wire.messages.share_group_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)
from barnabas.wire.primitives import ZERO_UUID, WireError
from barnabas.wire.stored import StoredReader

_OFFSET_KEY_VERSION = 1
_OFFSET_VALUE_VERSION = 3
_OFFSET_VALUE_VERSION_WITH_EXPIRY = 1
_OFFSET_VALUE_VERSION_WITH_TOPIC_ID = 4
_GROUP_KEY_VERSION = 2
_GROUP_VALUE_VERSION = 3
_MODERN_VALUE_VERSION = 0

CONSUMER_RECORDS: dict[type[Message], type[Message]] = {
    ConsumerGroupMetadataKey: ConsumerGroupMetadataValue,
    ConsumerGroupMemberMetadataKey: ConsumerGroupMemberMetadataValue,
    ConsumerGroupTargetAssignmentMetadataKey: ConsumerGroupTargetAssignmentMetadataValue,
    ConsumerGroupTargetAssignmentMemberKey: ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupCurrentMemberAssignmentKey: ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupRegularExpressionKey: ConsumerGroupRegularExpressionValue,
}
"""The value that belongs to each key, for consumer groups."""

SHARE_RECORDS: dict[type[Message], type[Message]] = {
    ShareGroupMemberMetadataKey: ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey: ShareGroupMetadataValue,
    ShareGroupTargetAssignmentMetadataKey: ShareGroupTargetAssignmentMetadataValue,
    ShareGroupTargetAssignmentMemberKey: ShareGroupTargetAssignmentMemberValue,
    ShareGroupCurrentMemberAssignmentKey: ShareGroupCurrentMemberAssignmentValue,
    ShareGroupStatePartitionMetadataKey: ShareGroupStatePartitionMetadataValue,
}
"""The same for share groups."""

_MODERN_RECORDS = {**CONSUMER_RECORDS, **SHARE_RECORDS}

_KEYS: dict[int, type[Message]] = {
    0: OffsetCommitKey,
    1: OffsetCommitKey,
    _GROUP_KEY_VERSION: GroupMetadataKey,
    **{key.MAX_VERSION: key for key in _MODERN_RECORDS},
}
"""What the version of a key says."""

_VALUES: dict[type[Message], type[Message]] = {
    OffsetCommitKey: OffsetCommitValue,
    GroupMetadataKey: GroupMetadataValue,
    **_MODERN_RECORDS,
}

_MALFORMED = (WireError, struct.error, UnicodeDecodeError)

MessageT = TypeVar("MessageT", bound=Message)


class DecodedRecord(NamedTuple):
    key: Message
    value: Message | None

    @property
    def group_id(self) -> str:
        key = self.key
        if isinstance(key, OffsetCommitKey | GroupMetadataKey):
            return key.group
        group_id: str = key.group_id  # type: ignore[attr-defined]
        return group_id

    @property
    def is_modern(self) -> bool:
        """Whether it is about a group of a newer protocol."""
        return type(self.key) in _MODERN_RECORDS


def offset_record(key: OffsetCommitKey, value: OffsetCommitValue | None) -> CoordinatorRecord:
    encoded = None
    if value is not None:
        has_expiry = value.expire_timestamp >= 0
        encoded = encode(
            value,
            _OFFSET_VALUE_VERSION_WITH_EXPIRY
            if has_expiry
            else _OFFSET_VALUE_VERSION_WITH_TOPIC_ID
            if value.topic_id != ZERO_UUID
            else _OFFSET_VALUE_VERSION,
        )
    return CoordinatorRecord(encode(key, _OFFSET_KEY_VERSION), encoded)


def group_record(group_id: str, value: GroupMetadataValue | None) -> CoordinatorRecord:
    return CoordinatorRecord(
        encode(GroupMetadataKey(group_id), _GROUP_KEY_VERSION),
        None if value is None else encode(value, _GROUP_VALUE_VERSION),
    )


def modern_record(key: Message, value: Message | None) -> CoordinatorRecord:
    """A record of a newer protocol; the version of its key says which one it is."""
    return CoordinatorRecord(
        encode(key, key.MAX_VERSION),
        None if value is None else encode(value, _MODERN_VALUE_VERSION),
    )


def decode_record(key: bytes, value: bytes | None) -> DecodedRecord | None:
    """None for a kind of record that is not served here. Raises `CorruptRecord`."""
    decoded = decode_key(key)
    if decoded is None:
        return None
    return DecodedRecord(decoded, None if value is None else _decode(_VALUES[type(decoded)], value))


def decode_key(key: bytes) -> Message | None:
    """The decoded key; None for a kind of record that is not served here."""
    reader = StoredReader(key)
    try:
        version = reader.int16()
        kind = _KEYS.get(version)
        return None if kind is None else kind.decode(reader, version)
    except _MALFORMED as error:
        raise CorruptRecord(f"malformed key: {error}") from error


def decode_offset(value: bytes) -> OffsetCommitValue:
    return _decode(OffsetCommitValue, value)


def decode_group(value: bytes) -> GroupMetadataValue:
    return _decode(GroupMetadataValue, value)


def _decode(kind: type[MessageT], value: bytes) -> MessageT:
    reader = StoredReader(value)
    try:
        version = reader.int16()
        if not kind.MIN_VERSION <= version <= kind.MAX_VERSION:
            raise CorruptRecord(f"unsupported version {version} of {kind.__name__}")
        return kind.decode(reader, version)
    except _MALFORMED as error:
        raise CorruptRecord(f"malformed {kind.__name__}: {error}") from error
