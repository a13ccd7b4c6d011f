"""A rebalance: from one generation to the next.

It has two phases. First all members have to join, or rejoin: joins are parked until all members
have joined or the rebalance timeout has passed; then a new generation begins and the joins are
answered. Then the leader has to send the assignments: see `sync`. Members that do not take part in
time are removed; only static members may miss the first phase.
"""

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.classic.group import ClassicGroup
from barnabas.groups.classic.member import Member
from barnabas.groups.classic.state import GroupState
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from barnabas.wire.messages.sync_group import SyncGroupResponse

_NOT_PREPARING = (GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE)

_STATIC_MEMBERS_CHECK_MS = 1_000
"""Shortest interval between checks of a group that waits for static members."""


def rebalance(group: ClassicGroup, decision: CoordinatorDecision, now_ms: int) -> None:
    """Membership changed: begin a rebalance, or continue the one in progress."""
    if group.state in _NOT_PREPARING:
        _prepare(group, decision, now_ms, ErrorCode.REBALANCE_IN_PROGRESS)
    elif group.state is GroupState.PREPARING_REBALANCE:
        _complete_join_if_all_joined(group, decision, now_ms)


def persist_failed(
    group: ClassicGroup,
    generation_id: int,
    error: ErrorCode,
    decision: CoordinatorDecision,
    now_ms: int,
) -> None:
    """A record of this generation was not persisted, so the generation must end.

    Members have to find the coordinator again and to rejoin; the next generation will be persisted
    in its turn. A group without members retries after a while.
    """
    if group.generation_id != generation_id or group.state not in _NOT_PREPARING:
        return
    if group.members:
        _prepare(group, decision, now_ms, error)
    else:
        group.transition_to(GroupState.PREPARING_REBALANCE)
        group.join_deadline_ms = now_ms + group.config.persist_retry_ms


def deletion_failed(
    group: ClassicGroup, error: ErrorCode, decision: CoordinatorDecision, now_ms: int
) -> None:
    """The group stays; if it was not yet persisted as empty, that has to be done."""
    group.transition_to(GroupState.EMPTY)
    persisted = group.image.metadata
    if persisted is not None and persisted.generation != group.generation_id:
        persist_failed(group, group.generation_id, error, decision, now_ms)


def _prepare(
    group: ClassicGroup, decision: CoordinatorDecision, now_ms: int, error: ErrorCode
) -> None:
    syncing, group.syncing = group.syncing, {}
    for member_id, token in syncing.items():
        decision.reply(token, SyncGroupResponse(error_code=error))
        group.touch(member_id, now_ms)
    group.awaited_syncs.clear()
    group.sync_deadline_ms = None
    was_empty = group.state is GroupState.EMPTY
    group.transition_to(GroupState.PREPARING_REBALANCE)
    timeout_ms = group.rebalance_timeout_ms
    delay_ms = group.config.group_initial_rebalance_delay_ms
    if was_empty and delay_ms:
        group.newcomers = False
        group.initial_delay_left_ms = max(timeout_ms - delay_ms, 0)
        group.join_deadline_ms = now_ms + min(delay_ms, timeout_ms)
    else:
        group.join_deadline_ms = now_ms + timeout_ms
        _complete_join_if_all_joined(group, decision, now_ms)


def _complete_join_if_all_joined(
    group: ClassicGroup, decision: CoordinatorDecision, now_ms: int
) -> None:
    if group.has_all_joined and group.initial_delay_left_ms is None:
        complete_join(group, decision, now_ms)


def join_timed_out(group: ClassicGroup, decision: CoordinatorDecision, now_ms: int) -> None:
    left_ms = group.initial_delay_left_ms
    if left_ms and group.newcomers:
        group.newcomers = False
        delay_ms = min(group.config.group_initial_rebalance_delay_ms, left_ms)
        group.initial_delay_left_ms = left_ms - delay_ms
        group.join_deadline_ms = now_ms + delay_ms
    else:
        complete_join(group, decision, now_ms)


