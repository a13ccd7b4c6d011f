"""The records of `__consumer_offsets`, encoded as Kafka encodes them.

A key is an int16 version and a message; the version tells the kind of record. A value is an int16
version and a message.

```
key 0, 1   OffsetCommitKey (group, topic, partition)    value: OffsetCommitValue
key 2      GroupMetadataKey (group)                     value: GroupMetadataValue
key 3...   records of newer group protocols, which are not served here and are skipped
```

Offsets are written in version 3, or in version 1 if the client has set a retention time, because
only that version has an expiry time. Groups are written in version 3.
"""

import struct
from typing import TypeVar

from barnabas.coordination.decision import CoordinatorRecord
from barnabas.coordination.record_format import CorruptRecord, encode
from barnabas.wire.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from barnabas.wire.primitives import Reader, WireError

_OFFSET_KEY_VERSION = 1
_OFFSET_VALUE_VERSION = 3
_OFFSET_VALUE_VERSION_WITH_EXPIRY = 1
_GROUP_KEY_VERSION = 2
_GROUP_VALUE_VERSION = 3

_MALFORMED = (WireError, struct.error, UnicodeDecodeError)

ValueT = TypeVar("ValueT", OffsetCommitValue, GroupMetadataValue)


def offset_record(key: OffsetCommitKey, value: OffsetCommitValue | None) -> CoordinatorRecord:
    encoded = None
    if value is not None:
        has_expiry = value.expire_timestamp >= 0
        encoded = encode(
            value, _OFFSET_VALUE_VERSION_WITH_EXPIRY if has_expiry else _OFFSET_VALUE_VERSION
        )
    return CoordinatorRecord(encode(key, _OFFSET_KEY_VERSION), encoded)


def group_record(group_id: str, value: GroupMetadataValue | None) -> CoordinatorRecord:
    return CoordinatorRecord(
        encode(GroupMetadataKey(group_id), _GROUP_KEY_VERSION),
        None if value is None else encode(value, _GROUP_VALUE_VERSION),
    )


def decode_key(key: bytes) -> OffsetCommitKey | GroupMetadataKey | None:
    """The decoded key; None for a kind of record that is not served here."""
    reader = Reader(key)
    try:
        version = reader.int16()
        if 0 <= version <= _OFFSET_KEY_VERSION:
            return OffsetCommitKey.decode(reader, version)
        if version == _GROUP_KEY_VERSION:
            return GroupMetadataKey.decode(reader, version)
    except _MALFORMED as error:
        raise CorruptRecord(f"malformed key: {error}") from error
    return None


def decode_offset(value: bytes) -> OffsetCommitValue:
    return _decode(OffsetCommitValue, value)


def decode_group(value: bytes) -> GroupMetadataValue:
    return _decode(GroupMetadataValue, value)


def _decode(kind: type[ValueT], value: bytes) -> ValueT:
    reader = Reader(value)
    try:
        version = reader.int16()
        if not kind.MIN_VERSION <= version <= kind.MAX_VERSION:
            raise CorruptRecord(f"unsupported version {version} of {kind.__name__}")
        return kind.decode(reader, version)
    except _MALFORMED as error:
        raise CorruptRecord(f"malformed {kind.__name__}: {error}") from error
