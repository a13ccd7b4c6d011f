"""A follower whose log has other records than its leader's."""

from collections.abc import Iterator

import pytest

from barnabas.metadata.image import PartitionImage
from barnabas.wire.messages.fetch import EpochEndOffset
from tests.broker.fetch.leader import FOLLOWER, Leader

IN_SYNC = PartitionImage(0, [1, FOLLOWER], [1, FOLLOWER], 1, 5, 6)


@pytest.fixture
def leader() -> Iterator[Leader]:
    leader = Leader(1)
    leader.led[0].apply(IN_SYNC)
    leader.write(0)
    yield leader
    leader.loop.close()


def test_a_follower_acknowledges_what_it_has(leader: Leader) -> None:
    assert leader.led[0].high_watermark == 0
    leader.open({0: 1})
    assert leader.led[0].high_watermark == 1


def test_a_follower_that_has_diverged_acknowledges_nothing(leader: Leader) -> None:
    """It has a record of an earlier epoch at the offset of the leader's."""
    answer = leader.received(leader.send({0: 1}, (0, 0), last_fetched_epoch=4))
    (data,) = answer.responses[0].partitions
    assert data.error_code == 0
    assert data.diverging_epoch == EpochEndOffset(4, 0)
    assert not data.records
    assert leader.led[0].high_watermark == 0


def test_a_follower_that_has_missed_removed_deletions_is_sent_to_the_start(leader: Leader) -> None:
    """Its log diverges there: it may have records that a tombstone deleted which is gone."""
    leader.write(0)
    leader.led[0].apply(PartitionImage(0, [1, FOLLOWER], [1], 1, 5, 7))
    leader.led[0].log.compaction_progress.deletions_upto = 2
    answer = leader.received(leader.send({0: 1}, (0, 0), last_fetched_epoch=5))
    (data,) = answer.responses[0].partitions
    assert data.error_code == 0
    assert data.diverging_epoch == EpochEndOffset(5, 0)
    assert not data.records
