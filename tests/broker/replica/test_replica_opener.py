"""Whose records a replica takes over when it is opened."""

import asyncio
from random import Random
from typing import Any

import pytest

from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.replica.high_watermark_checkpoint import HighWatermarkCheckpoint, encode
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partition_host import PartitionHost
from barnabas.broker.replica.replica_opener import ReplicaOpener
from barnabas.broker.replica.replica_trust import DIRECTORY_GONE, STILL_IN_DOUBT
from barnabas.broker.runtime.clock import Clock
from barnabas.log import (
    METADATA_FILE,
    DataDirectory,
    Disk,
    LogConfig,
    StorageError,
    read_topic_id,
)
from barnabas.metadata.image import PartitionImage, TopicImage
from barnabas.sim.machine.disk import DiskErrors, Operation, SimulatedDisk
from barnabas.sim.machine.process_disk import ProcessDisk
from tests.log.batches import put
from tests.log.memory_disk import MemoryDisk

LIMITS = AppendLimits(
    1 << 20, 1 << 20, 2**63 - 1, 2**63 - 1, needs_keys=False, min_insync_replicas=2
)
OLD, NEW = bytes(16), bytes(range(16))
PATH = "data/t-0"
METADATA = f"{PATH}/{METADATA_FILE}"
CHECKPOINT = "data/replication-offset-checkpoint"
UNREADABLE = [b"", b"version: 0\ntopic_id: AAAA\n", b"\0" * 40, None]


class Node:
    """As much of node 1 as opens replicas in its data directory."""

    def __init__(self, disk: Disk | None = None, config: LogConfig | None = None) -> None:
        self.disk: Any = disk or MemoryDisk()
        self.config = config or LogConfig()
        self.data = DataDirectory.open(
            self.disk, "data", node_id=1, new_cluster_id="c", new_directory_id=bytes(16)
        )
        self._loop = asyncio.new_event_loop()
        self._loop.close()
        self.is_suspect = False
        self.leader_epoch = 0

    def opened(self, topic_id: bytes, replicas: tuple[int, ...] = (1, 2, 3)) -> Partition:
        host = PartitionHost(
            1, self._loop, Clock(), 1000, lambda _: 1, lambda _: None, lambda _: None
        )
        opener = ReplicaOpener(
            self.data,
            self.disk,
            Clock(),
            host,
            HighWatermarkCheckpoint(self.disk, "data"),
            is_suspect=lambda: self.is_suspect,
            is_directory_new=lambda: False,
        )
        image = PartitionImage(0, list(replicas), list(replicas), 2, self.leader_epoch, 0)
        return opener.open(TopicImage("t", topic_id, [image]), 0, self.config, LIMITS)

    def filled(self) -> None:
        """The node stops with records of the old topic."""
        partition = self.opened(OLD)
        put(partition.log, b"a", b"b")
        partition.close()
        self.disk.replace_file(CHECKPOINT, encode({("t", 0): (OLD, 2)}))

    def metadata(self, content: bytes | None) -> None:
        self.disk.unlink(METADATA)
        if content is not None:
            self.disk.replace_file(METADATA, content)

    @property
    def strays(self) -> list[str]:
        return [name for name in self.disk.list_directories("data") if name.endswith("-stray")]


@pytest.mark.parametrize("content", UNREADABLE)
def test_records_of_an_unknown_topic_are_not_taken_over(
    content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    node = Node()
    node.filled()
    node.metadata(content)
    partition = node.opened(NEW)
    assert partition.log.log_end_offset == 0
    assert partition.doubt.lacks_end, "it may have been this topic's: the replica fetches it again"
    assert node.strays == ["t-0.0-stray"]
    assert f"{0:020d}.log" in node.disk.list_files("data/t-0.0-stray"), "nothing is deleted"
    assert METADATA_FILE in caplog.text
    assert "data/t-0.0-stray" in caplog.text
    assert read_topic_id(node.disk, PATH) == NEW


@pytest.mark.parametrize("content", UNREADABLE)
@pytest.mark.parametrize("replicas", [(1,), (1, 2, 3)])
def test_the_checkpoint_tells_whose_records_they_are(
    content: bytes | None, replicas: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    node = Node()
    node.filled()
    node.metadata(content)
    partition = node.opened(OLD, replicas)
    assert partition.log.log_end_offset == 2
    assert not partition.doubt
    assert not node.strays
    assert METADATA_FILE in caplog.text
    assert read_topic_id(node.disk, PATH) == OLD


def test_a_directory_without_files_belongs_to_any_topic() -> None:
    """A process was killed after it had made the directory."""
    node = Node()
    node.disk.make_directory(PATH)
    partition = node.opened(NEW)
    assert not partition.doubt
    assert not node.strays


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_listed_replica_whose_directory_is_gone_lacks_its_records(is_empty: bool) -> None:
    """Also if its line tells of none: it was written when the replica was made."""
    node = Node()
    node.disk.replace_file(CHECKPOINT, encode({("t", 0): (NEW, 0)}))
    if is_empty:
        node.disk.make_directory(PATH)
    partition = node.opened(NEW)
    assert partition.doubt.reason == DIRECTORY_GONE
    assert partition.doubt.lacks_end
    again = node.opened(NEW)
    assert again.doubt.reason == STILL_IN_DOUBT, "killed before the controller knew"
    assert again.doubt.lacks_end


def test_a_replica_that_is_not_listed_is_new() -> None:
    node = Node()
    node.disk.replace_file(CHECKPOINT, encode({("t", 0): (OLD, 0)}))
    assert not node.opened(NEW).doubt


@pytest.mark.parametrize("seed", range(20))
def test_a_power_loss_takes_no_name_of_a_topic_whose_records_it_leaves(seed: int) -> None:
    node = Node()
    partition = node.opened(OLD)
    put(partition.log, b"a")
    partition.log.flusher.flush()
    node.disk.power_loss(Random(seed))
    assert read_topic_id(node.disk, PATH) == OLD
    assert node.opened(OLD).log.log_end_offset == 1


@pytest.mark.parametrize("seed", range(10))
def test_what_a_failed_sync_has_dropped_is_written_again_before_it_is_served(seed: int) -> None:
    """A topic that sets `flush.*` acknowledges it then, and has it after a loss of power."""
    machine = SimulatedDisk(Random(seed), lambda: 0)
    disk = ProcessDisk(machine, lambda: None)
    node = Node(disk, LogConfig(flush_messages=1))
    log = node.opened(OLD).log
    put(log, b"a")
    log.flusher.flush()
    put(log, b"b")
    machine.errors.append(DiskErrors("data/", frozenset({Operation.SYNC}), Random(seed), left=1))
    with pytest.raises(StorageError):
        log.flusher.flush()
    log.abandon()
    assert node.opened(OLD).log.flushed_offset == 2
    machine.lose_power()
    node.disk = ProcessDisk(machine, lambda: None)
    assert node.opened(OLD).log.log_end_offset == 2


def test_a_replica_whose_owner_can_not_be_read_for_now_is_left_alone() -> None:
    """A disk that fails is no reason to fetch all records again."""
    machine = SimulatedDisk(Random(1), lambda: 0)
    node = Node(ProcessDisk(machine, lambda: None))
    partition = node.opened(OLD)
    put(partition.log, b"a")
    partition.close()
    machine.errors.append(DiskErrors(METADATA, frozenset({Operation.READ}), Random(1)))
    with pytest.raises(StorageError, match="Input/output error"):
        node.opened(OLD)
    machine.errors.clear()
    assert not node.strays
    assert node.opened(OLD).log.log_end_offset == 1
