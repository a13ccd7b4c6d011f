"""Damage to single partitions: nothing acknowledged is lost while one good copy exists."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from barnabas.records.decode import iter_batches
from tests.cli.conftest import Cli
from tests.cluster.conftest import TOPIC
from tests.cluster.faults import wiped
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.wait import LIMIT_S, wait_until

COUNT = 1_000
VALUES = [b"%06d" % number * 20 for number in range(COUNT)]


def fill(cluster: ClusterProcesses, **configs: str) -> None:
    """Records that every replica has acknowledged, in many segments, and all nodes know that."""
    cluster.create_topic(TOPIC, segment_bytes="16384", **configs)
    cluster.wait_until_in_sync()
    produce(cluster)
    for node in cluster.nodes.values():
        wait_until(lambda node=node: acknowledged(node) >= COUNT, "no high watermark")


def produce(cluster: ClusterProcesses) -> None:
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "batch.num.messages": 10, "acks": "all"}
    )
    failures = []
    for number, value in enumerate(VALUES):
        producer.produce(
            TOPIC, value, on_delivery=lambda error, _: failures.append(error) if error else None
        )
        if number % 10 == 9:
            producer.flush(LIMIT_S)
    assert producer.flush(LIMIT_S) == 0
    assert not failures


def acknowledged(node: NodeProcess) -> int:
    """What a node has written down to have acknowledged."""
    try:
        lines = (node.data / "replication-offset-checkpoint").read_text().splitlines()
    except FileNotFoundError:
        return 0
    return max(
        (int(line.split()[2]) for line in lines[2:] if line.startswith(f"{TOPIC} 0 ")), default=0
    )


def consumed(cluster: ClusterProcesses) -> tuple[list[bytes], KafkaError | None]:
    """All that a consumer gets from the beginning on, and the error that it then gets."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "none",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    values = []
    try:
        while len(values) < COUNT:
            message = consumer.poll(60)
            assert message is not None, f"{len(values)} records, and no more"
            if message.error() is not None:
                return values, message.error()
            values.append(message.value())
            if message.offset() == COUNT - 1:
                break
    finally:
        consumer.close()
    return values, None


def assert_delivered(cluster: ClusterProcesses) -> None:
    """Readers get all records and nothing else.

    On a machine so slow that the other replicas are not in sync for a while, the leader has nowhere
    to step aside to: until they are, it says that its records are damaged.
    """

    def are_delivered() -> bool:
        values, error = consumed(cluster)
        assert values == VALUES[: len(values)]
        assert error is None or error.code() == KafkaError.INVALID_MSG, error
        return values == VALUES

    wait_until(are_delivered, "readers don't get all records")


def segments(node: NodeProcess) -> list[Path]:
    return sorted((node.data / f"{TOPIC}-0").glob("*.log"))


def content(node: NodeProcess) -> bytes:
    """A running node may remove a segment after it was listed: then they are listed again."""
    while True:
        try:
            return b"".join(path.read_bytes() for path in segments(node))
        except FileNotFoundError:
            continue


