"""The records of `__transaction_state`, encoded as Kafka encodes them.

```
key 0      TransactionLogKey (transactional id)      value: TransactionLogValue, or a tombstone
key 1...   kinds of newer versions, which are skipped
```

Both begin with an int16 version. Values are written in version 1, the first that has the previous
and the next producer id and the protocol generation.
"""

import struct

from barnabas.coordination.decision import CoordinatorRecord
from barnabas.coordination.record_format import CorruptRecord, encode
from barnabas.transactions.decision import TopicPartition
from barnabas.transactions.image import (
    EPOCH_BUMPED,
    MAX_PRODUCER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TransactionImage,
)
from barnabas.transactions.state import TxnState
from barnabas.wire.messages.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from barnabas.wire.primitives import WireError
from barnabas.wire.stored import StoredReader

_KEY_VERSION = 0
_VALUE_VERSION = 1

_MALFORMED = (WireError, struct.error, UnicodeDecodeError)
_NEVER_STORED = (TxnState.DEAD, TxnState.PREPARE_EPOCH_FENCE)


def transaction_record(transactional_id: str, image: TransactionImage) -> CoordinatorRecord:
    """The record of the image; a tombstone if its state is DEAD."""
    key = encode(TransactionLogKey(transactional_id), _KEY_VERSION)
    return CoordinatorRecord(key, None if image.state is TxnState.DEAD else encode_image(image))


def encode_image(image: TransactionImage) -> bytes:
    value = TransactionLogValue(
        producer_id=image.producer_id,
        previous_producer_id=image.previous_producer_id,
        next_producer_id=image.next_producer_id,
        producer_epoch=image.producer_epoch,
        next_producer_epoch=image.next_producer_epoch,
        transaction_timeout_ms=image.timeout_ms,
        transaction_status=image.state,
        transaction_partitions=None
        if image.state is TxnState.EMPTY
        else [
            PartitionsSchema(topic, indexes)
            for topic, indexes in partitions_by_topic(image.partitions).items()
        ],
        transaction_last_update_timestamp_ms=image.last_update_ms,
        transaction_start_timestamp_ms=image.start_ms,
        client_transaction_version=image.client_transaction_version,
    )
    return encode(value, _VALUE_VERSION)


def decode_key(key: bytes) -> str | None:
    """The transactional id of the record; None for an unknown kind of record."""
    reader = StoredReader(key)
    try:
        if reader.int16() != _KEY_VERSION:
            return None
        return TransactionLogKey.decode(reader, _KEY_VERSION).transactional_id
    except _MALFORMED as error:
        raise CorruptRecord(f"malformed key: {error}") from error


def decode_image(value: bytes) -> TransactionImage:
    reader = StoredReader(value)
    try:
        version = reader.int16()
        if not TransactionLogValue.MIN_VERSION <= version <= TransactionLogValue.MAX_VERSION:
            raise CorruptRecord(f"unsupported version {version} of TransactionLogValue")
        stored = TransactionLogValue.decode(reader, version)
    except _MALFORMED as error:
        raise CorruptRecord(f"malformed TransactionLogValue: {error}") from error
    try:
        state = TxnState(stored.transaction_status)
    except ValueError:
        state = TxnState.DEAD
    if state in _NEVER_STORED:
        raise CorruptRecord(f"invalid transaction state {stored.transaction_status}")
    return TransactionImage(
        producer_id=stored.producer_id,
        producer_epoch=stored.producer_epoch,
        timeout_ms=stored.transaction_timeout_ms,
        state=state,
        last_update_ms=stored.transaction_last_update_timestamp_ms,
        start_ms=stored.transaction_start_timestamp_ms,
        partitions=frozenset(
            (each.topic, index)
            for each in stored.transaction_partitions or ()
            for index in each.partition_ids
        ),
        client_transaction_version=stored.client_transaction_version,
        previous_producer_id=stored.previous_producer_id,
        next_producer_id=stored.next_producer_id,
        next_producer_epoch=stored.next_producer_epoch,
        last_producer_epoch=_last_producer_epoch(stored, state),
    )


def _last_producer_epoch(stored: TransactionLogValue, state: TxnState) -> int:
    """The epoch that the same instance had before, if it has not used this one yet.

    It got this one by InitProducerId after an error (Empty, with the producer id that it had), or
    by an end that incremented the epoch. Either way the previous epoch was one less, or the last
    one of another producer id.
    """
    if state is TxnState.EMPTY:
        is_incremented = stored.previous_producer_id != NO_PRODUCER_ID
    else:
        bumped = stored.client_transaction_version == EPOCH_BUMPED
        is_incremented = bumped and state is not TxnState.ONGOING
    if not is_incremented:
        return NO_PRODUCER_EPOCH
    epoch = stored.producer_epoch
    if stored.next_producer_epoch != NO_PRODUCER_EPOCH:
        epoch = stored.next_producer_epoch
    return (epoch or MAX_PRODUCER_EPOCH) - 1


def partitions_by_topic(partitions: frozenset[TopicPartition]) -> dict[str, list[int]]:
    """Sorted, so that equal transactions are encoded as equal bytes."""
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        by_topic.setdefault(topic, []).append(index)
    return by_topic
