"""What a target refuses is told and tried again later; nothing else stops, and nothing piles up."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError, ConnectionLost, ErrorCode, NotAuthorized
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.mirror.formats.checkpoint import CheckpointRecord
from barnabas.mirror.groups import checkpoints, driver_note
from barnabas.mirror.groups.checkpoints import Checkpoints
from barnabas.mirror.groups.driver_note import DriverNote
from barnabas.mirror.groups.heartbeats import RETRY_S
from barnabas.mirror.groups.reported_problems import LOST_FOR_S, ReportedProblems

FLOW = Flow(ClusterEnd("A", "a:9092"), ClusterEnd("B", "b:9092"))
REFUSED = NotAuthorized(ErrorCode.GROUP_AUTHORIZATION_FAILED, "not allowed")
LOST = "DATA LOST: offsets 1 to 5 were deleted"


class Refusing:
    """A target that answers with errors first, and keeps what it is given after that."""

    def __init__(self, *errors: BarnabasError) -> None:
        self.errors = list(errors)
        self.kept: list[Any] = []

    async def write_checkpoints(self, records: Iterable[CheckpointRecord]) -> None:
        self.keep(list(records))

    async def commit_offsets(self, *_: Any, metadata: dict[TopicPartition, str]) -> None:
        self.keep(*metadata.values())

    def keep(self, what: Any) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.kept.append(what)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (checkpoints, driver_note):
        monkeypatch.setattr(module, "monotonic", made)
    return made


def checkpoint(offset: int) -> CheckpointRecord:
    return CheckpointRecord("g", TopicPartition("A.orders", 0), offset, offset, "")


def test_refused_checkpoints_are_kept_once_and_tried_after_a_minute(clock: Clock) -> None:
    target: Any = Refusing(ConnectionLost("away"), ConnectionLost("away"), REFUSED)
    written = Checkpoints()

    def write(offset: int) -> None:
        asyncio.run(written.write(target, [checkpoint(offset)]))

    for offset in (1, 2):
        with pytest.raises(ConnectionLost):
            write(offset)
    write(3)
    assert "not allowed" in written.problem
    write(4)
    assert target.kept == [], "not before a minute is over"
    clock.now += RETRY_S
    write(5)
    assert target.kept == [[checkpoint(5)]]
    assert written.problem == ""


def test_a_refused_note_is_told_and_tried_after_a_minute(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    target: Any = Refusing(REFUSED)
    monkeypatch.setattr(driver_note, "commit_offsets", target.commit_offsets)
    note = DriverNote(FLOW, target)
    asyncio.run(note.write(["one"]))
    assert "not allowed" in note.problem
    asyncio.run(note.write(["two"]))
    assert target.kept == []
    clock.now += RETRY_S
    asyncio.run(note.write(["three"]))
    assert target.kept == ["three"]
    assert note.problem == ""


def test_what_was_lost_is_shown_for_some_minutes() -> None:
    reported = ReportedProblems()
    reported.take([["trying again"], [LOST], []], 0.0)
    assert reported.lines(0.0) == [LOST, "trying again"]
    reported.take([], 1.0)
    assert reported.lines(1.0) == [LOST, "trying again"]
    reported.take([[]], 2.0)
    assert reported.lines(2.0) == [LOST]
    assert reported.lines(LOST_FOR_S) == []
