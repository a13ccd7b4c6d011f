"""Begins and deletes the states of a share group's partitions, for the group's coordinator.

A share partition has a state at a share coordinator before it is assigned to a member. Which ones
have, the group's own records say; see `groups/share/share_states.py`.

Changes of one group take turns. Otherwise a state could be begun while the group is deleted, and
would be that of the next group of this name, which would not begin where its settings say.
"""

import logging
from asyncio import AbstractEventLoop, Lock, Task, gather, sleep
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.share.state_calls import StateCalls
from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups import GroupShard
from barnabas.groups.share.state import NamedPartitions, TopicStates
from barnabas.share.state import SharePartitionKey
from barnabas.share.state_write import NO_START_OFFSET
from barnabas.wire.errors import ErrorCode

logger = logging.getLogger(__name__)

_AT_ONCE = 100
_PAUSE_S = 0.5
"""After states could not be begun."""
_FIRST_STATE_EPOCH = 0

ResultT = TypeVar("ResultT")


@dataclass(slots=True)
class _Turn:
    lock: Lock = field(default_factory=Lock)
    users: int = 0
    """Who has the lock, or waits for it."""


class GroupStates:
    def __init__(
        self, loop: AbstractEventLoop, groups: GroupCoordinator, calls: StateCalls
    ) -> None:
        self._loop = loop
        self._groups = groups
        self._calls = calls
        self._under_way: dict[str, Task[None]] = {}
        self._turns: dict[str, _Turn] = {}

    @asynccontextmanager
    async def turn(self, group_id: str) -> AsyncIterator[None]:
        """Keep other changes of the group's states waiting."""
        turn = self._turns.setdefault(group_id, _Turn())
        turn.users += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.users -= 1
            if not turn.users:
                del self._turns[group_id]

    def ensure(self, group_id: str) -> None:
        """Begin missing states of a group that is coordinated here, in the background."""
        if group_id in self._under_way or not self._missing(group_id):
            return
        task = self._under_way[group_id] = self._loop.create_task(self._begin(group_id))
        task.add_done_callback(lambda done: self._done(group_id, done))

    def _done(self, group_id: str, task: "Task[None]") -> None:
        del self._under_way[group_id]
        if not task.cancelled() and (bug := task.exception()) is not None:
            logger.error("states of share group %s can't be begun", group_id, exc_info=bug)

    def close(self) -> None:
        for task in self._under_way.values():
            task.cancel()

    def _missing(self, group_id: str) -> TopicStates:
        shard = self._groups.find(group_id)
        return {} if isinstance(shard, ErrorCode) else shard.groups.share.missing_states(group_id)

    async def _begin(self, group_id: str) -> None:
        while self._missing(group_id):
            async with self.turn(group_id):
                pause_s = await self._begin_missing(group_id)
            if pause_s is None:
                return
            await sleep(pause_s)

    async def _begin_missing(self, group_id: str) -> float | None:
        """Returns the pause before the next attempt; None if the group is gone from here."""
        topics = self._missing(group_id)
        if not topics:
            return 0.0
        if await self._decide(
            group_id,
            lambda shard, token: shard.share.begin_states(group_id, topics, token=token),
        ):
            return None
        began = await self._begin_all(group_id, topics)
        if began and await self._decide(
            group_id,
            lambda shard, token: shard.share.states_began(group_id, began, token=token),
        ):
            return None
        return 0.0 if began == topics else _PAUSE_S

    async def _begin_all(self, group_id: str, topics: TopicStates) -> TopicStates:
        """Returns those that have a state now, and may be assigned."""
        shard = self._groups.find(group_id)
        if isinstance(shard, ErrorCode):
            return {}
        known = shard.groups.share.initialized_states(group_id)
        keys = [
            (SharePartitionKey(group_id, topic_id, index), name)
            for topic_id, (name, indexes) in topics.items()
            for index in sorted(indexes)
        ]
        results = await in_parts(
            self._calls.initialize(
                key, _FIRST_STATE_EPOCH, _start_offset(key, known.get(key.topic_id))
            )
            for key, _ in keys
        )
        began: dict[bytes, NamedPartitions] = {}
        for (key, name), result in zip(keys, results, strict=True):
            if result.error_code in (ErrorCode.NONE, ErrorCode.FENCED_STATE_EPOCH):
                before = began.get(key.topic_id, NamedPartitions(name, frozenset()))
                began[key.topic_id] = NamedPartitions(name, before.indexes | {key.partition})
        # A new topic begins as a whole: partitions that follow later would count as added ones.
        return {
            topic_id: partitions
            for topic_id, partitions in began.items()
            if topic_id in known or partitions == topics[topic_id]
        }

    async def reset(self, key: SharePartitionKey, topic: str, start_offset: int) -> ErrorCode:
        """Let an empty group begin elsewhere: everything before is forgotten."""
        summary = await self._calls.summary(key)
        if summary.error_code:
            return ErrorCode(summary.error_code)
        result = await self._calls.initialize(key, summary.state_epoch + 1, start_offset)
        if result.error_code:
            return ErrorCode(result.error_code)
        began = {key.topic_id: NamedPartitions(topic, frozenset({key.partition}))}
        error = await self._decide(
            key.group_id,
            lambda shard, token: shard.share.states_began(key.group_id, began, token=token),
        )
        if error is ErrorCode.GROUP_ID_NOT_FOUND:
            # It was deleted meanwhile. A state without a group would be that of the next group of
            # this name, which would not begin where its settings say.
            await self._calls.delete(key)
        return error

    async def delete(self, group_id: str, topic_ids: Iterable[bytes] | None = None) -> ErrorCode:
        """Delete the states of all topics of a group, or of some."""
        shard = self._groups.find(group_id)
        if isinstance(shard, ErrorCode):
            return shard
        known = shard.groups.share.known_states(group_id)
        chosen = frozenset(known if topic_ids is None else topic_ids) & known.keys()
        results = await in_parts(
            self._calls.delete(SharePartitionKey(group_id, topic_id, index))
            for topic_id in sorted(chosen)
            for index in sorted(known[topic_id].indexes)
        )
        for result in results:
            if result.error_code:
                return ErrorCode(result.error_code)
        return await self._decide(
            group_id,
            lambda shard, token: shard.share.states_deleted(group_id, chosen, token=token),
        )

    async def _decide(
        self, group_id: str, decide: Callable[[GroupShard, object], CoordinatorDecision]
    ) -> ErrorCode:
        shard = self._groups.find(group_id)
        if isinstance(shard, ErrorCode):
            return shard
        response = await shard.decide(lambda token: decide(shard.groups, token))
        return ErrorCode(response.error_code)


def _start_offset(key: SharePartitionKey, known: NamedPartitions | None) -> int:
    """A partition that was added to a topic later begins with its first record: the group has been
    there all the time."""
    if known is not None and key.partition > max(known.indexes):
        return 0
    return NO_START_OFFSET


async def one_by_one(calls: Iterable[Coroutine[Any, Any, ResultT]]) -> list[ResultT]:
    """The results of all calls, in turns: other requests are served in between, even if no call has
    to wait for anything."""
    results: list[ResultT] = []
    for call in calls:
        results.append(await call)
        if len(results) % _AT_ONCE == 0:
            await sleep(0)
    return results


async def in_parts(calls: Iterable[Coroutine[Any, Any, ResultT]]) -> list[ResultT]:
    """The results of all calls, of which only some are under way at a time."""
    results: list[ResultT] = []
    rest: Iterator[Coroutine[Any, Any, ResultT]] = iter(calls)
    while part := list(islice(rest, _AT_ONCE)):
        results += await gather(*part)
    return results
