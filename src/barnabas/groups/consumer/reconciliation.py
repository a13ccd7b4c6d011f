"""Brings a member from its current assignment to the target assignment.

1. Partitions that are not in the target are revoked: the member stays in its epoch until a
   heartbeat says that it no longer owns them.
2. Then it moves to the epoch of the target, and gets those partitions that nobody may own.
3. It gets the others with later heartbeats, as their owners release them.

So a partition never has two owners: its new owner gets it once the former one has said that it
gave it up, has left, or is fenced.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from barnabas.groups.modern.assignment import (
    CurrentAssignment,
    MemberState,
    PartitionEpochs,
    Partitions,
)

OwnerOf = Callable[[bytes, int], str | None]


def reconcile(
    member_id: str,
    current: CurrentAssignment,
    *,
    target: Partitions,
    target_epoch: int,
    subscribed: frozenset[bytes],
    owned: Partitions | None,
    owner_of: OwnerOf,
    subscription_changed: bool,
) -> CurrentAssignment:
    """The member's next assignment.

    `owned` is what the member says it owns; None if it says nothing, which means that nothing has
    changed. `subscribed` are its topics: when it unsubscribes, it has to give up partitions before
    there is a new target.
    """
    if current.state is MemberState.UNREVOKED_PARTITIONS and _owns_any(owned, current.revoking):
        return _unsubscribe(current, subscribed, owned) if subscription_changed else current
    if current.state is MemberState.STABLE and current.member_epoch == target_epoch:
        return _unsubscribe(current, subscribed, owned) if subscription_changed else current
    return _advance(member_id, current, target, target_epoch, subscribed, owned, owner_of)


def _advance(
    member_id: str,
    current: CurrentAssignment,
    target: Partitions,
    target_epoch: int,
    subscribed: frozenset[bytes],
    owned: Partitions | None,
    owner_of: OwnerOf,
) -> CurrentAssignment:
    kept: dict[bytes, Mapping[int, int]] = {}
    revoking: dict[bytes, Mapping[int, int]] = {}
    for topic_id, epochs in current.assigned.items():
        wanted = target.get(topic_id, frozenset()) if topic_id in subscribed else frozenset()
        _put(kept, topic_id, {i: epoch for i, epoch in epochs.items() if i in wanted})
        _put(revoking, topic_id, {i: epoch for i, epoch in epochs.items() if i not in wanted})
    if revoking and _owns_any(owned, revoking):
        return _changed(
            current, current.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoking
        )
    state = MemberState.STABLE
    assigned = dict(kept)
    for topic_id, indexes in target.items():
        if topic_id not in subscribed:
            continue
        epochs = dict(kept.get(topic_id, {}))
        for index in sorted(indexes - epochs.keys()):
            if owner_of(topic_id, index) in (None, member_id):
                epochs[index] = target_epoch
            else:
                state = MemberState.UNRELEASED_PARTITIONS
        _put(assigned, topic_id, epochs)
    return _changed(current, target_epoch, state, assigned, {})


def _unsubscribe(
    current: CurrentAssignment, subscribed: frozenset[bytes], owned: Partitions | None
) -> CurrentAssignment:
    """Revoke partitions of topics that the member is no longer subscribed to."""
    left = {each: epochs for each, epochs in current.assigned.items() if each not in subscribed}
    if not left:
        return current
    kept = {each: epochs for each, epochs in current.assigned.items() if each in subscribed}
    revoking = dict(current.revoking)
    for topic_id, epochs in left.items():
        revoking[topic_id] = {**revoking.get(topic_id, {}), **epochs}
    if _owns_any(owned, revoking):
        return _changed(
            current, current.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoking
        )
    return replace(current, assigned=kept)


def _changed(
    current: CurrentAssignment,
    epoch: int,
    state: MemberState,
    assigned: PartitionEpochs,
    revoking: PartitionEpochs,
) -> CurrentAssignment:
    """With a new epoch the former one is remembered: the answer may get lost."""
    return CurrentAssignment(epoch, current.member_epoch, state, assigned, revoking)


def _owns_any(owned: Partitions | None, partitions: PartitionEpochs) -> bool:
    if owned is None:
        return True
    return any(
        not indexes.isdisjoint(partitions.get(topic_id, {})) for topic_id, indexes in owned.items()
    )


def _put(
    partitions: dict[bytes, Mapping[int, int]], topic_id: bytes, epochs: Mapping[int, int]
) -> None:
    if epochs:
        partitions[topic_id] = epochs
