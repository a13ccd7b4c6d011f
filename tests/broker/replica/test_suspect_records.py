"""A replica remembers which of its records a power loss may have changed, until they are replaced.

The controller knows that the replica may lack records long before a leader answers it, and the node
trusts its disk from then on. A process that ends in between must not take suspect records for good
ones at its next start: the replica would fetch from its end on, join the in-sync set, and lead with
a gap in the middle of its log.
"""

from collections.abc import Callable
from random import Random

import pytest

from barnabas.broker.follower.follower_log import start_over
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.replica_doubt import (
    fetch_position,
    must_lead_in_doubt,
    settle_doubt,
)
from barnabas.broker.replica.replica_truncation import truncate_suspect
from barnabas.log import LogConfig, StorageError
from barnabas.metadata.image import PartitionImage
from barnabas.metadata.partition_image import RECOVERING
from tests.broker.replica.test_replica_opener import OLD, Node
from tests.log.batches import put

LED_BY_2 = PartitionImage(0, [1, 2, 3], [2, 3], 2, 5, 5)
FLUSHED, END = 1, 3
SEGMENT_BYTES = 100
"""One batch for each segment."""


def killed(partition: Partition) -> None:
    partition.log.abandon()


def stopped(partition: Partition) -> None:
    partition.close()


def suspect_replica(node: Node) -> Partition:
    """The machine has lost power; the first record was synced, two more were not."""
    node.leader_epoch = 9
    node.config = LogConfig(segment_bytes=SEGMENT_BYTES)
    log = node.opened(OLD).log
    put(log, b"a")
    log.flusher.flush()
    log.checkpoint()
    put(log, b"b")
    put(log, b"c")
    log.abandon()
    node.is_suspect = True
    partition = node.opened(OLD)
    assert partition.doubt.suspect_from == FLUSHED
    assert partition.log.log_end_offset == END
    assert partition.apply(LED_BY_2)
    return partition


def known_to_controller(node: Node, partition: Partition) -> None:
    """The controller has answered; no leader has yet. The node trusts its disk from now on."""
    assert settle_doubt(partition)
    assert partition.doubt.awaits_leader
    node.is_suspect = False


@pytest.mark.parametrize("end", [killed, stopped])
def test_records_stay_suspect_if_the_process_ends_before_a_leader_answers(
    end: Callable[[Partition], None],
) -> None:
    node = Node()
    partition = suspect_replica(node)
    known_to_controller(node, partition)
    for _ in range(2):
        end(partition)
        partition = node.opened(OLD)
        assert partition.doubt.suspect_from == FLUSHED
        assert partition.doubt.lacks_end, "it does not lead, and leaves the in-sync set"
        assert f"from {FLUSHED} on" in partition.doubt.reason
        assert partition.apply(LED_BY_2)
        assert fetch_position(partition)[0] == FLUSHED, "it claims none of them"
        assert settle_doubt(partition)


def test_records_stay_suspect_if_the_node_stops_before_the_controller_knows() -> None:
    """A clean stop syncs them, so what was synced no longer tells which are suspect."""
    node = Node()
    partition = suspect_replica(node)
    stopped(partition)
    assert node.opened(OLD).doubt.suspect_from == FLUSHED


def test_replaced_records_are_not_suspect() -> None:
    node = Node()
    partition = suspect_replica(node)
    known_to_controller(node, partition)
    truncate_suspect(partition)
    assert partition.log.log_end_offset == FLUSHED
    put(partition.log, b"d", b"e", epoch=5)
    killed(partition)
    partition = node.opened(OLD)
    assert not partition.doubt
    assert partition.doubt.suspect_from is None


@pytest.mark.parametrize("seed", range(10))
def test_replaced_records_of_a_flushed_topic_are_trusted_after_a_power_loss(seed: int) -> None:
    node = Node()
    partition = suspect_replica(node)
    known_to_controller(node, partition)
    partition.log.configure(LogConfig(flush_messages=1))
    truncate_suspect(partition)
    put(partition.log, b"d", epoch=5)
    partition.log.flusher.flush()
    end = partition.log.log_end_offset
    partition.log.abandon()
    node.disk.power_loss(Random(seed))
    node.is_suspect, node.config = True, LogConfig(flush_messages=1)
    partition = node.opened(OLD)
    assert not partition.doubt
    assert partition.log.log_end_offset == end


def test_a_log_that_starts_over_has_no_suspect_records() -> None:
    node = Node()
    partition = suspect_replica(node)
    known_to_controller(node, partition)
    start_over(partition, 7)
    put(partition.log, b"d", epoch=5)
    killed(partition)
    assert not node.opened(OLD).doubt