def middle(node: NodeProcess) -> Path:
    found = segments(node)
    assert len(found) >= 5
    return found[len(found) // 2]


def truncated(node: NodeProcess) -> None:
    path = middle(node)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def deleted(node: NodeProcess) -> None:
    middle(node).unlink()


def flipped(node: NodeProcess) -> None:
    with middle(node).open("r+b") as file:
        file.seek(500)
        byte = file.read(1)[0]
        file.seek(500)
        file.write(bytes([byte ^ 1]))


def garbled(path: Path, position: int = 0) -> None:
    """The batch at this position says that it is of a much later leader epoch."""
    with path.open("r+b") as file:
        file.seek(position + 13)
        byte = file.read(1)[0]
        file.seek(position + 13)
        file.write(bytes([byte ^ 1]))


def last_batch(path: Path) -> int:
    sizes = [header.size for header, _ in iter_batches(path.read_bytes())]
    return sum(sizes[:-1])


def lost(node: NodeProcess) -> None:
    shutil.rmtree(node.data / f"{TOPIC}-0")


def wait_until_alike(cluster: ClusterProcesses) -> None:
    """Until every replica has the same records, and all of them."""
    cluster.wait_until_whole()
    wait_until(
        lambda: len({content(node) for node in cluster.nodes.values()}) == 1,
        "replicas differ",
    )


@pytest.mark.parametrize("damage", [lost, truncated, deleted, flipped])
def test_a_damaged_leader_among_three(
    cluster: ClusterProcesses, damage: Callable[[NodeProcess], None]
) -> None:
    fill(cluster)
    leader = cluster.leader_of(TOPIC)
    before = content(leader)
    cluster.kill_all()
    damage(leader)
    cluster.start()
    wait_until_alike(cluster)
    assert content(leader) == before
    assert_delivered(cluster)
    assert f"{TOPIC}-0" in leader.log.read_text()
    if damage is not lost:
        aside = list((leader.data / "set-aside" / f"{TOPIC}-0").glob("*-truncated"))
        assert aside, "what was cut off is kept"


def test_a_leader_whose_directory_is_gone_before_it_has_written_down_a_record(
    tmp_path: Path,
) -> None:
    """The topic is so new that the checkpoint only tells that there was a replica."""
    late = {"replica.high.watermark.checkpoint.interval.ms": "600000"}
    with ClusterProcesses(tmp_path, 3, late) as cluster:
        cluster.create_topic(TOPIC)
        leader = cluster.leader_of(TOPIC)
        checkpoint = leader.data / "replication-offset-checkpoint"
        wait_until(
            lambda: checkpoint.exists() and f"{TOPIC} 0 0 " in checkpoint.read_text(),
            "the new replica is not written down",
        )
        produce(cluster)
        assert acknowledged(leader) == 0
        cluster.kill_all()
        lost(leader)
        cluster.start()
        wait_until_alike(cluster)
        assert_delivered(cluster)
        assert f"{TOPIC}-0: its directory is gone" in leader.log.read_text()
        cluster.stop()


def test_a_leader_with_garbled_epochs(cluster: ClusterProcesses) -> None:
    """Of one its neighbours tell what it was; the other is the last one, which is refetched."""
    fill(cluster)
    leader = cluster.leader_of(TOPIC)
    before = content(leader)
    cluster.kill_all()
    garbled(middle(leader))
    garbled(segments(leader)[-1], last_batch(segments(leader)[-1]))
    cluster.start()
    wait_until_alike(cluster)
    assert content(leader) == before
    assert_delivered(cluster)
    log = leader.log.read_text()
    assert "damaged leader epochs corrected: 1" in log
    assert "the leader epoch of its batch at offset" in log


def test_a_garbled_epoch_that_a_follower_finds(cluster: ClusterProcesses) -> None:
    fill(cluster)
    leader = cluster.leader_of(TOPIC)
    before = content(leader)
    with wiped(cluster, next(node for node in cluster.nodes.values() if node is not leader)):
        garbled(middle(leader))
    wait_until(lambda: content(leader) == before, "it was not corrected")
    wait_until_alike(cluster)
    assert "damaged leader epochs corrected: 1" in leader.log.read_text()
    assert_delivered(cluster)


def test_tails_of_different_lengths(cluster: ClusterProcesses) -> None:
    """As if machines had lost what was not synced, although they did not go down."""
    fill(cluster)
    leader = cluster.leader_of(TOPIC)
    others = [node for node in cluster.nodes.values() if node is not leader]
    cluster.kill_all()
    for node, keep in ((leader, 2000), (others[0], 5000)):
        with segments(node)[-1].open("r+b") as file:
            file.truncate(keep)
    cluster.start()
    wait_until_alike(cluster)
    assert_delivered(cluster)


def test_rot_that_is_found_while_running(tmp_path: Path) -> None:
    from tests.cluster.conftest import SETTINGS

    settings = {**SETTINGS, "log.scrub.interval.ms": "200", "log.scrub.bytes.per.second": "9000000"}
    with ClusterProcesses(tmp_path, 3, settings) as cluster:
        fill(cluster)
        leader = cluster.leader_of(TOPIC)
        before = content(leader)
        flipped(leader)
        wait_until(lambda: "are damaged" in leader.log.read_text(), "rot was not found")
        wait_until(lambda: content(leader) == before, "what rotted was not fetched again")
        wait_until_alike(cluster)
        assert_delivered(cluster)


def test_rot_that_a_follower_finds(cluster: ClusterProcesses) -> None:
    """A replica that has to fetch everything meets it long before the leader would by itself."""
    fill(cluster)
    leader = cluster.leader_of(TOPIC)
    before = content(leader)
    with wiped(cluster, next(node for node in cluster.nodes.values() if node is not leader)):
        flipped(leader)
    wait_until(lambda: content(leader) == before, "what rotted was not fetched again")
    wait_until_alike(cluster)
    assert "are damaged" in leader.log.read_text()
    assert_delivered(cluster)


def zeroed(node: NodeProcess) -> None:
    path = middle(node)
    path.write_bytes(bytes(path.stat().st_size))


def shifted(node: NodeProcess) -> None:
    """A batch says that it begins at another offset."""
    with middle(node).open("r+b") as file:
        file.seek(6)
        byte = file.read(1)[0]
        file.seek(6)
        file.write(bytes([byte ^ 4]))


@pytest.mark.parametrize("damage", [zeroed, shifted, flipped])
def test_damage_after_a_clean_stop_is_not_served(
    cluster: ClusterProcesses, damage: Callable[[NodeProcess], None]
) -> None:
    """No start looks into segments that were closed: the first reader does."""
    fill(cluster)
    cluster.stop()
    cluster.start()
    cluster.wait_until_in_sync()  # only to a replica in sync can the leader step aside
    leader = cluster.leader_of(TOPIC)
    damage(leader)
    assert_delivered(cluster)
    assert cluster.leader_of(TOPIC) is not leader, "it has stepped aside"


def test_the_only_replica(cluster: ClusterProcesses) -> None:
    """Readers see an error where records are gone, and may skip them."""
    cluster.create_topic(TOPIC, replicas=1, segment_bytes="16384", min_insync_replicas="1")
    produce(cluster)
    leader = cluster.leader_of(TOPIC)
    wait_until(lambda: acknowledged(leader) >= COUNT, "no high watermark")
    leader.kill()
    truncated(leader)
    cluster.start()
    assert cluster.leader_of(TOPIC) is leader
    values, error = consumed(cluster)
    assert 0 < len(values) < COUNT
    assert values == VALUES[: len(values)]
    assert error is not None
    assert error.code() == KafkaError.INVALID_MSG
    assert f"has lost offsets {len(values)} to" in leader.log.read_text()
    alter(cluster, "damaged.records.skip", "true")
    wait_until(lambda: consumed(cluster)[1] is None, "readers can't skip")
    values, _ = consumed(cluster)
    assert 900 < len(values) < COUNT
    assert [value for value in VALUES if value in values] == values


def alter(cluster: ClusterProcesses, name: str, value: str) -> None:
    from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

    resource = ConfigResource(
        ConfigResource.Type.TOPIC,
        TOPIC,
        incremental_configs=[ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)],
    )
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(LIMIT_S)


