"""What a long poll costs: as little as the one partition that has moved, however many it has."""

from types import SimpleNamespace
from typing import Any

from barnabas.broker.fetch.fetch_entry import Entry
from barnabas.broker.fetch.fetch_session import FetchSession
from barnabas.wire.messages.fetch import FetchPartition
from tests.client.virtual_time import VirtualTimeLoop

PARTITIONS = 500


class Partition:
    """Has as many bytes as the test says, and counts how often it is asked."""

    is_leader = True
    deleted = False
    leader_epoch = 1

    def __init__(self) -> None:
        self.size = 10
        self.asked = 0
        self.watchers: dict[FetchSession, None] = {}
        self.replica_watchers: dict[FetchSession, None] = {}
        self.log = SimpleNamespace(log_start_offset=0, reader=self)

    @property
    def high_watermark(self) -> int:
        return self.size

    @property
    def log_end_offset(self) -> int:
        return self.size

    def bytes_between(self, first: int, last: int) -> int:
        self.asked += 1
        return last - first

    def grow(self, more: int) -> None:
        self.size += more
        for watcher in tuple(self.watchers):
            watcher.partition_moved(self)  # type: ignore[arg-type]


class World:
    """A reader of many partitions that wants `min_bytes`."""

    def __init__(self, session_id: int, min_bytes: int) -> None:
        self.loop = VirtualTimeLoop()
        self.partitions = [Partition() for _ in range(PARTITIONS)]
        self.session = FetchSession(session_id)
        self.session.isolate(committed_only=False)
        for index, partition in enumerate(self.partitions):
            found: Any = partition
            partition.log.log_end_offset = 1 << 30
            entry = Entry(("t", index), found, leader_only=False)
            self.session.add(entry, FetchPartition(index, -1, 0, partition_max_bytes=1 << 20))
        assert not self.session.is_satisfied(min_bytes)
        self.wait = self.session.wait(self.loop, min_bytes, 1000)

    @property
    def asked(self) -> int:
        return sum(partition.asked for partition in self.partitions)


def test_a_move_looks_at_one_partition() -> None:
    for session_id in (0, 7):
        world = World(session_id, 10 * PARTITIONS + 100)
        before = world.asked
        assert before == PARTITIONS
        for number, partition in enumerate(world.partitions[:99], 1):
            partition.grow(1)
            assert world.asked == before + number
            assert not world.wait.done()
        world.partitions[0].grow(1)
        assert world.wait.done()


def test_what_is_taken_away_counts_too() -> None:
    world = World(7, 10 * PARTITIONS + 5)
    world.partitions[3].grow(-10)
    world.partitions[4].grow(14)
    assert not world.wait.done()
    world.partitions[4].grow(1)
    assert world.wait.done()


def test_one_byte_ends_the_wait() -> None:
    session, partition = FetchSession(7), Partition()
    found: Any = partition
    partition.log.log_end_offset = 1 << 30
    session.isolate(committed_only=False)
    entry = Entry(("t", 0), found, leader_only=False)
    session.add(entry, FetchPartition(0, -1, 10, partition_max_bytes=1))
    assert not session.is_satisfied(1)
    wait = session.wait(VirtualTimeLoop(), 1, 1000)
    partition.grow(0)
    assert not wait.done()
    partition.grow(1)
    assert wait.done()
    assert not partition.asked
