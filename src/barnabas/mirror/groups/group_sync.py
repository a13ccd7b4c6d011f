"""Reads what groups have committed in the source, and commits it in the target.

A group that has members in the target is left alone: it is at work there. The coordinator sees to
it, as it refuses commits of others while a group has members. What has changed in the source
meanwhile is committed once the group is empty. Offsets never move backwards.

Committed offsets of a group without members expire (`offsets.retention.minutes`), and in the target
the group has none, so they are committed again once in a while.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.client.admin.group_members import GroupType
from barnabas.client.admin.groups import list_groups
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import (
    OffsetAndMetadata,
    commit_offsets,
    fetch_committed,
    fetch_offsets_and_metadata,
)
from barnabas.errors import BrokerError, UnknownTopic
from barnabas.mirror.formats.checkpoint import CheckpointRecord
from barnabas.mirror.groups.group_positions import (
    Offsets,
    Routes,
    checkpoints_of,
    commits_of,
    has_members,
)
from barnabas.mirror.groups.group_settings import GroupSettings
from barnabas.wire.errors import ErrorCode

REFRESH_S = 600.0
_TYPES = (GroupType.CLASSIC, GroupType.CONSUMER)
_REFUSED_FOR_MEMBERS = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.NON_EMPTY_GROUP,
}


class SyncedGroup(NamedTuple):
    """How far a group was taken along."""

    group: str
    checkpoints: list[CheckpointRecord]
    committed: Offsets
    """What was committed in the target this time."""
    is_active: bool
    """Whether it has members in the target, and is left alone."""


@dataclass
class GroupRound:
    """All groups, looked at once."""

    groups: list[SyncedGroup] = field(default_factory=list)
    checkpoints: list[CheckpointRecord] = field(default_factory=list)
    """Those that have changed."""
    problems: list[str] = field(default_factory=list)


class GroupSync:
    """The groups of a flow."""

    def __init__(
        self,
        settings: GroupSettings,
        source: ClusterClient,
        target: ClusterClient,
        routes: Routes,
        takes_along: Callable[[TopicPartition], bool] = lambda _: True,
    ) -> None:
        """`takes_along` says of which partitions of the source offsets are committed."""
        self._takes_along = takes_along
        self._settings = settings
        self._source = source
        self._target = target
        self._routes = routes
        self._committed: dict[str, dict[TopicPartition, OffsetAndMetadata]] = {}
        self._last: dict[tuple[str, TopicPartition], CheckpointRecord] = {}
        self._refreshed_at: dict[str, float] = {}
        self._postponed: set[str] = set()
        """Groups with something to commit when they have no members any more."""

    async def sync(self, now_s: float) -> GroupRound:
        """Look at all groups, and commit what has changed."""
        await self.read_source()
        return await self.write_target(now_s)

    async def read_source(self) -> None:
        """Look at what groups have committed."""
        listed = await list_groups(self._source, _TYPES)
        self._committed = {
            each.group_id: await fetch_offsets_and_metadata(self._source, each.group_id)
            for each in listed
            if self._settings.includes(each.group_id)
        }

    async def write_target(self, now_s: float) -> GroupRound:
        """Commit what was seen last, as far as it can be translated by now."""
        states = {each.group_id: each.state for each in await list_groups(self._target)}
        done = GroupRound()
        for group, committed in self._committed.items():
            active = has_members(states.get(group, ""))
            try:
                await self._sync(group, committed, active, now_s, done)
            except UnknownTopic as error:
                done.problems.append(f"group {group}: {error}")
        return done

    async def _sync(
        self,
        group: str,
        committed: Mapping[TopicPartition, OffsetAndMetadata],
        active: bool,
        now_s: float,
        done: GroupRound,
    ) -> None:
        own = {each: found for each, found in committed.items() if self._takes_along(each)}
        checkpoints = checkpoints_of(group, own, self._routes)
        changed = [each for each in checkpoints if self._last.get((group, each.partition)) != each]
        refresh = now_s - self._refreshed_at.get(group, -REFRESH_S) >= REFRESH_S
        made: Offsets = {}
        if self._settings.commit and (changed or refresh or group in self._postponed):
            if not active:
                made, active = await self._commit(group, checkpoints, refresh)
            if active:
                self._postponed.add(group)
            else:
                self._postponed.discard(group)
                if refresh:
                    self._refreshed_at[group] = now_s
        done.groups.append(SyncedGroup(group, checkpoints, made, active))
        done.checkpoints += changed
        self._last |= {(group, each.partition): each for each in changed}

    async def _commit(
        self, group: str, checkpoints: list[CheckpointRecord], refresh: bool
    ) -> tuple[Offsets, bool]:
        """What was committed, and whether the group has got members meanwhile."""
        there = await fetch_committed(
            self._target, group, [each.partition for each in checkpoints], stable=True
        )
        offsets = commits_of(checkpoints, there, refresh=refresh)
        if offsets:
            try:
                await commit_offsets(self._target, group, offsets)
            except BrokerError as error:
                if error.code not in _REFUSED_FOR_MEMBERS:
                    raise
                return {}, True
        return offsets, False