def lose_power(cluster: ClusterProcesses) -> None:
    """The nodes take their machines for ones that were switched off and on again."""
    cluster.kill_all()
    for node in cluster.nodes.values():
        state = node.data / "broker.state"
        lines = [
            "boot.id=another" if line.startswith("boot.id=") else line
            for line in state.read_text().splitlines()
        ]
        state.write_text("\n".join(lines) + "\n")


def test_power_lost_everywhere(cluster: ClusterProcesses) -> None:
    """A topic that is flushed comes back by itself, and so do the offsets of groups."""
    fill(cluster, flush_messages="1")
    commit(cluster, 123)
    lose_power(cluster)
    cluster.start()
    wait_until_alike(cluster)
    assert_delivered(cluster)
    assert committed(cluster) == 123


def commit(cluster: ClusterProcesses, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "g"})
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
    consumer.close()


def committed(cluster: ClusterProcesses) -> int:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "g"})
    try:
        (partition,) = consumer.committed([TopicPartition(TOPIC, 0)], 60)
        return int(partition.offset)
    finally:
        consumer.close()


def test_power_lost_everywhere_erases_no_copy_that_is_whole(cluster: ClusterProcesses) -> None:
    """The topic is not flushed, one replica has lost its tail and starts last; the others keep
    theirs, and an operator's election loses nothing."""
    fill(cluster)
    shortened = cluster.leader_of(TOPIC)
    whole = [node for node in cluster.nodes.values() if node is not shortened]
    lose_power(cluster)
    for path in segments(shortened)[3:]:
        path.unlink()
    for node in whole:
        node.launch()
    wait_until(lambda: in_sync(cluster) == [shortened.node_id], "the replicas are trusted")
    shortened.launch()
    wait_until(lambda: in_sync(cluster) == [], "a replica is trusted")
    for node in whole:
        assert content(node).count(VALUES[-1]) == 1
    Cli(cluster.bootstrap).ok("cluster", "elect", TOPIC, "--unclean", "--yes")
    wait_until_alike(cluster)
    assert_delivered(cluster)


def in_sync(cluster: ClusterProcesses) -> list[int] | None:
    """None as long as no node knows."""
    state = cluster.partitions(TOPIC).get((TOPIC, 0))
    return None if state is None else sorted(state.isr)