def test_records_that_others_copy_are_not_suspect() -> None:
    """The replicas were compared in an unclean election, and this one has the most."""
    node = Node()
    partition = suspect_replica(node)
    known_to_controller(node, partition)
    partition.apply(PartitionImage(0, [1, 2, 3], [], -1, 6, 6))
    assert partition.apply(
        PartitionImage(0, [1, 2, 3], [1], 1, 7, 7, leader_recovery_state=RECOVERING)
    )
    assert partition.is_leader
    killed(partition)
    partition = node.opened(OLD)
    assert not partition.doubt
    assert partition.log.log_end_offset == END


def test_a_replica_that_no_other_can_replace_leads_after_a_restart() -> None:
    """Such as in a cluster that was rebuilt from one node."""
    node = Node()
    partition = suspect_replica(node)
    known_to_controller(node, partition)
    killed(partition)
    partition = node.opened(OLD)
    led_by_1 = PartitionImage(0, [1, 2, 3], [1], 1, 7, 7)
    assert partition.apply(led_by_1)
    assert not partition.is_leader
    assert must_lead_in_doubt(partition)
    assert partition.apply(led_by_1)
    assert partition.is_leader
    killed(partition)
    assert not node.opened(OLD).doubt


def test_records_of_an_only_replica_are_not_suspect() -> None:
    """Neither when it gets other replicas later."""
    node = Node()
    partition = suspect_replica(node)
    known_to_controller(node, partition)
    killed(partition)
    killed(node.opened(OLD, (1,)))
    assert not node.opened(OLD).doubt


def test_a_doubt_is_not_settled_while_the_disk_refuses_to_keep_it() -> None:
    node = Node()
    partition = suspect_replica(node)
    node.disk.capacity = node.disk.used()
    with pytest.raises(StorageError, match="No space left"):
        settle_doubt(partition)
    assert partition.doubt
    node.disk.capacity = 1 << 30
    known_to_controller(node, partition)


def test_a_later_doubt_leaves_earlier_records_suspect() -> None:
    """The scrubber finds a damaged batch behind them before a leader has answered."""
    partition = suspect_replica(Node())
    assert settle_doubt(partition)
    partition.doubt.suspect(END - 1)
    assert partition.doubt.suspect_from == FLUSHED
    partition.doubt.suspect(0)
    assert partition.doubt.suspect_from == 0


@pytest.mark.parametrize("seed", range(10))
def test_records_stay_suspect_in_a_topic_that_is_flushed_from_now_on(seed: int) -> None:
    """What is flushed before a leader answers is as suspect as before, and a power loss may take
    away the file that says so."""
    node = Node()
    partition = suspect_replica(node)
    known_to_controller(node, partition)
    node.config = LogConfig(segment_bytes=SEGMENT_BYTES, flush_messages=1)
    partition.log.configure(node.config)
    partition.log.flusher.flush()
    killed(partition)
    node.disk.power_loss(Random(seed))
    node.is_suspect = True
    found = node.opened(OLD).doubt.suspect_from
    assert found is not None
    assert found <= FLUSHED


def test_the_end_of_a_doubt_is_kept_once_the_disk_takes_it() -> None:
    """The disk refuses it at first, and the change that ends the doubt is retried."""
    node = Node()
    partition = suspect_replica(node)
    known_to_controller(node, partition)
    node.disk.capacity = node.disk.used()
    with pytest.raises(StorageError, match="No space left"):
        partition.log.suspects.clear()
    node.disk.capacity = 1 << 30
    partition.log.suspects.clear()
    killed(partition)
    assert not node.opened(OLD).doubt


@pytest.mark.parametrize("seed", range(10))
def test_a_second_power_loss_makes_no_record_good(seed: int) -> None:
    """It may bring back an older `log.state`, or none; then no record counts as synced."""
    node = Node()
    partition = suspect_replica(node)
    known_to_controller(node, partition)
    killed(partition)
    node.disk.power_loss(Random(seed))
    node.is_suspect = True
    found = node.opened(OLD).doubt.suspect_from
    assert found is not None
    assert found <= FLUSHED


def test_a_doubt_of_records_that_are_gone_by_now_ends_on_the_disk_too() -> None:
    """A later power loss took them, and brought back the file that doubts them. What is stored at
    their offsets afterwards is good."""
    node = Node()
    partition = suspect_replica(node)
    known_to_controller(node, partition)
    log = partition.log
    log.truncate_to(FLUSHED)
    log.suspects.note(FLUSHED)  # as an opener does, of an end that may lack records
    log.suspects.keep()
    log.suspects.clear()
    put(log, b"good")
    log.abandon()
    assert node.opened(OLD).log.suspect_from is None