def complete_join(group: ClassicGroup, decision: CoordinatorDecision, now_ms: int) -> None:
    """Begin a new generation with the members that have joined, and with static members."""
    group.initial_delay_left_ms = None
    for member in list(group.members.values()):
        if member.member_id not in group.joining and not member.is_static:
            group.remove(member.member_id)
    if group.members and not group.joining:
        # Only static members that have not rejoined: wait for one, or until their sessions end.
        wait_ms = max(group.rebalance_timeout_ms, _STATIC_MEMBERS_CHECK_MS)
        group.join_deadline_ms = now_ms + wait_ms
        return
    group.join_deadline_ms = None
    group.generation_id += 1
    group.state_since_ms = now_ms
    if group.members:
        _begin_generation(group, decision, now_ms)
    else:
        group.transition_to(GroupState.EMPTY)
        group.protocol_name = None
        decision.records.append(group.propose_generation({}, now_ms))


def _begin_generation(group: ClassicGroup, decision: CoordinatorDecision, now_ms: int) -> None:
    group.transition_to(GroupState.COMPLETING_REBALANCE)
    group.protocol_name = group.select_protocol()
    if group.leader_id not in group.joining:
        group.leader_id = next(iter(group.joining))
    group.awaited_syncs = set(group.members)
    group.sync_deadline_ms = now_ms + group.rebalance_timeout_ms
    for member_id, token in group.joining.items():
        member = group.members[member_id]
        member.is_new = False
        member.touch(now_ms)
        decision.reply(token, joined(group, member))
    group.joining.clear()


def joined(group: ClassicGroup, member: Member) -> JoinGroupResponse:
    """The response to a join: the current generation, and for its leader all members."""
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        member_id=member.member_id,
        members=roster(group) if member.member_id == group.leader_id else [],
    )


def roster(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    """The members, as the leader needs them to make the assignments."""
    protocol_name = group.protocol_name or ""
    return [
        JoinGroupResponseMember(
            member.member_id, member.group_instance_id, member.protocols[protocol_name]
        )
        for member in group.members.values()
    ]


def drop_member(group: ClassicGroup, member_id: str, decision: CoordinatorDecision) -> None:
    """Remove a member; its parked requests get UNKNOWN_MEMBER_ID, so that it can rejoin."""
    _answer_parked(group, member_id, decision, ErrorCode.UNKNOWN_MEMBER_ID)
    group.remove(member_id)


def replace_static_member(
    group: ClassicGroup, member: Member, new_member_id: str, decision: CoordinatorDecision
) -> None:
    """A new instance replaces a static member; parked requests of the old one are fenced."""
    old_member_id = member.member_id
    _answer_parked(group, old_member_id, decision, ErrorCode.FENCED_INSTANCE_ID)
    was_leader = group.leader_id == old_member_id
    was_awaited = old_member_id in group.awaited_syncs
    group.remove(old_member_id)
    member.member_id = new_member_id
    group.add(member, group.protocol_type or "")
    if was_leader:
        group.leader_id = new_member_id
    if was_awaited:
        group.awaited_syncs.add(new_member_id)


def _answer_parked(
    group: ClassicGroup, member_id: str, decision: CoordinatorDecision, error: ErrorCode
) -> None:
    if member_id in group.joining:
        decision.reply(
            group.joining.pop(member_id), JoinGroupResponse(error_code=error, member_id=member_id)
        )
    if member_id in group.syncing:
        decision.reply(group.syncing.pop(member_id), SyncGroupResponse(error_code=error))


def expire_members(group: ClassicGroup, decision: CoordinatorDecision, now_ms: int) -> None:
    """Remove members whose session has ended, and member ids that never joined."""
    unused = [name for name, deadline in group.pending_members.items() if deadline <= now_ms]
    for member_id in unused:
        del group.pending_members[member_id]
    dead = [
        member.member_id
        for member in group.members.values()
        if member.deadline_ms is not None and member.deadline_ms <= now_ms
    ]
    for member_id in dead:
        drop_member(group, member_id, decision)
    if dead or (unused and group.state is GroupState.PREPARING_REBALANCE):
        rebalance(group, decision, now_ms)


def sync_timed_out(group: ClassicGroup, decision: CoordinatorDecision, now_ms: int) -> None:
    """Remove members of this generation that have not sent a sync."""
    group.sync_deadline_ms = None
    if group.awaited_syncs:
        for member_id in list(group.awaited_syncs):
            drop_member(group, member_id, decision)
        rebalance(group, decision, now_ms)
