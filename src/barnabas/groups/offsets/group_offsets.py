"""The offsets of a group: those that are committed, and those that may become so.

An offset may become committed while its record is pending, and while the transaction that it is
part of is ongoing.
"""

from itertools import chain

from barnabas.coordination.decision import CoordinatorRecord
from barnabas.groups.group import Group
from barnabas.groups.offsets.transactional_offsets import TopicPartition
from barnabas.groups.records import offset_record
from barnabas.wire.messages.group_records import OffsetCommitKey, OffsetCommitValue
from barnabas.wire.primitives import ZERO_UUID


def propose_offset(
    group: Group, key: TopicPartition, value: OffsetCommitValue, *, in_transaction: bool = False
) -> CoordinatorRecord:
    """The record that commits `value`; it is pending until it is persisted or has failed."""
    group.pending_offsets.add(key, value.topic_id, in_transaction=in_transaction)
    return offset_record(OffsetCommitKey(group.group_id, *key), value)


def deletable_offsets(group: Group) -> list[TopicPartition]:
    """Everything that a deletion which is decided now has to delete."""
    offsets = group.image.offsets
    committed = (key for key, _ in offsets.committed())
    pending = group.pending_offsets.partitions()
    return list(dict.fromkeys(chain(committed, pending, offsets.in_transactions.partitions())))


def last_topic_id(group: Group, key: TopicPartition) -> bytes:
    """The topic of the offset that counts for the partition once all commits have taken effect.

    A name may have been given to another topic since. Zero if it is not known, as in records of
    earlier releases.
    """
    offsets = group.image.offsets
    pending = group.pending_offsets.topic_id(key)
    if pending is not None:
        return pending
    value = offsets.in_transactions.last(key) or offsets.get(*key)
    return ZERO_UUID if value is None else value.topic_id


def is_deletable(group: Group, key: TopicPartition) -> bool:
    return may_become_committed(group, key) or group.image.offsets.get(*key) is not None


def may_become_committed(group: Group, key: TopicPartition) -> bool:
    return key in group.pending_offsets or key in group.image.offsets.in_transactions


def is_unstable(group: Group, key: TopicPartition) -> bool:
    """Whether a transaction may yet change what is committed."""
    if key in group.image.offsets.in_transactions:
        return True
    return group.pending_offsets.is_in_transaction(key)


def unstable_offsets(group: Group) -> set[TopicPartition]:
    return {
        *group.image.offsets.in_transactions.partitions(),
        *group.pending_offsets.in_transactions(),
    }
