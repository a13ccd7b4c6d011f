"""Backups of a real cluster, restored into an empty one by the command."""

import json
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from tests.backup.support import NOON_MS, Source, backup, records
from tests.support.access import AUTHORIZER
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until


def test_topics_settings_and_offsets_come_back(source: Source, target: str) -> None:
    topic = source.topic("orders", 2, retention_ms="-1", max_message_bytes="2000000")
    empty = source.topic("empty", 3)
    source.send(topic, range(500), 2, compression="zstd")
    with barnabas.Admin(source.bootstrap) as admin:
        group = f"{source.prefix}-group"
        admin.set_group_offsets(group, {TopicPartition(topic, 0): 100, TopicPartition(topic, 1): 7})
    made = source.create()
    assert (made["topics"], made["groups"], made["records"]) == (2, 1, 500)
    assert source.restore(target) == {
        "topics": 2,
        "records": 500,
        "groups": 1,
        "acls": 0,
        "problems": [],
    }
    assert records(target, topic) == source.records(topic)
    with barnabas.Admin(target) as admin:
        assert len(admin.describe_topic(empty).partitions) == 3
        own = {each.name: each.value for each in admin.configs(topic=topic).values() if each.is_own}
        assert own == {"retention.ms": "-1", "max.message.bytes": "2000000"}
        offsets = admin.group_offsets(group)
    assert offsets == {TopicPartition(topic, 0): 100, TopicPartition(topic, 1): 7}


def test_a_second_run_copies_only_what_is_new(source: Source, target: str) -> None:
    topic = source.topic("orders", 2)
    source.send(topic, range(400), 2)
    first = source.create()
    source.send(topic, range(400, 420), 2)
    second = source.create()
    third = source.create()
    assert 0 < second["copied_bytes"] < first["copied_bytes"] / 4
    assert third["copied_bytes"] == 0
    assert third["records"] == 420
    assert source.restore(target)["records"] == 420
    assert records(target, topic) == source.records(topic)
    shown = json.loads(backup("show", source.place, "--json").stdout)
    assert [each["records"] for each in shown] == [400, 420, 420]


def test_a_backup_under_load_has_no_offset_behind_its_data(source: Source, target: str) -> None:
    topic = source.topic("orders", 2)
    group, done = f"{source.prefix}-readers", threading.Event()

    def produce() -> None:
        with barnabas.Producer(source.bootstrap) as producer:
            for each in range(1_000_000):
                producer.send(topic, b"%d" % each, partition=each % 2)
                if each % 100 == 0 and done.wait(0.01):
                    return

    def consume() -> None:
        with barnabas.Consumer(source.bootstrap, topic, group=group) as consumer:
            while not done.is_set():
                consumer.poll(0.1)
                consumer.commit()

    threads = [threading.Thread(target=each) for each in (produce, consume)]
    for each in threads:
        each.start()
    try:
        with barnabas.Admin(source.bootstrap) as admin:
            wait_until(lambda: sum(admin.group_offsets(group).values()) > 300)
        source.create()
        source.create()
    finally:
        done.set()
        for each in threads:
            each.join()
    source.restore(target)
    restored, sent = records(target, topic), source.records(topic)
    assert len(restored) > 300
    for partition in (0, 1):
        mine = [each for each in restored if each[0] == partition]
        assert mine == [each for each in sent if each[0] == partition][: len(mine)]
    with barnabas.Admin(target) as admin:
        ends = admin.offsets(topic)
        offsets = admin.group_offsets(group)
    assert offsets.keys() == ends.keys()
    assert all(0 < offsets[each] <= ends[each] for each in ends)


def test_only_committed_records_come_back_and_offsets_follow(source: Source, target: str) -> None:
    topic = source.topic("orders")
    with barnabas.Producer(source.bootstrap, transactional_id=f"{source.prefix}-t") as producer:
        with producer.transaction():
            producer.send(topic, b"one")
        with suppress(RuntimeError), producer.transaction():
            producer.send(topic, b"aborted")
            producer.flush()
            raise RuntimeError
        with producer.transaction():
            producer.send(topic, b"two")
        with producer.transaction():
            producer.send(topic, b"open")
            producer.flush()
            with barnabas.Admin(source.bootstrap) as admin:
                admin.set_group_offsets(f"{source.prefix}-a", {TopicPartition(topic, 0): 4})
                admin.set_group_offsets(f"{source.prefix}-b", {TopicPartition(topic, 0): 7})
            source.create()
    source.restore(target)
    assert [each[3] for each in records(target, topic)] == [b"one", b"two"]
    with barnabas.Admin(target) as admin:
        assert admin.offsets(topic) == {TopicPartition(topic, 0): 2}
        assert admin.group_offsets(f"{source.prefix}-a") == {TopicPartition(topic, 0): 1}
        assert admin.group_offsets(f"{source.prefix}-b") == {TopicPartition(topic, 0): 2}


