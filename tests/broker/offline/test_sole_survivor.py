"""A cluster of which one node is left: what that node has, and how the cluster goes on."""

from barnabas.broker.offline.sole_survivor import Survival, rebuilt_image, surviving_partitions
from barnabas.metadata.broker_image import BrokerImage
from barnabas.metadata.image import MetadataImage, PartitionImage
from barnabas.metadata.partition_image import NO_LEADER, RECOVERED, RECOVERING
from barnabas.wire.messages.metadata_records import TopicRecord

TOPIC_ID = bytes(15) + b"t"
SURVIVOR = 1


def image(*partitions: PartitionImage) -> MetadataImage:
    found = MetadataImage(next_producer_id=5_000, next_broker_epoch=30)
    found.replay(TopicRecord("t", TOPIC_ID))
    for partition in partitions:
        found.replay(partition.record(TOPIC_ID))
    for node_id in (1, 2, 3):
        found.brokers[node_id] = BrokerImage(
            node_id, 20 + node_id, b"i" * 16, [], None, [bytes([node_id]) * 16], False, False
        )
    return found


def partition(index: int, isr: list[int], **options: list[int]) -> PartitionImage:
    replicas = options.pop("replicas", [2, 1, 3])
    return PartitionImage(index, replicas, isr, isr[0], 7, 11, **options)  # type: ignore[arg-type]


def rebuilt(before: MetadataImage, **logs: int) -> list[PartitionImage]:
    epochs = {(TOPIC_ID, int(name[1:])): epoch for name, epoch in logs.items()}
    return rebuilt_image(before, SURVIVOR, epochs).topics["t"].partitions


def test_a_replica_in_sync_leads_alone_and_the_others_stay_assigned() -> None:
    (after,) = rebuilt(image(partition(0, [2, 1, 3])), p0=7)
    assert (after.leader, after.isr, after.replicas) == (1, [1], [2, 1, 3])
    assert (after.leader_epoch, after.partition_epoch) == (8, 12)
    assert after.leader_recovery_state == RECOVERED


def test_an_eligible_replica_has_everything_too() -> None:
    before = image(partition(0, [2], elr=[1]))
    ((_, _, survival),) = surviving_partitions(before, SURVIVOR, {(TOPIC_ID, 0): 7})
    assert survival is Survival.COMPLETE
    (after,) = rebuilt(before, p0=7)
    assert (after.leader, after.isr, after.elr) == (1, [1], [])


def test_a_replica_that_was_behind_leads_what_it_has_and_is_recovering() -> None:
    before = image(partition(0, [2, 3]))
    ((_, _, survival),) = surviving_partitions(before, SURVIVOR, {(TOPIC_ID, 0): 7})
    assert survival is Survival.PARTIAL
    (after,) = rebuilt(before, p0=7)
    assert (after.leader, after.isr, after.leader_recovery_state) == (1, [1], RECOVERING)


def test_what_it_has_no_log_of_waits_for_an_operator() -> None:
    before = image(partition(0, [2, 1]), partition(1, [2], replicas=[2]))
    assert [each.survival for each in surviving_partitions(before, SURVIVOR, {})] == [
        Survival.LOST,
        Survival.LOST,
    ]
    assert [(after.leader, after.isr) for after in rebuilt(before)] == [(NO_LEADER, [2])] * 2


def test_epochs_go_beyond_logs_that_are_newer_than_the_metadata() -> None:
    (after,) = rebuilt(image(partition(0, [2, 1])), p0=40)
    assert after.leader_epoch == 41


def test_numbers_that_may_have_been_given_out_are_skipped() -> None:
    before = image(partition(0, [1]))
    after = rebuilt_image(before, SURVIVOR, {})
    assert after.next_producer_id > before.next_producer_id + 1_000
    assert after.next_broker_epoch > before.next_broker_epoch
    assert {broker.id: broker.fenced for broker in after.brokers.values()} == {
        1: False,
        2: True,
        3: True,
    }


def test_the_image_that_was_read_stays_as_it_is_and_a_snapshot_keeps_the_new_one() -> None:
    before = image(partition(0, [2, 1, 3]))
    snapshot = before.snapshot()
    after = rebuilt_image(before, SURVIVOR, {(TOPIC_ID, 0): 7})
    assert before.snapshot() == snapshot
    restored = MetadataImage()
    restored.restore(after.snapshot())
    assert restored.topics == after.topics
    assert restored.next_broker_epoch == after.next_broker_epoch
    assert restored.next_producer_id == after.next_producer_id
