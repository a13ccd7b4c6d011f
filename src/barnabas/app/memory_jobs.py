"""A share group in memory, for tests of handlers: one worker, and a clock that the test moves."""

import asyncio
from collections.abc import Sequence
from typing import Any

from barnabas.app.clock import Clock
from barnabas.records.message import Message

_POLL_S = 0.02


class MemoryJob:
    """A record that was handed out."""

    def __init__(self, jobs: "MemoryJobs", record: Message, delivery_count: int) -> None:
        self._jobs = jobs
        self.record = record
        self.delivery_count = delivery_count

    def accept(self, _result: Any = None) -> None:
        self._jobs.accepted.append(self.record)

    def reject(self, _reason: str | None = None) -> None:
        self._jobs.rejected.append(self.record)

    def release(self, delay: float = 0) -> None:
        self._jobs.released(self, delay)


class MemoryJobs:
    """Hands out the records of topics, and those that were released again."""

    def __init__(self, records: dict[str, list[Message]], names: Sequence[str], clock: Clock):
        self._records = records
        self._positions = dict.fromkeys(names, 0)
        self._again: list[tuple[Message, int]] = []
        self._delays: set[asyncio.Task[Any]] = set()
        self._clock = clock
        self._is_stopped = False
        self._is_paused = False
        self.is_polling = False
        self.accepted: list[Message] = []
        self.rejected: list[Message] = []

    @property
    def has_unread(self) -> bool:
        if self._is_paused:
            return False
        return bool(self._again) or any(
            position < len(self._records.get(name, ()))
            for name, position in self._positions.items()
        )

    async def get(self, timeout_s: float | None = None) -> MemoryJob | None:
        self.is_polling = True
        try:
            if not self.has_unread and not self._is_stopped:
                await asyncio.sleep(_POLL_S if timeout_s is None else min(timeout_s, _POLL_S))
        finally:
            self.is_polling = False
        if self._is_stopped or self._is_paused:
            return None
        for name, position in self._positions.items():
            log = self._records.get(name, [])
            if position < len(log):
                self._positions[name] += 1
                return MemoryJob(self, log[position], 1)
        if self._again:
            record, count = self._again.pop(0)
            return MemoryJob(self, record, count)
        return None

    def released(self, job: MemoryJob, delay_s: float) -> None:
        async def deliver_again() -> None:
            if delay_s:
                await self._clock.sleep(delay_s)
            self._again.append((job.record, job.delivery_count + 1))

        task = asyncio.ensure_future(deliver_again())
        self._delays.add(task)
        task.add_done_callback(self._delays.discard)

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False

    def stop(self) -> None:
        self._is_stopped = True

    async def close(self) -> None:
        self.stop()
        for task in list(self._delays):
            task.cancel()
