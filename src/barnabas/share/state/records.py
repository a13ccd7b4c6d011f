"""The records of `__share_group_state`, encoded as Kafka encodes them.

```
key 0   ShareSnapshotKey (group, topic id, partition)   value: ShareSnapshotValue, or a tombstone
key 1   ShareUpdateKey   (group, topic id, partition)   value: ShareUpdateValue
```

A snapshot has a whole state. An update has what changed since the record before it, so it must not
be lost to compaction: the topic is not compacted, and what is older than all last snapshots is
deleted.
"""

import struct
from collections.abc import Sequence

from barnabas.coordination.decision import CoordinatorRecord
from barnabas.coordination.record_format import CorruptRecord, encode
from barnabas.share.record_state import STORED_STATES, RecordState
from barnabas.share.state.share_state import SharePartitionKey, ShareState
from barnabas.share.state_write import StateBatch
from barnabas.wire.messages import share_records as stored
from barnabas.wire.primitives import WireError
from barnabas.wire.stored import StoredReader

_SNAPSHOT_KEY_VERSION = 0
_UPDATE_KEY_VERSION = 1
_VALUE_VERSION = 0

_MALFORMED = (WireError, struct.error, UnicodeDecodeError)
_STATES = {int(state): state for state in STORED_STATES}


def is_state_batch(first: int, last: int, state: int, delivery_count: int) -> bool:
    return 0 <= first <= last and state in _STATES and delivery_count >= 0


def state_of(code: int) -> RecordState:
    return _STATES[code]


def snapshot_record(key: SharePartitionKey, state: ShareState | None) -> CoordinatorRecord:
    """Without a state it is a tombstone."""
    encoded = None
    if state is not None:
        encoded = encode(
            stored.ShareSnapshotValue(
                state.snapshot_epoch,
                state.state_epoch,
                state.leader_epoch,
                state.start_offset,
                state.delivery_complete_count,
                state.create_timestamp_ms,
                state.write_timestamp_ms,
                [stored.StateBatch(*batch) for batch in state.batches],
            ),
            _VALUE_VERSION,
        )
    return CoordinatorRecord(encode(stored.ShareSnapshotKey(*key), _SNAPSHOT_KEY_VERSION), encoded)


def update_record(
    key: SharePartitionKey,
    snapshot_epoch: int,
    leader_epoch: int,
    start_offset: int,
    delivery_complete_count: int,
    batches: Sequence[StateBatch],
) -> CoordinatorRecord:
    value = stored.ShareUpdateValue(
        snapshot_epoch,
        leader_epoch,
        start_offset,
        delivery_complete_count,
        [stored.StateBatch(*batch) for batch in batches],
    )
    return CoordinatorRecord(
        encode(stored.ShareUpdateKey(*key), _UPDATE_KEY_VERSION), encode(value, _VALUE_VERSION)
    )


def decode_key(key: bytes) -> tuple[SharePartitionKey, bool] | None:
    """The share partition, and whether it is a snapshot; None for an unknown kind of record."""
    reader = StoredReader(key)
    try:
        version = reader.int16()
        if version == _SNAPSHOT_KEY_VERSION:
            found = stored.ShareSnapshotKey.decode(reader, version)
            return SharePartitionKey(found.group_id, found.topic_id, found.partition), True
        if version == _UPDATE_KEY_VERSION:
            other = stored.ShareUpdateKey.decode(reader, version)
            return SharePartitionKey(other.group_id, other.topic_id, other.partition), False
    except _MALFORMED as error:
        raise CorruptRecord(f"malformed key: {error}") from error
    return None


def decode_snapshot(value: bytes) -> ShareState:
    reader = _reader(value)
    try:
        found = stored.ShareSnapshotValue.decode(reader, _VALUE_VERSION)
    except _MALFORMED as error:
        raise CorruptRecord(f"malformed ShareSnapshotValue: {error}") from error
    return ShareState(
        found.snapshot_epoch,
        found.state_epoch,
        found.leader_epoch,
        found.start_offset,
        found.delivery_complete_count,
        found.create_timestamp,
        found.write_timestamp,
        _batches(found.state_batches),
    )


def apply_update(state: ShareState, value: bytes) -> ShareState:
    reader = _reader(value)
    try:
        found = stored.ShareUpdateValue.decode(reader, _VALUE_VERSION)
    except _MALFORMED as error:
        raise CorruptRecord(f"malformed ShareUpdateValue: {error}") from error
    return state.updated(
        found.leader_epoch,
        found.start_offset,
        found.delivery_complete_count,
        _batches(found.state_batches),
    )


def _reader(value: bytes) -> StoredReader:
    reader = StoredReader(value)
    try:
        version = reader.int16()
    except _MALFORMED as error:
        raise CorruptRecord(f"malformed value: {error}") from error
    if version != _VALUE_VERSION:
        raise CorruptRecord(f"unsupported version {version} of a share group's state")
    return reader


def _batches(found: list[stored.StateBatch]) -> tuple[StateBatch, ...]:
    batches = []
    for each in found:
        code, count = each.delivery_state, each.delivery_count
        if not is_state_batch(each.first_offset, each.last_offset, code, count):
            raise CorruptRecord(
                f"offsets {each.first_offset} to {each.last_offset} in state {code}"
            )
        batches.append(StateBatch(each.first_offset, each.last_offset, _STATES[code], count))
    return tuple(batches)
