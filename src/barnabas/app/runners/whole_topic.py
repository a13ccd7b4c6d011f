"""A source without a group: all partitions, in every process, and nothing to commit.

It knows when all that was in its topics when it began was handled. Records are handled one after
the other, so that is so when the next ones are asked for, unless some are held back by a pause.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from barnabas.app.ports import Source
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.records.message import Message

Offsets = Callable[[], Mapping[TopicPartition, int]]
"""Gives the first offset of each partition; of those that it leaves out, all is read."""


class WholeTopic:
    """Around a consumer. `reached` is set when it has caught up."""

    def __init__(self, source: Source, start: Offsets | None) -> None:
        self._source = source
        self._start = start
        self._ends: dict[TopicPartition, int] | None = None
        self._handled: dict[TopicPartition, int] = {}
        self._in_hand: dict[TopicPartition, int] = {}  # the last offset that was given to handle
        self._waiting: list[tuple[TopicPartition, int, asyncio.Future[None]]] = []
        self.reached = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    async def poll(self, timeout_s: float, max_records: int | None) -> list[Message]:
        await self._look()
        found = await self._source.poll(timeout_s, max_records)
        if self._start is not None:
            return []  # the first call gets the partitions
        for each in found:
            self._in_hand[TopicPartition(each.topic, each.partition)] = each.offset
        return found

    async def poll_table(self, timeout_s: float) -> Any:
        await self._look()
        found = await self._source.poll_table(timeout_s)
        if self._start is not None:
            return found.slice(0, 0)
        if found.num_rows:
            for each in self._source.assignment:
                self._in_hand[each] = self._source.position(each) - 1
        return found

    async def _go_to(self, offsets: Mapping[TopicPartition, int]) -> None:
        for each in self._source.assignment:
            if each in offsets:
                await self._source.seek(each, offsets[each])
            else:
                await self._source.seek_to_beginning(each)

    async def _look(self) -> None:
        if self._start is not None and self._source.assignment:
            await self._go_to(self._start())
            self._start = None
        for each in self._source.assignment:
            if each not in self._in_hand:
                self._handled[each] = self._source.position(each)
        if self._waiting:
            self._tell()
        if self.reached.is_set() or not self._source.assignment:
            return
        if self._ends is None:
            lag = await self._source.lag()
            self._ends = {each: self._source.position(each) + lag[each] for each in lag}
        if all(self._handled.get(each, 0) >= end for each, end in self._ends.items()):
            self.reached.set()

    def handled(self, partition: TopicPartition, offset: int) -> asyncio.Future[None]:
        """Done when the record there was handled."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((partition, offset, future))
        self._tell()
        return future

    def _tell(self) -> None:
        waiting, self._waiting = self._waiting, []
        for partition, offset, future in waiting:
            if future.done():
                continue  # cancelled
            if self._handled.get(partition, 0) > offset:
                future.set_result(None)
            else:
                self._waiting.append((partition, offset, future))

    # -- what a consumer commits, or forgets -------------------------------------------------------

    def done(self, message: Message) -> None:
        """Nothing is committed."""

    def done_up_to(self, message: Message) -> None:
        """Nothing is committed, but it is known what was handled."""
        partition = TopicPartition(message.topic, message.partition)
        if self._in_hand.get(partition, -1) <= message.offset:
            self._in_hand.pop(partition, None)

    async def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """All that was given is handled."""
        del offsets
        self._in_hand.clear()

    async def seek(self, partition: TopicPartition, offset: int) -> None:
        """What was in hand comes again, or is left out."""
        self._in_hand.pop(partition, None)
        await self._source.seek(partition, offset)

    async def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """The same."""
        self._forget(partitions)
        await self._source.seek_to_beginning(*partitions)

    async def seek_to_time(self, when: datetime, *partitions: TopicPartition) -> None:
        """The same."""
        self._forget(partitions)
        await self._source.seek_to_time(when, *partitions)

    def _forget(self, partitions: Collection[TopicPartition]) -> None:
        for each in partitions or list(self._in_hand):
            self._in_hand.pop(each, None)