def test_a_log_that_begins_later_is_restored_from_zero(source: Source, target: str) -> None:
    topic = source.topic("orders")
    source.send(topic, range(100))
    source.create()
    with barnabas.Admin(source.bootstrap) as admin:
        admin.delete_records({TopicPartition(topic, 0): 40})
        admin.set_group_offsets(f"{source.prefix}-g", {TopicPartition(topic, 0): 50})
    source.create()
    source.restore(target)
    assert [each[1] - NOON_MS for each in records(target, topic)] == [*range(40, 100)]
    with barnabas.Admin(target) as admin:
        assert admin.group_offsets(f"{source.prefix}-g") == {TopicPartition(topic, 0): 10}


def test_a_topic_that_was_created_again_is_another_one(source: Source, target: str) -> None:
    topic = source.topic("orders")
    source.send(topic, range(100))
    source.create()
    with barnabas.Admin(source.bootstrap) as admin:
        admin.delete_topic(topic)
    source.topic("orders")
    source.send(topic, range(500, 505))
    source.create()
    source.restore(target, "--prefix", "new.")
    assert [each[1] - NOON_MS for each in records(target, f"new.{topic}")] == [*range(500, 505)]
    source.restore(target, "--prefix", "old.", "--point", "1", "--allow-existing")
    assert len(records(target, f"old.{topic}")) == 100


def test_a_point_in_time(source: Source, target: str) -> None:
    topic = source.topic("orders")
    group, partition = f"{source.prefix}-g", TopicPartition(f"{source.prefix}-orders", 0)
    with barnabas.Admin(source.bootstrap) as admin:

        def send(values: range) -> None:
            with barnabas.Producer(source.bootstrap) as producer:
                for each in values:
                    producer.send(topic, b"%d" % each).result()

        send(range(10))
        admin.set_group_offsets(group, {partition: 5})
        first = source.create()["created_at_ms"]
        wait_until(lambda: datetime.now(UTC).timestamp() * 1000 > first + 20)
        send(range(10, 20))
        at_ms = source.records(topic)[-1][1]
        wait_until(lambda: datetime.now(UTC).timestamp() * 1000 > at_ms + 20)
        send(range(20, 30))
        admin.set_group_offsets(group, {partition: 30})
        source.create()
    for time, wanted, offset in ((at_ms, 20, 5), (first, 10, 5), (at_ms + 10**9, 30, 30)):
        prefix = f"at{wanted}."
        source.restore(target, "--at", str(time), "--prefix", prefix, "--allow-existing")
        values = [each[3] for each in records(target, prefix + topic)]
        assert values == [b"%d" % each for each in range(wanted)]
        with barnabas.Admin(target) as admin:
            there = TopicPartition(prefix + topic, 0)
            assert admin.group_offsets(prefix + group) == {there: offset}


def test_a_compacted_topic(source: Source, target: str) -> None:
    topic = source.topic(
        "table", cleanup_policy="compact", segment_ms="1", min_cleanable_dirty_ratio="0.01"
    )
    source.send(topic, range(300))
    source.create()
    source.send(topic, range(300, 330))
    point = source.create()
    assert point["problems"] == []
    source.restore(target)

    def latest(found: list[tuple[object, ...]]) -> dict[object, object]:
        return {each[2]: each[3] for each in found}

    assert latest([*records(target, topic)]) == latest([*source.records(topic)])
    with barnabas.Admin(target) as admin:
        assert admin.configs(topic=topic)["cleanup.policy"].value == "compact"


def test_an_old_copy_of_a_compacted_topic_is_made_again(source: Source) -> None:
    topic = source.topic("table", cleanup_policy="compact", delete_retention_ms="0")
    source.send(topic, range(50))
    assert source.create()["copied_bytes"] == source.create()["copied_bytes"] > 0


