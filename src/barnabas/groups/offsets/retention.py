"""Expiry of unused committed offsets, and of groups without any.

Offsets of a group that had members expire when it has been empty, and they have not been
committed again, for the retention time. Offsets of a simple group, which never had members, expire
that long after their commit; so do those of topics that a stable group of consumers is no longer
subscribed to. A client of an old version may have set its own retention time. Offsets that an
ongoing transaction may commit again are kept, and so is the group, until the transaction ends.
"""

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.group import Group
from barnabas.groups.offsets.committed_offsets import tombstone
from barnabas.groups.offsets.deletion import delete_group
from barnabas.groups.offsets.group_offsets import deletable_offsets, may_become_committed
from barnabas.wire.messages.group_records import OffsetCommitValue


def check_retention(group: Group, decision: CoordinatorDecision, now_ms: int) -> None:
    group.retention_check_ms = now_ms + group.config.offsets_retention_check_interval_ms
    if group.is_deleted:
        return
    in_use = group.topics_in_use()
    if in_use is None:
        return
    # Others have stamped what is stored: a clock that is ahead of theirs must not make it old.
    now_ms -= group.config.clock_lead_ms()
    kept = 0
    tombstones = []
    for (topic, partition), value in group.image.offsets.committed():
        since_ms = _unused_since_ms(group, value)
        is_expired = topic not in in_use and _is_expired(group, value, since_ms, now_ms)
        # A pending commit stands before the tombstone in the log and would be deleted by it.
        if is_expired and not may_become_committed(group, (topic, partition)):
            tombstones.append(tombstone(group.group_id, topic, partition))
        else:
            kept += 1
    has_pending = group.is_being_joined or any(
        group.image.offsets.get(*key) is None for key in deletable_offsets(group)
    )
    if group.is_empty and not kept and not has_pending:
        delete_group(group, decision)
    else:
        decision.records += tombstones


def _unused_since_ms(group: Group, value: OffsetCommitValue) -> int:
    empty_since_ms = group.empty_since_ms
    if empty_since_ms is not None:
        return max(empty_since_ms, value.commit_timestamp)
    return value.commit_timestamp


def _is_expired(group: Group, value: OffsetCommitValue, since_ms: int, now_ms: int) -> bool:
    if value.expire_timestamp >= 0:
        return now_ms >= value.expire_timestamp
    return now_ms - since_ms >= group.config.offsets_retention_ms
