"""What can't be loaded now may be loaded later."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.coordinator import shard_loader
from barnabas.broker.coordinator.shard_loader import ShardLoader
from barnabas.log import BatchDamaged, StorageError


class Shard:
    """A shard whose log has one record."""

    def __init__(self) -> None:
        self.leads = True
        self.events: list[str] = []
        log = SimpleNamespace(
            log_start_offset=0, log_end_offset=1, segment_infos=list, lost_ranges=()
        )
        self.partition = SimpleNamespace(
            log=log, topic="__consumer_offsets", index=7, committed=lambda _: None
        )

    def damaged(self) -> None:
        self.events.append("damaged")

    def serve(self, _: int) -> None:
        self.events.append("serves")


def load(monkeypatch: pytest.MonkeyPatch, failures: list[Exception]) -> list[str]:
    def slices(*_: object) -> Iterator[Any]:
        if failures:
            raise failures.pop(0)
        return iter(())

    monkeypatch.setattr(shard_loader, "batch_slices", slices)
    monkeypatch.setattr(shard_loader, "_TRY_AGAIN_S", 0)
    shard = Shard()

    async def play() -> None:
        loader = ShardLoader(asyncio.get_running_loop())
        loader.load(shard)  # type: ignore[arg-type]
        for _ in range(20):
            await asyncio.sleep(0.001)

    asyncio.run(play())
    return shard.events


def unread() -> StorageError:
    error = StorageError("cannot read it")
    error.__cause__ = OSError(5, "Input/output error")
    return error


def test_a_disk_that_did_not_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(monkeypatch, [unread(), unread()]) == ["damaged", "damaged", "serves"]


def test_damage_does_not_go_away(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(monkeypatch, [BatchDamaged("at 3")]) == ["damaged"]
