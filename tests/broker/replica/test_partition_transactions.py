"""Transactions in one partition: who may write to it, who ends them, and when that counts."""

import asyncio
from collections.abc import Iterator

import pytest

from barnabas.broker.follower.follower_log import append_fetched, take_over_bounds, truncate
from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.replica.leader_appender import AppendRefused
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partition_host import PartitionHost
from barnabas.broker.runtime.clock import Clock
from barnabas.log import AppendInfo, Log, LogConfig
from barnabas.metadata.image import PartitionImage
from barnabas.records.batch import parse_header
from barnabas.records.control import ControlType
from barnabas.records.encode import encode_batch
from barnabas.records.errors import InvalidBatch
from barnabas.replication import EpochEnd
from barnabas.wire.errors import ErrorCode
from tests.broker.raw_client import batch
from tests.log.memory_disk import MemoryDisk

LIMITS = AppendLimits(
    1 << 20, 1 << 20, 2**63 - 1, 2**63 - 1, needs_keys=False, min_insync_replicas=2
)
PRODUCER, NOW_MS = 5, 1000
CLASSIC, GROWING = 0, 2


class SetClock(Clock):
    """A clock that a test can put forward."""

    passed_ms = 0

    def steady_ms(self) -> int:
        return super().steady_ms() + self.passed_ms