@pytest.mark.long
def test_damage_is_named(source: Source, target: str) -> None:
    topic = source.topic("orders")
    for begin in (0, 100, 200):
        source.send(topic, range(begin, begin + 100))
        source.create()
    assert "all sound" in backup("verify", source.place).stderr
    file = max(Path(source.place).rglob("*.batches"), key=lambda each: each.stat().st_size)
    content = bytearray(file.read_bytes())
    content[-10] ^= 1
    file.write_bytes(content)
    done = backup("verify", source.place, "--json", code=1)
    (damage,) = json.loads(done.stdout)["damages"]
    assert damage["name"] == file.relative_to(source.place).as_posix()
    assert (damage["topic"], damage["partition"], damage["end"]) == (topic, 0, 300)
    assert 0 < damage["first"] <= 299
    refused = backup("restore", source.place, bootstrap=target, code=1)
    assert "is damaged" in refused.stderr
    assert "offsets 0 to 299" in refused.stderr
    point = min((Path(source.place) / "points").iterdir())
    point.write_text(point.read_text().replace(topic, topic[::-1]))
    done = backup("verify", source.place, code=1)
    assert point.name in done.stdout


def test_a_target_that_is_not_empty_is_refused(source: Source) -> None:
    topic = source.topic("orders")
    source.send(topic, range(5))
    source.create()
    done = backup("restore", source.place, bootstrap=source.bootstrap, code=1)
    assert f"such as {topic}" in done.stderr
    assert "--resume" in done.stderr
    with barnabas.Admin(source.bootstrap) as admin:
        admin.delete_topic(topic)
    other = source.topic("other")
    done = backup("restore", source.place, bootstrap=source.bootstrap, code=1)
    assert "is not empty" in done.stderr
    source.restore(source.bootstrap, "--allow-existing", "--topic", topic)
    assert len(source.records(topic)) == 5
    assert source.records(other) == []


def test_share_groups_and_broker_settings(target: str, tmp_path: Path) -> None:
    with barnabas.Cluster(nodes=1) as cluster:
        bootstrap = cluster.bootstrap_servers
        with barnabas.Admin(bootstrap) as admin:
            admin.create_topic("jobs")
            admin.set_configs({"log.retention.ms": 5_000_000}, broker=1)
            admin.set_configs({"share.auto.offset.reset": "earliest"}, group="workers")
            with barnabas.Producer(bootstrap) as producer:
                for each in range(10):
                    producer.send("jobs", b"%d" % each)
            with barnabas.Queue(bootstrap, "jobs", group="workers") as queue:
                for _ in range(6):
                    message = queue.get()
                    assert message is not None
                    message.accept()
            wait_until(lambda: admin.group_offsets("workers") == {TopicPartition("jobs", 0): 6})
        place = str(tmp_path / "backup")
        backup("create", place, bootstrap=bootstrap)
    backup("restore", place, bootstrap=target)
    with barnabas.Admin(target) as admin:
        assert admin.group_offsets("workers") == {TopicPartition("jobs", 0): 6}
        assert admin.groups()["workers"].group_type == "share"
        assert admin.configs(group="workers")["share.auto.offset.reset"].value == "earliest"
        assert admin.configs(broker=1)["log.retention.ms"].value == "5000000"


@pytest.mark.long
def test_pruning_keeps_what_is_needed(source: Source, target: str) -> None:
    topic = source.topic("orders")
    for begin in (0, 100, 200):
        source.send(topic, range(begin, begin + 100))
        source.create()
    done = json.loads(backup("prune", source.place, "--keep", "1", "--json").stdout)
    assert (done["points"], done["files"]) == (2, 2)
    assert "all sound" in backup("verify", source.place).stderr
    source.restore(target)
    assert records(target, topic) == source.records(topic)


def test_the_summary_counts_access_rules(tmp_path: Path) -> None:
    settings = {**AUTHORIZER, "super.users": "User:ANONYMOUS"}
    place = str(tmp_path / "backup")
    rules = [
        barnabas.AclBinding("User:shop", each, "TOPIC", "orders") for each in ("READ", "WRITE")
    ]
    with (
        BrokerProcess(tmp_path / "old", settings) as old,
        BrokerProcess(tmp_path / "new", settings) as new,
    ):
        with barnabas.Admin(old.bootstrap) as admin:
            admin.create_acls(rules)
        backup("create", place, bootstrap=old.bootstrap)
        done = backup("restore", place, bootstrap=new.bootstrap)
        assert "0 groups, 2 ACLs" in done.stdout + done.stderr
        with barnabas.Admin(new.bootstrap) as admin:
            assert len(admin.acls()) == 2
