"""A replica that follows, on a disk that refuses."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.follower.follower_log import truncate
from barnabas.broker.follower.replica_fetchers import ReplicaFetchers
from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partition_host import PartitionHost
from barnabas.broker.replica.replica_doubt import (
    ReplicaDoubt,
    examine_epochs,
    fetch_position,
    must_lead_in_doubt,
    settle_doubt,
)
from barnabas.broker.replica.replica_truncation import start_at, truncate_suspect, truncate_to
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import Log, LogConfig, StorageError
from barnabas.metadata.image import PartitionImage
from barnabas.metadata.partition_image import RECOVERING
from barnabas.records.decode import iter_batches
from barnabas.replication import EpochEnd
from tests.log.batches import put
from tests.log.memory_disk import MemoryDisk

LIMITS = AppendLimits(
    1 << 20, 1 << 20, 2**63 - 1, 2**63 - 1, needs_keys=False, min_insync_replicas=2
)
LED_BY_2 = PartitionImage(0, [1, 2], [1, 2], 2, 5, 5)


def replica() -> tuple[MemoryDisk, Partition]:
    """A replica on node 1 with a record of epoch 0 and one of epoch 1, and a full disk."""
    loop = asyncio.new_event_loop()
    loop.close()
    host = PartitionHost(1, loop, Clock(), 1000, lambda _: 1, lambda _: None, lambda _: None)
    disk = MemoryDisk()
    log = Log.open(disk, "data/t-0", LogConfig(), 0)
    put(log, b"a", epoch=0)
    put(log, b"b", epoch=1)
    disk.capacity = disk.used()
    return disk, Partition("t", 0, bytes(16), log, LIMITS, host)


def test_what_can_not_be_cut_is_still_known_by_its_epoch() -> None:
    disk, partition = replica()
    with pytest.raises(StorageError, match="No space left"):
        truncate(partition, EpochEnd(0, 1))
    assert (partition.log.log_end_offset, partition.log.last_epoch) == (2, 1)
    disk.capacity = 1 << 30
    truncate(partition, EpochEnd(0, 1))
    assert (partition.log.log_end_offset, partition.log.last_epoch) == (1, 0)


def test_a_leader_that_is_only_named_makes_no_replica_truncate() -> None:
    """All machines lost power: the named leader may be in doubt as well, and have less."""
    disk, partition = replica()
    disk.capacity = 1 << 30
    partition.doubt = ReplicaDoubt("the machine lost power", 0, lacks_end=True)
    assert partition.apply(LED_BY_2)
    assert partition.log.log_end_offset == 2
    assert settle_doubt(partition), "it fetches again"
    assert partition.log.log_end_offset == 2
    assert fetch_position(partition) == (0, -1), "it claims to have none of them"
    assert partition.apply(PartitionImage(0, [1, 2], [1], 1, 6, 6))
    assert not partition.is_leader, "a controller that did not know of the doubt has elected it"
    settle_doubt(partition)
    assert partition.apply(PartitionImage(0, [1, 2], [], -1, 7, 7))
    assert partition.apply(
        PartitionImage(0, [1, 2], [1], 1, 8, 8, leader_recovery_state=RECOVERING)
    )
    assert partition.is_leader, "the replicas were compared, and it has the most"
    assert partition.log.log_end_offset == 2


def test_what_a_replica_in_doubt_truncates_is_set_aside() -> None:
    disk, partition = replica()
    disk.capacity = 1 << 30
    partition.host = replace(partition.host, set_aside=lambda _: "data/set-aside/t-0/now")
    partition.doubt = ReplicaDoubt("the machine lost power", 1, lacks_end=True)
    assert partition.apply(LED_BY_2)
    truncate_suspect(partition)
    assert partition.log.log_end_offset == 1
    assert partition.doubt, "the controller has to know"
    assert partition.doubt.refetch_upto == 2
    aside = Log.open(disk, "data/set-aside/t-0/now", LogConfig(), 0)
    assert (aside.log_start_offset, aside.log_end_offset) == (1, 2)


def test_a_hole_is_not_cut_off_before_the_controller_knows_of_it() -> None:
    """The hole is the only evidence: another start would take the rest of the log for whole."""
    disk, partition = replica()
    disk.capacity = 1 << 30
    partition.doubt = ReplicaDoubt("it has lost offset 1", 1)
    assert partition.apply(LED_BY_2)
    assert (partition.leader_id, partition.log.log_end_offset) == (2, 2)
    assert fetch_position(partition) == (2, 1)
    assert settle_doubt(partition), "it fetches again"
    assert fetch_position(partition) == (1, 0)
    truncate_suspect(partition)
    assert partition.log.log_end_offset == 1
    assert fetch_position(partition) == (1, 0)


LED_BY_1 = PartitionImage(0, [1, 2], [1], 1, 6, 6)


def test_a_replica_in_doubt_leads_only_if_nobody_can_stand_in_for_it() -> None:
    disk, partition = replica()
    disk.capacity = 1 << 30
    partition.doubt.reason = "it has lost something"
    assert partition.apply(LED_BY_1)
    assert not partition.is_leader
    assert must_lead_in_doubt(partition), "so that it looks again at what is agreed"
    assert partition.apply(LED_BY_1)
    assert partition.is_leader
    # Its connection breaks for a moment, and it is elected again.
    assert partition.apply(PartitionImage(0, [1, 2], [1], -1, 7, 7))
    assert not partition.is_leader
    assert partition.apply(PartitionImage(0, [1, 2], [1], 1, 8, 8))
    assert partition.is_leader


def test_records_stay_suspect_until_they_are_cut_off() -> None:
    disk, partition = replica()
    disk.capacity = 1 << 30
    partition.leader_id = 2
    partition.doubt = ReplicaDoubt("it has lost something", 1)
    assert settle_doubt(partition)
    disk.capacity = disk.used()
    with pytest.raises(StorageError, match="No space left"):
        truncate_suspect(partition)
    assert partition.doubt.awaits_leader
    disk.capacity = 1 << 30
    truncate_suspect(partition)
    assert not partition.doubt.awaits_leader
    assert partition.log.log_end_offset == 1


def test_a_replica_does_not_lead_before_it_has_what_it_cut_off() -> None:
    """The controller elects it before it knows of the doubt; the node hears of it afterwards."""
    disk, partition = replica()
    disk.capacity = 1 << 30
    told: list[Partition] = []
    partition.host = replace(partition.host, on_doubt=told.append)
    assert partition.apply(PartitionImage(0, [1, 2], [1, 2], 2, 5, 5))
    partition.doubt = ReplicaDoubt("it has lost offset 1", 1)
    assert settle_doubt(partition)
    truncate_suspect(partition)
    assert partition.apply(PartitionImage(0, [1, 2], [1, 2], 1, 6, 6))
    assert not partition.is_leader
    assert told == [partition], "if it was elected for good, the controller has to know"
    assert partition.apply(PartitionImage(0, [1, 2], [2], 2, 7, 7))
    assert settle_doubt(partition) is False, "there is nothing to cut"
    partition.doubt.caught_up(1, 1)
    assert partition.apply(PartitionImage(0, [1, 2], [1, 2], 1, 8, 8))
    assert partition.is_leader


def test_an_empty_answer_of_a_leader_that_knows_less_than_the_replica_did_proves_nothing() -> None:
    """A throttled leader sends nothing, and one that has just begun knows of little that is
    committed."""
    disk, partition = replica()
    disk.capacity = 1 << 30
    partition.high_watermark = 2
    assert partition.apply(LED_BY_2)
    partition.doubt = ReplicaDoubt("it has lost offset 1", 1)
    assert settle_doubt(partition)
    truncate_suspect(partition)
    assert partition.high_watermark == 1
    partition.doubt.caught_up(1, 1)
    partition.doubt.caught_up(1, 2)
    assert partition.doubt.refetch_upto == 2
    partition.doubt.caught_up(2, 2)
    assert partition.doubt.refetch_upto == 0


def test_a_replica_with_a_hole_does_not_fetch_in_a_new_epoch_before_the_controller_knows() -> None:
    """Its leader would see it at the end of the log, and let it join the in-sync set again."""

    async def main() -> None:
        disk, partition = replica()
        disk.capacity = 1 << 30
        peers: Any = SimpleNamespace(loop=asyncio.get_running_loop(), clock=Clock())
        fetchers = ReplicaFetchers(
            peers,
            BrokerConfig({}),
            node_id=1,
            broker_epoch=lambda: 7,
            flush=lambda _: None,
            remove=lambda _: None,
        )
        partition.doubt = ReplicaDoubt("it has lost offset 1", 1)
        assert partition.apply(LED_BY_2)
        fetchers.apply(partition)
        assert not fetchers._following
        assert settle_doubt(partition), "the controller knows"
        fetchers.apply(partition)
        assert partition in fetchers._following
        assert fetch_position(partition) == (1, 0)
        await fetchers.close()

    asyncio.run(main())


def test_a_replica_that_has_what_it_cut_off_leads() -> None:
    disk, partition = replica()
    disk.capacity = 1 << 30
    partition.leader_id = 2
    partition.doubt = ReplicaDoubt("it has lost offset 1", 1)
    assert settle_doubt(partition)
    truncate_suspect(partition)
    put(partition.log, b"b", epoch=1)
    assert partition.apply(LED_BY_1)
    assert partition.is_leader


def test_who_waits_for_a_flush_looks_again_when_the_log_is_cut() -> None:
    disk, partition = replica()
    disk.capacity = 1 << 30
    waits = [partition.flush_waits.next()]
    truncate_to(partition, 1, keep=False)
    waits.append(partition.flush_waits.next())
    start_at(partition, 7, keep=False)
    assert all(wait.done() and not wait.cancelled() for wait in waits)


def test_a_hole_is_filled_by_another_although_this_replica_has_led_with_it() -> None:
    disk, partition = replica()
    disk.capacity = 1 << 30
    partition.log.damage.mark_lost(1, 2, "its checksum is wrong")
    partition.doubt = ReplicaDoubt("it has lost offset 1", 1)
    assert not must_lead_in_doubt(partition)
    assert partition.apply(LED_BY_1)
    assert partition.is_leader
    assert partition.apply(PartitionImage(0, [1, 2], [1, 2], 2, 7, 7))
    assert settle_doubt(partition), "it fetches again what it lacks"
    truncate_suspect(partition)
    assert partition.log.log_end_offset == 1


def test_a_batch_of_an_epoch_that_can_not_be_is_refetched() -> None:
    """The CRC of a batch does not cover its epoch: a bit of it was flipped on the disk."""
    disk, partition = replica()
    disk.capacity = 1 << 30
    told: list[Partition] = []
    partition.host = replace(partition.host, on_doubt=told.append)
    put(partition.log, b"c", epoch=16385)
    assert partition.apply(LED_BY_2)
    examine_epochs(partition, partition.leader_epoch)
    assert told == [partition]
    assert "its batch at offset 2 is of leader epoch 16385" in partition.doubt.reason
    assert partition.log.log_end_offset == 3, "the controller does not know yet"
    assert settle_doubt(partition)
    truncate_suspect(partition)
    assert (partition.log.log_end_offset, partition.log.last_epoch) == (2, 1)
    examine_epochs(partition, partition.leader_epoch)
    assert told == [partition]


def test_a_replica_with_an_epoch_that_can_not_be_leads_only_if_nobody_else_can() -> None:
    """Then it corrects the epoch: its followers would refuse the batch, or mistake another one of
    that epoch for it."""
    disk, partition = replica()
    disk.capacity = 1 << 30
    told: list[Partition] = []
    partition.host = replace(partition.host, on_doubt=told.append)
    put(partition.log, b"c", epoch=16385)
    assert partition.apply(LED_BY_1)
    assert told == [partition]
    assert partition.doubt.suspect_from == 2
    assert not partition.is_leader
    assert must_lead_in_doubt(partition)
    assert partition.apply(LED_BY_1)
    assert partition.is_leader
    assert partition.log.epochs.entries() == [(0, 0), (1, 1), (6, 2)]
    stored = iter_batches(partition.log.read(0, 1 << 20))
    assert [header.partition_leader_epoch for header, _ in stored] == [0, 1, 6]


def test_a_single_replica_corrects_an_epoch_that_can_not_be() -> None:
    disk, partition = replica()
    disk.capacity = 1 << 30
    put(partition.log, b"c", epoch=16385)
    assert partition.apply(PartitionImage(0, [1], [1], 1, 6, 6))
    assert partition.is_leader
    assert partition.log.epochs.entries() == [(0, 0), (1, 1), (6, 2)]


def test_an_election_does_not_believe_an_epoch_that_can_not_be() -> None:
    disk, partition = replica()
    disk.capacity = 1 << 30
    put(partition.log, b"c", epoch=16385)
    assert partition.apply(LED_BY_2)
    assert partition.log_end == (5, 3)


def test_a_follower_keeps_what_it_truncates() -> None:
    """After a restart it knows an old high watermark only: the records may be acknowledged ones."""
    disk, partition = replica()
    disk.capacity = 1 << 30
    partition.host = replace(partition.host, set_aside=lambda _: "data/set-aside/t-0/now")
    assert partition.high_watermark == 0
    truncate(partition, EpochEnd(0, 1))
    assert partition.log.log_end_offset == 1
    aside = Log.open(disk, "data/set-aside/t-0/now", LogConfig(), 0)
    assert (aside.log_start_offset, aside.log_end_offset) == (1, 2)


def test_suspect_records_that_were_deleted_do_not_move_the_end_back() -> None:
    """The replica has told its leader that it has everything below the start of its log."""
    disk, partition = replica()
    disk.capacity = 1 << 30
    partition.apply(LED_BY_2)
    partition.log.retention.delete_records_before(2)
    partition.doubt = ReplicaDoubt("a leader epoch is damaged", 0)
    assert fetch_position(partition)[0] == 2
    truncate_suspect(partition)
    assert (partition.log.log_start_offset, partition.log.log_end_offset) == (2, 2)
    assert partition.log.latest_epoch == -1
