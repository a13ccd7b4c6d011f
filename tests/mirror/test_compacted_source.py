"""A source that is compacted: its offsets have gaps, and groups go on at the right record."""

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.mirror.names import remote_topic
from tests.mirror.copies import make_topic, records_of
from tests.mirror.running_flow import RunningFlow
from tests.support.wait import wait_until

KEYS, RECORDS = 7, 400
COMPACTED = range(30, 200)
"""Records whose keys return; all others have keys of their own."""
COMMITTED = range(0, RECORDS + 1, 23)
"""Where groups are in the source: many are in the gap."""


def numbers_in(end: ClusterEnd, topic: str) -> list[int]:
    return [int(value or b"") for _, _, _, value, _ in records_of(end, topic)]


def test_groups_go_on_behind_the_gaps_of_compaction(
    ends: tuple[ClusterEnd, ClusterEnd], topic: str
) -> None:
    with barnabas.Cluster(settings={"log.cleaner.backoff.ms": "50"}) as cluster:
        source, target = ClusterEnd(ends[0].name, cluster.bootstrap_servers), ends[1]
        flow = Flow(source, target, topics=(topic,))
        there = TopicPartition(remote_topic(flow, topic), 0)
        make_topic(
            source,
            topic,
            cleanup_policy="compact",
            segment_bytes="1024",
            min_cleanable_dirty_ratio="0.01",
        )
        make_topic(target, there.topic)
        with barnabas.Producer(source.bootstrap_servers) as producer:
            for number in range(RECORDS):
                key = f"again-{number % KEYS}" if number in COMPACTED else f"once-{number}"
                producer.send(topic, b"%d" % number, key.encode())
                if number % 20 == 0:
                    producer.flush()  # one batch would be one segment, which is not compacted
        wait_until(
            lambda: len(numbers_in(source, topic)) == RECORDS - len(COMPACTED) + KEYS,
            lambda: f"{len(numbers_in(source, topic))} records are not compacted",
        )
        left = numbers_in(source, topic)  # the number of a record is its offset
        with barnabas.Admin(source.bootstrap_servers) as admin:
            for offset in COMMITTED:
                admin.set_group_offsets(f"{topic}-{offset}", {TopicPartition(topic, 0): offset})
        with RunningFlow(flow, {topic: 1}), barnabas.Admin(target.bootstrap_servers) as admin:

            def committed() -> dict[int, int]:
                found = {each: admin.group_offsets(f"{topic}-{each}") for each in COMMITTED}
                return {each: at[there] for each, at in found.items() if there in at}

            wait_until(
                lambda: len(committed()) == len(COMMITTED),
                lambda: f"groups in the target: {committed()}",
            )
            offsets = committed()
        assert numbers_in(target, there.topic) == left
        copies = _offsets_in(target, there, len(left))
        for upstream, downstream in offsets.items():
            unread = [number for offset, number in copies if offset >= downstream]
            assert unread == [each for each in left if each >= upstream], f"from {upstream}"


def _offsets_in(end: ClusterEnd, partition: TopicPartition, count: int) -> list[tuple[int, int]]:
    """Offset and number of each record of the copy."""
    read: list[tuple[int, int]] = []
    with barnabas.Consumer(end.bootstrap_servers, partition.topic) as consumer:

        def is_done() -> bool:
            read.extend((each.offset, int(each.value or b"")) for each in consumer.poll(0.5))
            return len(read) >= count

        wait_until(is_done, lambda: f"read {len(read)} of {count}")
    return read
