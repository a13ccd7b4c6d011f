"""Files of partitions that are brought to where the changelog is."""

import asyncio

from barnabas import App, State
from barnabas.app.memory_topics import MemoryTopics, TestClock
from barnabas.app.state.memory_changelog import MemoryChangelog
from barnabas.app.state.restoration import Restoration
from barnabas.app.state.state_partition import StatePartition

CHANGELOG = "g.count.total.changelog"


def test_a_copy_that_follows_an_idle_changelog_does_not_get_old() -> None:
    app = App()

    @app.handler("numbers", group="g")
    def count(number: str, total: State[int]) -> None: ...

    clock = TestClock()
    topics = MemoryTopics(clock)
    topics.append(CHANGELOG, (7).to_bytes(8), b"a", ())
    restoration = Restoration(
        app.handlers["count"], MemoryChangelog(topics.records, CHANGELOG), clock
    )
    copy = StatePartition(0, None, expires=False)

    async def follow() -> None:
        await restoration.bring_up(copy)
        for _ in range(20):
            clock.now_ms += 2 * 3600 * 1000
            await restoration.bring_up(copy)
            assert copy.store.complete_ms == clock.time_ms()
        copy.total = 0
        await restoration.bring_up(copy)
        assert copy.total == 0  # nothing was read again
        assert copy.store.get(b"a") is not None

    asyncio.run(follow())
