"""The records of `__transaction_state`, encoded as Kafka encodes them.

```
key 0      TransactionLogKey (transactional id)      value: TransactionLogValue, or a tombstone
key 1...   kinds from the future, which are passed over
```

Both begin with an int16 version. Values are written in version 1, the first that has room for
the producer ids before and after this one and for the protocol generation.
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
from barnabas.wire.primitives import Reader, WireError

_KEY_VERSION = 0
_VALUE_VERSION = 1

_MALFORMED = (WireError, struct.error, UnicodeDecodeError)
_NEVER_STORED = (TxnState.DEAD, TxnState.PREPARE_EPOCH_FENCE)


def transaction_record(transactional_id: str, image: TransactionImage) -> CoordinatorRecord:
    """The record that says so; of a dead one, its tombstone."""
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
    """Which transactional id the record is about; None for a kind that is not ours."""
    reader = Reader(key)
    try:
        if reader.int16() != _KEY_VERSION:
            return None
        return TransactionLogKey.decode(reader, _KEY_VERSION).transactional_id
    except _MALFORMED as error:
        raise CorruptRecord(f"a key is malformed: {error}") from error


def decode_image(value: bytes) -> TransactionImage:
    reader = Reader(value)
    try:
        version = reader.int16()
        if not TransactionLogValue.MIN_VERSION <= version <= TransactionLogValue.MAX_VERSION:
            raise CorruptRecord(f"TransactionLogValue has version {version}, which nobody knows")
        stored = TransactionLogValue.decode(reader, version)
    except _MALFORMED as error:
        raise CorruptRecord(f"TransactionLogValue is malformed: {error}") from error
    try:
        state = TxnState(stored.transaction_status)
    except ValueError:
        state = TxnState.DEAD
    if state in _NEVER_STORED:
        raise CorruptRecord(f"{stored.transaction_status} is no state that is stored")
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
    """The epoch that the same instance had before, if it got this one and has not used it yet.

    It got it by going on after an error (Empty, with the producer id that it had), or by an end
    that moved the epoch on. Either way it was one less, or the last of another producer id.
    """
    if state is TxnState.EMPTY:
        moved_on = stored.previous_producer_id != NO_PRODUCER_ID
    else:
        bumped = stored.client_transaction_version == EPOCH_BUMPED
        moved_on = bumped and state is not TxnState.ONGOING
    if not moved_on:
        return NO_PRODUCER_EPOCH
    epoch = stored.producer_epoch
    if stored.next_producer_epoch != NO_PRODUCER_EPOCH:
        epoch = stored.next_producer_epoch
    return (epoch or MAX_PRODUCER_EPOCH) - 1


def partitions_by_topic(partitions: frozenset[TopicPartition]) -> dict[str, list[int]]:
    """In order, so that the same transaction is always the same bytes."""
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        by_topic.setdefault(topic, []).append(index)
    return by_topic
