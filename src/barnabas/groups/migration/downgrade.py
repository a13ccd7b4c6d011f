"""A consumer group becomes a classic group, because its last member of the newer protocol left.

The members stay, and rebalance at once, since somebody has to get the partitions that are free.
"""

from collections.abc import Collection

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.classic.group import ClassicGroup
from barnabas.groups.classic.member import Member
from barnabas.groups.classic.rebalance import rebalance
from barnabas.groups.classic.subscription import CONSUMER_PROTOCOL_TYPE
from barnabas.groups.consumer.group import ConsumerGroup
from barnabas.groups.migration.embedded_protocol import write_assignment
from barnabas.groups.modern.assignment import NO_PARTITIONS


def is_to_be_downgraded(group: ConsumerGroup, leaving: Collection[str] = ()) -> bool:
    """Whether only members of the classic protocol are left."""
    staying = [
        member for member_id, member in group.pending.members.items() if member_id not in leaving
    ]
    return (
        bool(staying)
        and all(member.classic is not None for member in staying)
        and group.config.consumer.migration_policy.allows_downgrade
        and len(staying) <= group.config.group_max_size
    )


def downgrade(
    group: ConsumerGroup, classic: ClassicGroup, decision: CoordinatorDecision, now_ms: int
) -> None:
    """`classic` is new, and takes the place of `group`."""
    state = group.pending
    classic.replaced = (group, decision)
    epoch = state.epoch
    assignments: dict[str, bytes] = {}
    for member_id, member in state.members.items():
        assert member.classic is not None
        protocols = dict(member.classic.protocols)
        converted = Member(
            member_id=member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            session_timeout_ms=member.classic.session_timeout_ms,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            protocols=protocols,
            assignment=write_assignment(
                state.targets.get(member_id, NO_PARTITIONS),
                group.topics,
                next(iter(protocols.values()), b""),
            ),
        )
        converted.touch(now_ms)
        classic.add(converted, CONSUMER_PROTOCOL_TYPE)
        assignments[member_id] = converted.assignment
    for member_id in list(state.members):
        group.propose(decision, *group.member_tombstones(member_id))
        group.forget_member(member_id)
    group.propose(decision, *group.group_tombstones())
    classic.go_on_from(epoch, now_ms)
    decision.records.append(classic.propose_generation(assignments, now_ms))
    rebalance(classic, decision, now_ms)
