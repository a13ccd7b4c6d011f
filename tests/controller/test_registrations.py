"""Brokers that join, come back with or without what they had, and are forgotten."""

import pytest

from barnabas.controller.replica_ends import ReplicaEnd
from barnabas.wire.endpoint import Endpoint
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest
from barnabas.wire.messages.metadata_records import PartitionRecord, TopicRecord
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest
from tests.controller.small_cluster import UNCLEAN, SmallCluster, directory


def unregister(cluster: SmallCluster, broker_id: int) -> int:
    request = UnregisterBrokerRequest(broker_id)
    return cluster.agree(cluster.controller.unregister_broker(request)).error_code


def test_a_broker_is_fenced_until_it_has_caught_up() -> None:
    cluster = SmallCluster(0, racks={2: "r"})
    assert cluster.register(2).broker_epoch == 0
    broker = cluster.agreed.brokers[2]
    assert broker.fenced
    assert not broker.is_active
    assert (broker.rack, broker.log_dirs) == ("r", [directory(2)])
    assert broker.endpoints == [Endpoint("PLAINTEXT", "host-2", 9092)]
    early = cluster.beat(2, offset=0)
    assert (early.is_fenced, early.is_caught_up) == (True, False)
    later = cluster.beat(2, offset=1)
    assert (later.is_fenced, later.is_caught_up) == (False, True)
    assert cluster.agreed.brokers[2].is_active


def test_the_controller_itself_knows_the_metadata() -> None:
    cluster = SmallCluster(0)
    cluster.register(1)
    assert cluster.agreed.brokers[1].is_active


def test_what_has_to_be_read_does_not_move_away() -> None:
    cluster = SmallCluster(1)
    cluster.register(2)
    behind = cluster.end_offset
    assert cluster.beat(2, offset=behind - 1).is_fenced
    cluster.create([1])
    assert not cluster.beat(2, offset=behind).is_fenced


def test_epochs_only_grow() -> None:
    cluster = SmallCluster(3)
    assert [cluster.epoch(broker_id) for broker_id in (1, 2, 3)] == [0, 1, 2]
    cluster.kill(3)
    assert unregister(cluster, 3) == 0
    assert 3 not in cluster.agreed.brokers
    assert cluster.register(3).broker_epoch == 3
    assert unregister(cluster, 9) == ErrorCode.BROKER_ID_NOT_REGISTERED


def test_who_has_the_directory_takes_over_at_once() -> None:
    cluster = SmallCluster(3)
    cluster.create([1, 2])
    answer = cluster.register(1, previous_epoch=cluster.epoch(1), incarnation=7)
    assert (answer.error_code, answer.broker_epoch) == (0, 3)
    assert cluster.state() == (2, [2])


def test_who_has_another_directory_waits_until_the_other_is_gone() -> None:
    cluster = SmallCluster(3)
    other = directory(1, 9)
    answer = cluster.register(1, log_dir=other, incarnation=7)
    assert answer.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert cluster.records == []
    cluster.kill(1)
    assert cluster.register(1, log_dir=other, incarnation=7).error_code == 0
    assert cluster.agreed.brokers[1].log_dirs == [other]


def test_nonsense_is_refused() -> None:
    cluster = SmallCluster(0)
    request = BrokerRegistrationRequest(1)
    answer = cluster.agree(cluster.controller.register_broker(request, 0))
    assert answer.error_code == ErrorCode.INVALID_REGISTRATION


# -- trust in a returning disk ---------------------------------------------------------------------


def test_who_kept_everything_leads_again() -> None:
    cluster = SmallCluster(2)
    cluster.create([1, 2])
    cluster.kill(2)
    cluster.kill(1)
    assert cluster.state() == (-1, [1])
    cluster.join(1, previous_epoch=cluster.epoch(1))
    assert cluster.state() == (1, [1])


@pytest.mark.parametrize("log_dir", [directory(1), directory(1, 9)], ids=["lost tail", "wiped"])
def test_who_lost_something_is_out_of_sync(log_dir: bytes) -> None:
    cluster = SmallCluster(3)
    cluster.create([1, 2, 3])
    cluster.kill(1)
    cluster.join(1, log_dir=log_dir)
    assert cluster.state() == (2, [2, 3])


@pytest.mark.parametrize("log_dir", [directory(1), directory(1, 9)], ids=["lost tail", "wiped"])
def test_the_last_in_sync_that_lost_something_stays_offline(log_dir: bytes) -> None:
    cluster = SmallCluster(2)
    cluster.create([1, 2])
    cluster.kill(2)
    cluster.kill(1)
    cluster.ends = {1: ReplicaEnd(0, 90), 2: ReplicaEnd(0, 80)}
    wiped = log_dir != directory(1)
    if wiped:
        cluster.ends[1] = ReplicaEnd(-1, 0)
    cluster.join(2, previous_epoch=cluster.epoch(2))
    cluster.join(1, log_dir=log_dir)
    assert cluster.state() == (-1, [])
    assert cluster.partition().last_known_elr == ([] if wiped else [1])
    cluster.join(1, log_dir=log_dir, previous_epoch=cluster.epoch(1))
    assert cluster.state() == (-1, [])  # what is lost stays lost, however well it restarts
    assert cluster.elect(1) == 0
    assert cluster.state() == ((2, [2]) if wiped else (1, [1]))  # it has most
    assert "t-0" in cluster.warnings[0]


