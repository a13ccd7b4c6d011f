"""The file that says what this node had acknowledged."""

from random import Random
from unittest.mock import patch

import pytest

from barnabas.broker.replica.high_watermark_checkpoint import (
    IN_DOUBT,
    UNKNOWN,
    HighWatermarkCheckpoint,
)
from barnabas.broker.replica.replica_doubt import ReplicaDoubt
from barnabas.log import StorageError
from tests.log.memory_disk import MemoryDisk

PATH = "data/replication-offset-checkpoint"
ID = bytes(range(16))
HEX = ID.hex()


class Stub:
    """As much of a replica as the file is about."""

    def __init__(self, topic: str, index: int, high_watermark: int) -> None:
        self.topic = topic
        self.topic_id = ID
        self.index = index
        self.high_watermark = high_watermark
        self.doubt = ReplicaDoubt()
        self.deleted = False


def written(disk: MemoryDisk, watermarks: HighWatermarkCheckpoint) -> str:
    job = watermarks.draft()
    assert job is not None
    job()
    watermarks.written(None)
    return disk.read_file(PATH).decode()


def test_it_names_each_replica_and_its_topic() -> None:
    disk = MemoryDisk()
    watermarks = HighWatermarkCheckpoint(disk, "data")
    assert watermarks.draft() is None
    for partition in (Stub("t", 0, 5), Stub("u.v_w", 12, 0)):
        watermarks.opened(partition)
    assert written(disk, watermarks) == f"1\n2\nt 0 5 {HEX}\nu.v_w 12 0 {HEX}\n"
    again = HighWatermarkCheckpoint(disk, "data")
    assert again.acknowledged("t", ID, 0) == 5
    assert again.acknowledged("t", ID, 1) == 0


def test_only_what_moved_is_written() -> None:
    disk = MemoryDisk()
    watermarks = HighWatermarkCheckpoint(disk, "data")
    partitions = [Stub("t", index, 0) for index in range(3)]
    for partition in partitions:
        watermarks.opened(partition)
    written(disk, watermarks)
    assert watermarks.draft() is None, "idle partitions cost nothing"
    partitions[1].high_watermark = 7
    watermarks.moved[partitions[1]] = None
    assert written(disk, watermarks) == f"1\n3\nt 0 0 {HEX}\nt 1 7 {HEX}\nt 2 0 {HEX}\n"
    assert not watermarks.is_urgent.is_set()
    watermarks.removed("t", 0)
    assert watermarks.is_urgent.is_set(), "to be written at once"
    assert written(disk, watermarks) == f"1\n2\nt 1 7 {HEX}\nt 2 0 {HEX}\n"
    assert not watermarks.is_urgent.is_set()


def test_a_write_that_fails_is_done_again_and_one_is_under_way_at_a_time() -> None:
    disk = MemoryDisk()
    watermarks = HighWatermarkCheckpoint(disk, "data")
    watermarks.opened(Stub("t", 0, 5))
    assert watermarks.draft() is not None
    assert watermarks.draft() is None
    watermarks.written(OSError("no space"))
    assert written(disk, watermarks) == f"1\n1\nt 0 5 {HEX}\n"


def test_a_replica_in_doubt_keeps_its_line() -> None:
    """Or a second crash, before anybody was told, would make the loss forgotten."""
    disk = MemoryDisk()
    watermarks = HighWatermarkCheckpoint(disk, "data")
    watermarks.opened(Stub("t", 0, 500))
    written(disk, watermarks)
    again = HighWatermarkCheckpoint(disk, "data")
    empty = Stub("t", 0, 0)
    empty.doubt.reason = "its directory is gone"
    again.opened(empty)
    again.moved[empty] = None
    assert again.draft() is None
    assert again.acknowledged("t", ID, 0) == 500
    empty.doubt.settle()
    assert written(disk, again) == f"1\n1\nt 0 0 {HEX}\n"


