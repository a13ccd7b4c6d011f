"""The five states of a group, named as the protocol names them in ListGroups and DescribeGroups."""

from enum import StrEnum


class GroupState(StrEnum):
    """Where a group stands.

    ```
            somebody joins                 all have joined,              assignment persisted
                                           or time is up
      EMPTY --------------> PREPARING ---------------------> COMPLETING -----------------> STABLE
        |  <------------------  ^                                 |                          |
        |     nobody is left    '---- somebody joins, leaves, dies or wants something else ---'
        '--> DEAD
    ```
    """

    EMPTY = "Empty"
    """No members: it has committed offsets, or somebody is about to join."""

    PREPARING_REBALANCE = "PreparingRebalance"
    """Members are asked to join again; joins are parked until all are there or time is up."""

    COMPLETING_REBALANCE = "CompletingRebalance"
    """A new generation has begun; syncs are parked until the leader's assignment is persisted."""

    STABLE = "Stable"
    """Every member can have its assignment."""

    DEAD = "Dead"
    """The group's deletion is decided and not yet persisted; nothing else may happen to it."""
