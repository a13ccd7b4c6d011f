"""Runs a handler for the records of its retry topics, each when its pause is over.

All records of a retry topic have the same pause, so the first one of a partition is due first. A
partition whose first record is not due yet is paused: the others go on, and so does the group.
"""

import asyncio
from contextlib import suppress
from typing import Any

from barnabas.app.attempts import Stopped
from barnabas.app.clock import Clock
from barnabas.app.letters import Original, original_of
from barnabas.app.runners.record_runner import POLL_S, RecordRunner
from barnabas.app.runners.unread import hold, put_back
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError
from barnabas.records.message import Message

_LIST = 50  # records; stopping waits for the one that is being handled


class RetryRunner(RecordRunner):
    """Of one handler and all its retry topics; `pauses` are in seconds, by topic."""

    def __init__(self, *parts: Any, pauses: dict[str, float], clock: Clock) -> None:
        super().__init__(*parts)
        self._pauses = pauses
        self._clock = clock
        self._resumes: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            for task in list(self._resumes):
                task.cancel()

    async def _turn(self) -> None:
        messages = await self._source.poll(POLL_S, _LIST)
        if self.is_paused and messages:
            await hold(self._source, messages, self)
            return
        due, early = self._split(messages)
        for message in due:
            if self._attempts.stopping.is_set():
                return  # the others are not done, and will be read again
            try:
                await self._handle(message)
            except Stopped:
                return
            self._source.done(message)
        if early:
            await self._put_off(early, commits=bool(due))

    async def _put_off(self, early: list[Message], *, commits: bool) -> None:
        """Read these again when they are due. Going back forgets what is done, so commit first."""
        if commits:
            with suppress(BarnabasError):  # then some are handled again after the next start
                await self._source.commit()
        first = min(self._wait_ms(each) for each in early)
        partitions = await put_back(self._source, early)
        self._resume_later(partitions, first / 1000)

    def _split(self, messages: list[Message]) -> tuple[list[Message], list[Message]]:
        """Those that are due, and those that are not, with all that follow in their partitions."""
        due: list[Message] = []
        early: list[Message] = []
        held: set[tuple[str, int]] = set()
        for each in messages:
            where = (each.topic, each.partition)
            if where in held or self._wait_ms(each) > 0:
                held.add(where)
                early.append(each)
            else:
                due.append(each)
        return due, early

    def _wait_ms(self, message: Message) -> float:
        due_ms = message.timestamp_ms + 1000 * self._pauses[message.topic]
        return due_ms - self._clock.time_ms()

    def _resume_later(self, partitions: list[TopicPartition], pause_s: float) -> None:
        async def resume() -> None:
            await self._clock.sleep(max(0.0, pause_s))
            assigned = set(self._source.assignment)
            still = [each for each in partitions if each in assigned]
            if still:
                await self._source.resume(*still)

        task = asyncio.ensure_future(resume())
        self._resumes.add(task)
        task.add_done_callback(self._resumes.discard)

    async def _handle(self, message: Message) -> None:
        original = original_of(message, self._handler.group_name)
        if original is None:
            return  # of another group, whose handler reads it as well
        self._current[0] = message
        try:
            await self._attempts.deliver(original.message)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises
            await self._attempts.recover(original, error)
        finally:
            self._current[0] = None
        self._statistics.handled += 1

    def original(self, message: Message) -> Original:
        return original_of(message, self._handler.group_name) or Original(message)