def test_unless_unclean_elections_are_on() -> None:
    cluster = SmallCluster(2)
    cluster.create([1, 2], **UNCLEAN)
    cluster.kill(1, 2)
    cluster.join(1)
    assert cluster.state() == (1, [1])
    assert len(cluster.warnings) == 1
    cluster.kill(1)
    cluster.join(1)  # alone in sync, with a lost tail, but better than nothing
    assert cluster.state() == (1, [1])
    assert len(cluster.warnings) == 1
    assert cluster.partition().last_known_elr == []


def test_who_shares_nothing_goes_on_where_it_was() -> None:
    cluster = SmallCluster(2)
    cluster.create([1], [1])
    cluster.create([2], name="elsewhere")
    before = [cluster.partition(0), cluster.partition(1)]
    cluster.register(1, previous_epoch=cluster.epoch(1))
    assert len(cluster.records) == 1
    assert cluster.agreed.brokers[1].is_active
    assert [cluster.partition(0), cluster.partition(1)] == before


@pytest.mark.parametrize("shared", [[1, 2], [2, 1]])
def test_but_not_if_another_log_could_part_from_its_own(shared: list[int]) -> None:
    cluster = SmallCluster(2)
    cluster.create([1])
    cluster.create(shared, name="shared")
    cluster.register(1, previous_epoch=cluster.epoch(1))
    assert cluster.agreed.brokers[1].fenced
    assert cluster.state() == (-1, [1])
    assert cluster.state(name="shared") == (2, [2])


def test_nor_on_a_node_that_has_to_read_the_metadata_first() -> None:
    cluster = SmallCluster(2)
    cluster.create([2])
    cluster.register(2, previous_epoch=cluster.epoch(2))
    assert cluster.agreed.brokers[2].fenced
    assert cluster.state() == (-1, [2])


def test_who_shares_nothing_but_was_fenced_is_elected_at_once() -> None:
    cluster = SmallCluster(2)
    cluster.create([1])
    epoch = cluster.partition().leader_epoch
    cluster.kill(1)
    cluster.register(1, previous_epoch=cluster.epoch(1))
    assert cluster.state() == (1, [1])
    assert cluster.partition().leader_epoch == epoch + 2


def test_an_only_replica_makes_do_with_what_it_has() -> None:
    cluster = SmallCluster(1)
    cluster.create([1])
    epoch = cluster.partition().leader_epoch
    cluster.join(1)
    assert cluster.state() == (1, [1])
    assert cluster.partition().leader_epoch == epoch + 2


def test_but_not_if_that_is_nothing() -> None:
    cluster = SmallCluster(1)
    cluster.create([1])
    cluster.kill(1)
    cluster.join(1, log_dir=directory(1, 9))
    assert cluster.state() == (-1, [])
    assert cluster.elect(1) == 0
    assert cluster.state() == (1, [1])


def test_a_registration_of_which_the_broker_never_heard_does_no_harm() -> None:
    """It was fenced all the time, so it can't have acknowledged anything."""
    cluster = SmallCluster(2)
    cluster.create([1, 2])
    cluster.kill(2)
    known = cluster.epoch(1)
    cluster.register(1, previous_epoch=known)
    cluster.register(1, previous_epoch=known)
    cluster.join(1, previous_epoch=known)
    assert cluster.state() == (1, [1])
    cluster.join(1, previous_epoch=known)  # but this one was let in before
    assert cluster.state() == (-1, [])


def test_an_unregistered_broker_is_a_stranger() -> None:
    cluster = SmallCluster(2)
    cluster.create([1, 2])
    cluster.create([2], name="u")
    epoch = cluster.epoch(2)
    cluster.kill(2)
    assert unregister(cluster, 2) == 0
    assert cluster.state() == (1, [1])
    assert cluster.state(name="u") == (-1, [2])
    assert cluster.partition(name="u").replicas == [2]
    cluster.join(2, previous_epoch=epoch)
    assert cluster.state(name="u") == (-1, [])


def test_who_is_up_is_not_forgotten() -> None:
    """What only it has would be out of reach."""
    cluster = SmallCluster(2)
    cluster.create([2])
    request = UnregisterBrokerRequest(2)
    answer = cluster.agree(cluster.controller.unregister_broker(request))
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert "stop it first" in (answer.error_message or "")
    assert cluster.state() == (2, [2])


def test_what_was_there_before_any_registration() -> None:
    """A data directory of a release in which a broker was alone and did not register."""
    cluster = SmallCluster(0)
    topic = bytes(15) + b"x"
    for record in (
        TopicRecord("t", topic),
        PartitionRecord(0, topic, [1], [1], leader=1, leader_epoch=0, partition_epoch=0),
    ):
        cluster.agreed.replay(record)
    cluster.controller = cluster.new_controller(cluster.agreed)
    cluster.join(1)
    assert cluster.state() == (1, [1])


def test_producer_ids_are_for_brokers() -> None:
    cluster = SmallCluster(1)

    def allocate(epoch: int) -> tuple[int, int, int]:
        request = AllocateProducerIdsRequest(1, epoch)
        answer = cluster.agree(cluster.controller.allocate_producer_ids(request))
        return answer.error_code, answer.producer_id_start, answer.producer_id_len

    assert allocate(cluster.epoch(1)) == (0, 0, 1000)
    assert allocate(cluster.epoch(1)) == (0, 1000, 1000)
    assert allocate(99)[0] == ErrorCode.STALE_BROKER_EPOCH
    assert cluster.agreed.next_producer_id == 2000