class Replica:
    """A partition of two replicas on node 1, which leads it or follows node 2."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.clock = SetClock()
        host = PartitionHost(
            1,
            loop,
            self.clock,
            1000,
            lambda _: 1,
            lambda _: None,
            lambda _: None,
        )
        self.log = Log.open(MemoryDisk(), "data/t-0", LogConfig(), 0)
        self.partition = Partition("t", 0, bytes(16), self.log, LIMITS, host)
        self._epoch = -1

    def assign(self, leader: int, isr: list[int] | None = None) -> None:
        self._epoch += 1
        image = PartitionImage(0, [1, 2], isr or [1, 2], leader, self._epoch, self._epoch)
        self.partition.apply(image)

    def write(self, sequence: int = 0, epoch: int = 0, *, verified: bool = True) -> AppendInfo:
        records = batch(
            b"v",
            producer_id=PRODUCER,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=True,
        )
        return self.partition.appender.append(bytearray(records), NOW_MS, verified=verified)

    def end(
        self,
        epoch: int = 0,
        version: int = CLASSIC,
        coordinator_epoch: int = 0,
        commit: bool = True,
    ) -> AppendInfo | None:
        return self.partition.appender.append_marker(
            PRODUCER,
            epoch,
            coordinator_epoch,
            ControlType.COMMIT if commit else ControlType.ABORT,
            version,
            NOW_MS,
        )

    def replicate(self) -> None:
        """The follower has everything."""
        self.partition.follower_fetched(2, 1, self.log.log_end_offset, 0)


@pytest.fixture
def replica() -> Iterator[Replica]:
    loop = asyncio.new_event_loop()
    replica = Replica(loop)
    replica.assign(leader=1)
    yield replica
    loop.close()


def test_a_write_needs_a_transaction(replica: Replica) -> None:
    with pytest.raises(InvalidBatch) as refused:
        replica.write(verified=False)
    assert refused.value.error_code == ErrorCode.INVALID_TXN_STATE
    assert replica.log.log_end_offset == 0
    replica.write()
    replica.write(1, verified=False)
    replica.end()
    with pytest.raises(InvalidBatch) as refused:
        replica.write(2, verified=False)
    assert refused.value.error_code == ErrorCode.INVALID_TXN_STATE


def test_a_retry_is_a_retry_in_a_transaction_too(replica: Replica) -> None:
    original = replica.write()
    assert replica.write(verified=False) == original
    assert replica.log.log_end_offset == 1


def test_plain_records_do_not_mix_in(replica: Replica) -> None:
    replica.write()
    plain = batch(b"v", producer_id=PRODUCER, producer_epoch=0, base_sequence=1)
    with pytest.raises(InvalidBatch) as refused:
        replica.partition.appender.append(bytearray(plain), NOW_MS)
    assert refused.value.error_code == ErrorCode.INVALID_TXN_STATE
    replica.end()
    replica.partition.appender.append(bytearray(plain), NOW_MS)


def test_what_is_stable_follows_what_is_committed(replica: Replica) -> None:
    partition = replica.partition
    replica.write()
    assert (partition.high_watermark, partition.last_stable_offset) == (0, 0)
    replica.replicate()
    assert (partition.high_watermark, partition.last_stable_offset) == (1, 0)
    replica.end()
    assert (partition.high_watermark, partition.last_stable_offset) == (1, 0)
    replica.replicate()
    assert (partition.high_watermark, partition.last_stable_offset) == (2, 2)


def test_a_marker_that_comes_again(replica: Replica) -> None:
    replica.write(epoch=3)
    assert replica.end(4, GROWING) is not None
    assert replica.end(4, GROWING) is None, "it is there"
    assert replica.log.log_end_offset == 2
    replica.write(epoch=4)
    with pytest.raises(AppendRefused) as refused:
        replica.end(4, GROWING)
    assert refused.value.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert replica.log.producer_state.ongoing_transaction(PRODUCER, 4) == 2, (
        "the next one is not touched"
    )
    assert replica.end(5, GROWING) is not None


def test_a_classic_marker_has_the_epoch_of_its_batches(replica: Replica) -> None:
    replica.write(epoch=3)
    assert replica.end(3) is not None
    assert replica.end(3) is None, "there is nothing to end"
    assert replica.end(3, coordinator_epoch=9) is not None, "now earlier coordinators are fenced"
    replica.write(1, epoch=3)
    assert replica.end(3, coordinator_epoch=9) is not None


@pytest.mark.parametrize("version", [CLASSIC, GROWING])
def test_an_old_producer_and_an_old_coordinator_end_nothing(replica: Replica, version: int) -> None:
    replica.write(epoch=3)
    replica.end(4, version, coordinator_epoch=7)
    replica.write(epoch=4)
    for epoch, coordinator_epoch, error in (
        (3, 7, ErrorCode.INVALID_PRODUCER_EPOCH),
        (5, 6, ErrorCode.TRANSACTION_COORDINATOR_FENCED),
    ):
        with pytest.raises(AppendRefused) as refused:
            replica.end(epoch, version, coordinator_epoch)
        assert refused.value.error_code == error
    assert replica.log.producer_state.ongoing_transaction(PRODUCER) == 2


def test_late_writes_of_an_ended_transaction(replica: Replica) -> None:
    replica.write(epoch=3)
    replica.end(4, GROWING)
    for sequence in (0, 1):
        with pytest.raises(InvalidBatch) as refused:
            replica.write(sequence, epoch=3)
        assert refused.value.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert replica.log.log_end_offset == 2


def test_the_leader_says_first_that_it_leads(replica: Replica) -> None:
    replica.write(epoch=3)
    replica.assign(leader=2)
    with pytest.raises(AppendRefused) as refused:
        replica.end(2)
    assert refused.value.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    replica.assign(leader=1, isr=[1])
    with pytest.raises(AppendRefused) as refused:
        replica.end(3)
    assert refused.value.error_code == ErrorCode.NOT_ENOUGH_REPLICAS


def test_the_brokers_own_records_in_a_transaction(replica: Replica) -> None:
    def append(epoch: int) -> AppendInfo:
        made = encode_batch(
            [(NOW_MS, b"k", b"v", ())],
            producer_id=PRODUCER,
            producer_epoch=epoch,
            transactional=True,
        )
        return replica.partition.appender.append_internal(made, parse_header(made), NOW_MS)

    first = append(1).base_offset
    append(1)
    assert replica.log.producer_state.ongoing_transaction(PRODUCER, 1) == first
    replica.end(2, GROWING)
    with pytest.raises(InvalidBatch) as refused:
        append(1)
    assert refused.value.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    append(2)


def test_a_follower_knows_what_is_stable(replica: Replica) -> None:
    replica.write()
    replica.write(1)
    replica.end(commit=False)
    leader = replica.log
    follower = Replica(asyncio.new_event_loop())
    follower.assign(leader=2)
    append_fetched(follower.partition, bytes(leader.read(0, 1 << 20)), NOW_MS)
    for high_watermark, stable in ((0, 0), (2, 0), (3, 3)):
        take_over_bounds(follower.partition, high_watermark, 0)
        assert follower.partition.last_stable_offset == stable
    assert len(follower.log.producer_state.aborted_transactions(0, 3)) == 1
    follower.partition.host.loop.close()


def test_a_follower_that_lost_the_marker_waits_for_it_again(replica: Replica) -> None:
    replica.write()
    replica.replicate()
    replica.end()
    replica.assign(leader=2)
    truncate(replica.partition, EpochEnd(1, 1))
    assert replica.log.log_end_offset == 1
    assert replica.partition.last_stable_offset == 0
    assert replica.log.producer_state.ongoing_transaction(PRODUCER) == 0
    replica.assign(leader=1)
    assert replica.end(1, GROWING, commit=False) is not None
    replica.replicate()
    assert replica.partition.last_stable_offset == 2


def test_nothing_overtakes_the_first_batch(replica: Replica) -> None:
    refused = batch(
        b"v", producer_id=PRODUCER, producer_epoch=0, base_sequence=0, transactional=True
    )
    replica.partition.appender.hold_back(refused, ErrorCode.CONCURRENT_TRANSACTIONS, NOW_MS)
    replica.partition.appender.hold_back(None, ErrorCode.CONCURRENT_TRANSACTIONS, NOW_MS)
    with pytest.raises(AppendRefused) as refused_too:
        replica.write(1)
    assert refused_too.value.error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    replica.write(0)
    replica.write(1)


def test_nothing_overtakes_the_first_batch_that_a_later_leader_refused(replica: Replica) -> None:
    """A client begins a new epoch, and sends all that waits again, if a later batch is stored."""
    refused = batch(b"v", producer_id=PRODUCER, producer_epoch=0, base_sequence=0)
    replica.assign(leader=2)
    replica.partition.appender.hold_back(refused, ErrorCode.NOT_LEADER_OR_FOLLOWER, NOW_MS)
    replica.assign(leader=1)
    replica.clock.passed_ms += 10_000
    with pytest.raises(AppendRefused) as refused_too:
        replica.write(1)
    assert refused_too.value.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    replica.write(0)
    replica.write(1)


def test_a_new_leader_says_nothing_is_out_of_order_that_may_have_been_refused(
    replica: Replica,
) -> None:
    """Sequence 1 was refused by another node, or here before the partition was opened. A client
    that is told OUT_OF_ORDER_SEQUENCE_NUMBER sends in a new epoch what may be stored already."""
    replica.write(0)
    replica.assign(leader=2)
    replica.assign(leader=1)
    replica.clock.passed_ms += 9_000  # clients pause before they retry
    with pytest.raises(AppendRefused) as early:
        replica.write(2)
    assert early.value.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    replica.write(1)
    with pytest.raises(AppendRefused) as early:
        replica.write(3)
    assert early.value.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER, "2 is still under way"
    replica.write(2)
    replica.write(3)


def test_the_first_leader_knows_what_was_refused(replica: Replica) -> None:
    replica.write(0)
    with pytest.raises(InvalidBatch) as gap:
        replica.write(2)
    assert gap.value.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_is_out_of_order_once_all_that_was_refused_must_have_come(replica: Replica) -> None:
    replica.write(0)
    replica.assign(leader=2)
    replica.assign(leader=1)
    replica.clock.passed_ms += 10_000
    with pytest.raises(InvalidBatch) as gap:
        replica.write(2)
    assert gap.value.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_unknown_producer_begins_with_its_first_batch_at_a_new_leader(replica: Replica) -> None:
    other = batch(b"v", producer_id=PRODUCER + 1, producer_epoch=0, base_sequence=0)
    replica.partition.appender.append(bytearray(other), NOW_MS)
    replica.assign(leader=2)
    replica.assign(leader=1)
    with pytest.raises(AppendRefused) as early:
        replica.write(1)
    assert early.value.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    replica.write(0)
    replica.write(1)


def test_an_unknown_producer_begins_with_its_first_batch_where_nothing_was_stored_yet(
    replica: Replica,
) -> None:
    """The former leader has refused the first batch, and its log is empty."""
    replica.assign(leader=2)
    replica.assign(leader=1)
    with pytest.raises(AppendRefused) as early:
        replica.write(1)
    assert early.value.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    replica.write(0)
    replica.write(1)


def test_the_first_leader_of_all_takes_any_batch_of_an_unknown_producer(replica: Replica) -> None:
    """The topic was deleted and made again: the producer continues where it was."""
    replica.write(7)


def test_an_unknown_producer_may_begin_anywhere_in_the_end(replica: Replica) -> None:
    """Its earlier records may be deleted."""
    other = batch(b"v", producer_id=PRODUCER + 1, producer_epoch=0, base_sequence=0)
    replica.partition.appender.append(bytearray(other), NOW_MS)
    replica.assign(leader=2)
    replica.assign(leader=1)
    replica.clock.passed_ms += 10_000
    replica.write(7)


def test_who_lacks_the_end_of_an_earlier_transaction_leads_no_more(replica: Replica) -> None:
    """The coordinator lets the next one begin when every leader has the marker of the last."""
    replica.write(epoch=0)
    with pytest.raises(AppendRefused) as refused:
        replica.write(epoch=2)
    assert refused.value.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    with pytest.raises(InvalidBatch) as invalid:
        replica.write(epoch=2, verified=False)
    assert invalid.value.error_code == ErrorCode.INVALID_TXN_STATE