def test_what_is_not_open_yet_stays_listed_until_it_is_known_to_be_gone() -> None:
    disk = MemoryDisk()
    watermarks = HighWatermarkCheckpoint(disk, "data")
    for topic in ("deleted", "kept", "open"):
        watermarks.opened(Stub(topic, 0, 5))
    written(disk, watermarks)
    again = HighWatermarkCheckpoint(disk, "data")
    moved = Stub("open", 0, 6)
    again.opened(moved)
    again.moved[moved] = None
    assert written(disk, again) == f"1\n3\ndeleted 0 5 {HEX}\nkept 0 5 {HEX}\nopen 0 6 {HEX}\n"
    again.forget_unclaimed(lambda topic, _: topic == "kept")
    assert written(disk, again) == f"1\n2\nkept 0 5 {HEX}\nopen 0 6 {HEX}\n"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "1\n",
        f"1\n2\nt 0 5 {HEX}\n",
        f"0\n1\nt 0 5 {HEX}\n",
        "1\n1\nt 0 5\n",
        "\xff\n1\nt 0 1\n",
    ],
)
def test_a_damaged_file_makes_it_unknown_what_was_acknowledged(content: str) -> None:
    disk = MemoryDisk()
    disk.replace_file(PATH, content.encode("latin-1"))
    watermarks = HighWatermarkCheckpoint(disk, "data")
    assert watermarks.acknowledged("t", ID, 0) == UNKNOWN
    doubted, closed = Stub("t", 0, 5), Stub("t", 1, 7)
    doubted.doubt.reason = "it was not closed"
    watermarks.opened(doubted)
    watermarks.opened(closed)
    written(disk, watermarks)
    again = HighWatermarkCheckpoint(disk, "data")
    assert again.acknowledged("t", ID, 0) == IN_DOUBT, "a second crash finds the same"
    assert again.acknowledged("t", ID, 1) == 7
    watermarks.forget_unclaimed(lambda *_: True)
    assert watermarks.acknowledged("new", ID, 0) == 0


def test_a_directory_that_is_gone_is_written_down_before_it_is_made_again() -> None:
    disk = MemoryDisk()
    watermarks = HighWatermarkCheckpoint(disk, "data")
    watermarks.opened(Stub("t", 0, 0))
    assert watermarks.is_urgent.is_set(), "the line is there soon"
    written(disk, watermarks)
    watermarks = HighWatermarkCheckpoint(disk, "data")
    watermarks.directory_is_gone("t", ID, 0)
    assert disk.read_file(PATH).decode() == f"1\n1\nt 0 -1 {HEX}\n"
    again = HighWatermarkCheckpoint(disk, "data")
    assert again.acknowledged("t", ID, 0) == IN_DOUBT
    found = Stub("t", 0, 0)
    found.doubt.reason = "its directory is gone"
    again.opened(found)
    again.moved[found] = None
    assert again.draft() is None, "nobody was told yet"
    found.doubt.settle()
    again.settled(found)
    again.write_now()
    assert disk.read_file(PATH).decode() == f"1\n1\nt 0 0 {HEX}\n", "written at once"
    assert not again.is_urgent.is_set()


def test_a_directory_is_not_made_again_before_its_loss_is_written_down() -> None:
    """Or the next start would trust the empty one."""
    disk = MemoryDisk()
    watermarks = HighWatermarkCheckpoint(disk, "data")
    watermarks.opened(Stub("t", 0, 0))
    job = watermarks.draft()
    assert job is not None
    with pytest.raises(StorageError, match="being written"):
        watermarks.directory_is_gone("t", ID, 0)
    job()
    watermarks.written(None)
    with patch.object(disk, "replace_file", side_effect=OSError("no space")):
        for _ in range(2):
            with pytest.raises(StorageError, match="no space"):
                watermarks.directory_is_gone("t", ID, 0)
    watermarks.directory_is_gone("t", ID, 0)
    assert HighWatermarkCheckpoint(disk, "data").acknowledged("t", ID, 0) == IN_DOUBT


def test_a_replica_without_a_line_is_new() -> None:
    disk = MemoryDisk()
    HighWatermarkCheckpoint(disk, "data").directory_is_gone("t", ID, 0)
    assert not disk.exists(PATH)


def test_a_line_that_tells_of_records_is_kept_when_the_directory_is_gone() -> None:
    disk = MemoryDisk()
    watermarks = HighWatermarkCheckpoint(disk, "data")
    watermarks.opened(Stub("t", 0, 5))
    written(disk, watermarks)
    watermarks.directory_is_gone("t", ID, 0)
    assert HighWatermarkCheckpoint(disk, "data").acknowledged("t", ID, 0) == 5


@pytest.mark.parametrize("seed", range(20))
def test_a_power_loss_leaves_what_was_written(seed: int) -> None:
    disk = MemoryDisk()
    disk.make_directory("data")
    disk.sync_directory("data")
    watermarks = HighWatermarkCheckpoint(disk, "data")
    watermarks.opened(Stub("t", 0, 500))
    written(disk, watermarks)
    disk.power_loss(Random(seed))
    assert HighWatermarkCheckpoint(disk, "data").acknowledged("t", ID, 0) == 500


def test_a_topic_of_the_same_name_is_another() -> None:
    """It was deleted and created again: what the earlier one had acknowledged is not lost."""
    disk = MemoryDisk()
    watermarks = HighWatermarkCheckpoint(disk, "data")
    watermarks.opened(Stub("t", 0, 500))
    written(disk, watermarks)
    again = HighWatermarkCheckpoint(disk, "data")
    other = bytes(16)
    assert again.acknowledged("t", other, 0) == 0
    new = Stub("t", 0, 3)
    new.topic_id = other
    again.opened(new)
    assert written(disk, again) == f"1\n1\nt 0 3 {other.hex()}\n"
