"""The five states of a group, named as in ListGroups and DescribeGroups, and its transitions."""

from enum import StrEnum


class GroupState(StrEnum):
    """The state of a group.

    ```
            a member joins                 all have joined,              assignment persisted
                                           or the timeout passed
      EMPTY --------------> PREPARING ---------------------> COMPLETING -----------------> STABLE
      ^  |  <------------------  ^                                |                          |
      |  |   no member is left   '---- a member joins, leaves, expires or changes ------------'
      |  v
      DEAD
    ```

    A new group is EMPTY. A group that is loaded is EMPTY, or STABLE if its image has members.
    """

    EMPTY = "Empty"
    """No members: it has committed offsets, or a member is about to join."""

    PREPARING_REBALANCE = "PreparingRebalance"
    """Members have to rejoin; joins are parked until all have joined or the timeout passed."""

    COMPLETING_REBALANCE = "CompletingRebalance"
    """A new generation began; syncs are parked until the leader's assignment is persisted."""

    STABLE = "Stable"
    """Every member can have its assignment."""

    DEAD = "Dead"
    """The group's deletion is decided and not yet persisted; all requests are refused."""


TRANSITIONS = {
    GroupState.EMPTY: {GroupState.PREPARING_REBALANCE, GroupState.DEAD},
    GroupState.PREPARING_REBALANCE: {GroupState.COMPLETING_REBALANCE, GroupState.EMPTY},
    GroupState.COMPLETING_REBALANCE: {GroupState.STABLE, GroupState.PREPARING_REBALANCE},
    GroupState.STABLE: {GroupState.PREPARING_REBALANCE},
    GroupState.DEAD: {GroupState.EMPTY},
}
"""All transitions that are allowed. DEAD becomes EMPTY again when the deletion fails."""


class IllegalTransition(Exception):  # noqa: N818 - names the broken invariant
    """A group was about to change to a state that does not follow its state: a bug."""


def check_transition(group_id: str, before: GroupState, after: GroupState) -> None:
    """Raises `IllegalTransition` unless `TRANSITIONS` has it."""
    if after not in TRANSITIONS[before]:
        allowed = ", ".join(sorted(TRANSITIONS[before]))
        raise IllegalTransition(
            f"group {group_id!r} can't change from {before} to {after}; allowed: {allowed}"
        )
