"""A classic group becomes a consumer group, because a member of the consumer protocol joins it.

The members stay, with their generation as epoch and with the partitions that they were assigned.
They notice nothing until they have to give up partitions.
"""

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.classic.group import ClassicGroup
from barnabas.groups.classic.member import Member
from barnabas.groups.classic.subscription import CONSUMER_PROTOCOL_TYPE
from barnabas.groups.consumer.group import ConsumerGroup
from barnabas.groups.consumer.member import ClassicMetadata, ConsumerMember
from barnabas.groups.migration.embedded_protocol import (
    MalformedMetadata,
    read_assignment,
    read_subscription,
)
from barnabas.groups.modern.assignment import CurrentAssignment, Partitions
from barnabas.groups.modern.refusal import RefusedHeartbeat
from barnabas.groups.modern.topics import Topics, metadata_hash
from barnabas.groups.records import group_record
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.sync_group import SyncGroupResponse


def check_upgrade(group: ClassicGroup, topics: Topics) -> None:
    """Raises `RefusedHeartbeat`."""
    config = group.config.consumer
    reason = None
    if not config.migration_policy.allows_upgrade:
        reason = "group.consumer.migration.policy does not allow it"
    elif group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        reason = "its members are no consumers"
    elif len(group.members) > config.max_size:
        reason = f"it has more members than group.consumer.max.size, {config.max_size}"
    else:
        try:
            for member in group.members.values():
                _converted(group, member)
                read_assignment(member.assignment, group.protocol_name, topics)
        except MalformedMetadata as error:
            reason = f"what a member has sent is not understood: {error}"
    if reason is not None:
        raise RefusedHeartbeat(
            ErrorCode.GROUP_ID_NOT_FOUND,
            f"classic group {group.group_id} can't become a consumer group: {reason}",
        )


def upgrade(
    classic: ClassicGroup, group: ConsumerGroup, decision: CoordinatorDecision, now_ms: int
) -> None:
    """The group is checked. Parked requests are answered: members have to join again."""
    epoch = max(classic.generation_id, 1)
    group.replaced = (classic, decision)
    _answer_parked(classic, decision, now_ms)
    decision.records.append(group_record(classic.group_id, None))
    targets: dict[str, Partitions] = {}
    for member_id, member in classic.members.items():
        targets[member_id] = read_assignment(member.assignment, classic.protocol_name, group.topics)
        group.propose(decision, group.member_record(member_id, _converted(classic, member)))
    topics_hash = metadata_hash(group.pending.subscribed_topics(), group.topics)
    group.propose(decision, group.epoch_record(epoch, topics_hash))
    for member_id, target in targets.items():
        assigned = {topic_id: dict.fromkeys(indexes, epoch) for topic_id, indexes in target.items()}
        group.propose(
            decision,
            group.target_record(member_id, target),
            group.current_record(
                member_id, CurrentAssignment(epoch, epoch, assigned=_free(group, assigned))
            ),
        )
        group.touch(member_id, now_ms)
    # Without a time, the next assignment is made at once.
    group.propose(decision, group.assignment_epoch_record(epoch, 0))


def _free(
    group: ConsumerGroup, assigned: dict[bytes, dict[int, int]]
) -> dict[bytes, dict[int, int]]:
    """Without partitions that the assignor has given to two members."""
    free = {
        topic_id: {
            i: epoch for i, epoch in epochs.items() if not group.pending.owner_of(topic_id, i)
        }
        for topic_id, epochs in assigned.items()
    }
    return {topic_id: epochs for topic_id, epochs in free.items() if epochs}


def _converted(group: ClassicGroup, member: Member) -> ConsumerMember:
    """Raises `MalformedMetadata`."""
    metadata = member.protocols.get(group.protocol_name or "")
    if metadata is None:
        metadata = next(iter(member.protocols.values()))
    subscription = read_subscription(metadata)
    return ConsumerMember(
        client_id=member.client_id,
        client_host=member.client_host,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        classic=ClassicMetadata(member.session_timeout_ms, tuple(member.protocols.items())),
    )


def _answer_parked(group: ClassicGroup, decision: CoordinatorDecision, now_ms: int) -> None:
    error = ErrorCode.REBALANCE_IN_PROGRESS
    for member_id, token in group.joining.items():
        decision.reply(token, JoinGroupResponse(error_code=error, member_id=member_id))
    for token in group.syncing.values():
        decision.reply(token, SyncGroupResponse(error_code=error))
    group.joining.clear()
    group.syncing.clear()
    for member in group.members.values():
        member.touch(now_ms)
