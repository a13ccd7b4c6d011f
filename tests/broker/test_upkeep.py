"""What a node does from time to time."""

from types import SimpleNamespace
from typing import Any

from barnabas.broker import upkeep

DAY_MS = 24 * 60 * 60_000


def test_no_producer_is_idle_because_the_clock_was_set() -> None:
    """A producer that is forgotten is not recognized when it retries: its batch is stored twice."""
    idle_at: list[int] = []
    now_ms = 100 * DAY_MS
    log: Any = SimpleNamespace(
        producer_state=SimpleNamespace(expire=idle_at.append),
        flusher=SimpleNamespace(is_due=lambda _: False),
    )
    partition: Any = SimpleNamespace(log=log, checkpoint=lambda: None)
    for set_by_ms in (2 * DAY_MS, -2 * DAY_MS, 0):
        clock = SimpleNamespace(
            now_ms=lambda by=set_by_ms: now_ms + by,
            steady_ms=lambda: now_ms,
        )
        node: Any = SimpleNamespace(clock=clock)
        upkeep._checkpoint(node, partition)
    assert idle_at == [now_ms, now_ms - 2 * DAY_MS, now_ms]
