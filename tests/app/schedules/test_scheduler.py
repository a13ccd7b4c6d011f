"""The scheduler of one process, with a consumer that does what a test wants."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from barnabas import App
from barnabas.app.clock import SystemClock
from barnabas.app.patience import Patience
from barnabas.app.ports import Connections
from barnabas.app.schedules.scheduler import Scheduler
from barnabas.client.connect.cluster_metadata import TopicPartition


class _SlowSource:
    """A member that never gets a partition, and whose cluster does not answer when it leaves."""

    assignment: tuple[TopicPartition, ...] = ()

    def __init__(self) -> None:
        self.polled, self.leaving = asyncio.Event(), asyncio.Event()
        self.closed = False

    async def poll(self, timeout_s: float, max_records: int | None) -> list[Any]:
        del timeout_s, max_records
        self.polled.set()
        await asyncio.sleep(0)
        return []

    async def lag(self) -> Mapping[TopicPartition, int]:
        self.leaving.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def close(self) -> None:
        self.closed = True


class _Connections:
    def __init__(self) -> None:
        self.made = _SlowSource()

    async def ensure_memory(self, topic: str, like: str) -> None: ...

    def source(self, topics: Any, group: str, **options: Any) -> _SlowSource:
        del topics, options
        self.made.assignment = (TopicPartition(group, 0),)
        return self.made


def test_a_scheduler_that_is_cancelled_twice_leaves_its_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second time is the end of the grace period. A member that stays keeps the schedules from
    all other workers."""
    app = App()

    @app.schedule(every="10m", produces="cleanups", group="cleaner")
    def clean() -> str:
        return ""

    async def idle(self: Scheduler, source: object) -> None:
        del self, source

    monkeypatch.setattr(Scheduler, "_on_duty", idle)
    monkeypatch.setattr(Scheduler, "_commit", _nothing_to_commit)

    async def scenario() -> None:
        connections = _Connections()
        clock = SystemClock()
        scheduler = Scheduler(
            "cleaner",
            app.schedules,
            cast("Connections", connections),
            clock,
            Patience(clock, "it", asyncio.Event()),
            cast("Any", None),
        )
        running = asyncio.ensure_future(scheduler.run())
        await connections.made.polled.wait()
        running.cancel()
        await connections.made.leaving.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert connections.made.closed

    asyncio.run(scenario())


async def _nothing_to_commit(*_: object) -> None: ...
