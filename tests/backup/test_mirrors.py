"""A mirror's target is restored: the mirror goes on there, and nothing is doubled or missing."""

import asyncio
import re
import threading
import time
from dataclasses import dataclass
from typing import Any

import pytest

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import commit_offsets, fetch_offsets_and_metadata
from barnabas.mirror.flow import ClusterEnd, Flow, Names
from barnabas.mirror.names import syncs_topic_of
from barnabas.mirror.operations.stored_translations import stored_translations
from barnabas.mirror.positions import position_of
from tests.backup.support import Source
from tests.mirror.copies import copy, make_topic, records_of
from tests.mirror.running_flow import RunningFlow
from tests.support.wait import wait_until

BURST = 16


@dataclass
class Mirrored:
    """A topic of cluster A, which a flow copies to a cluster that is backed up."""

    source: Source
    a: ClusterEnd
    topic: str
    sent: int = 0

    def flow(self, bootstrap: str) -> Flow:
        """To the cluster that is backed up, or to one that was restored: by the same name."""
        return Flow(self.a, ClusterEnd(f"B{self.source.prefix}", bootstrap), names=Names.IDENTITY)

    @property
    def to_source(self) -> Flow:
        return self.flow(self.source.bootstrap)

    def send(self, records: int = BURST) -> None:
        with barnabas.Producer(self.a.bootstrap_servers) as producer:
            for number in range(self.sent, self.sent + records):
                producer.send(self.topic, b"%d" % number)
        self.sent += records

    def copy(self, bootstrap: str) -> None:
        copy(self.flow(bootstrap), self.topic)

    def back_up(self, *topics: str) -> dict[str, Any]:
        more = [part for each in topics for part in ("--topic", re.escape(each))]
        return self.source.create("--group", re.escape(self.to_source.group_id) + ".*", *more)

    def values(self, bootstrap: str) -> list[int]:
        end = ClusterEnd("any", bootstrap)
        return [int(each[3] or b"") for each in records_of(end, self.topic)]


@pytest.fixture
def mirrored(source: Source, origin: str) -> Mirrored:
    a, topic = ClusterEnd(f"A{source.prefix}", origin), f"{source.prefix}-orders"
    make_topic(a, topic)
    source.topic("orders")
    return Mirrored(source, a, topic)


def test_a_mirror_continues_in_a_restored_cluster(mirrored: Mirrored, target: str) -> None:
    """Its offsets are those of the other cluster, and not moved by gaps that are gone here."""
    source = mirrored.source
    for _ in range(3):
        mirrored.send()
        mirrored.copy(source.bootstrap)
    mirrored.back_up()
    assert source.restore(target)["problems"] == []
    mirrored.send()
    mirrored.copy(target)
    assert mirrored.values(target) == list(range(mirrored.sent))


def test_a_position_beyond_the_end_of_the_copy_is_kept(mirrored: Mirrored, target: str) -> None:
    mirrored.send(100)
    with barnabas.Admin(mirrored.a.bootstrap_servers) as admin:
        admin.delete_records({TopicPartition(mirrored.topic, 0): 90})
    mirrored.copy(mirrored.source.bootstrap)
    mirrored.back_up()
    mirrored.source.restore(target)
    mirrored.copy(target)
    assert mirrored.values(target) == list(range(90, 100))


def test_a_backup_while_a_mirror_writes(mirrored: Mirrored, target: str) -> None:
    """What was copied after its position was read is not in the point, so it is copied again."""
    done, bootstrap = threading.Event(), mirrored.source.bootstrap

    def produce() -> None:
        with barnabas.Producer(mirrored.a.bootstrap_servers) as producer:
            while not done.wait(0.002):
                producer.send(mirrored.topic, b"%d" % mirrored.sent)
                mirrored.sent += 1

    with RunningFlow(mirrored.to_source, {mirrored.topic: 1}):
        producing = threading.Thread(target=produce)
        producing.start()
        try:
            wait_until(
                lambda: len(mirrored.values(bootstrap)) > BURST,
                lambda: f"of {mirrored.sent} are copied: {mirrored.values(bootstrap)}",
            )
            mirrored.back_up()
            mirrored.back_up()
        finally:
            done.set()
            producing.join()
    mirrored.source.restore(target)
    mirrored.copy(target)
    assert mirrored.values(target) == list(range(mirrored.sent))


def test_groups_pass_no_record_after_a_restore(mirrored: Mirrored, target: str) -> None:
    """What is known of offsets of the old log is not true of the restored one."""
    source, flow = mirrored.source, mirrored.to_source
    here = TopicPartition(mirrored.topic, 0)
    with RunningFlow(flow, {mirrored.topic: 1}):
        for _ in range(5):
            mirrored.send()
            wait_until(lambda: len(mirrored.values(source.bootstrap)) == mirrored.sent)
    mirrored.back_up(syncs_topic_of(flow))
    source.restore(target)

    def translated(bootstrap: str) -> list[int]:
        async def look() -> list[int]:
            there = mirrored.flow(bootstrap)
            async with there.target.client() as cluster:
                known = await stored_translations(there, cluster)
            places = (known.translate(here, each) for each in range(mirrored.sent))
            return [0 if place is None else place[1] for place in places]

        return asyncio.run(look())

    assert max(translated(source.bootstrap)) > mirrored.sent
    assert all(place <= each for each, place in enumerate(translated(target)))


def test_notes_and_stop_requests_are_numbers_not_offsets(mirrored: Mirrored, target: str) -> None:
    mirrored.send()
    mirrored.copy(mirrored.source.bootstrap)
    group, place = mirrored.to_source.group_id, TopicPartition(mirrored.topic, 0)
    numbers = {f"{group}.driver": 1_700_000_000_000, f"{group}.stop": 4_000}

    async def commit() -> None:
        async with mirrored.to_source.target.client() as cluster:
            for name, number in {**numbers, f"{group}.failover": BURST + 1}.items():
                await commit_offsets(cluster, name, {place: number})

    asyncio.run(commit())
    mirrored.back_up()
    mirrored.source.restore(target)
    with barnabas.Admin(target) as admin:
        found = {name: admin.group_offsets(name)[place] for name in numbers}
        failover = admin.group_offsets(f"{group}.failover")[place]
    assert found == numbers
    assert failover == BURST  # where the target ended: an offset of this cluster


def test_a_time_between_two_points(mirrored: Mirrored, target: str) -> None:
    """The position is that of the earlier point, and what came later is copied again."""
    mirrored.send()
    mirrored.copy(mirrored.source.bootstrap)
    created_at_ms = mirrored.back_up()["created_at_ms"]
    wait_until(lambda: time.time() * 1000 > created_at_ms + 1)
    mirrored.send()
    mirrored.copy(mirrored.source.bootstrap)
    last_at_ms = mirrored.source.records(mirrored.topic)[-1][1]
    wait_until(lambda: time.time() * 1000 > last_at_ms + 1)
    mirrored.send(1)
    mirrored.copy(mirrored.source.bootstrap)
    mirrored.back_up()
    problems = mirrored.source.restore(target, "--at", str(last_at_ms))["problems"]
    assert any(f"{BURST} records" in each and "again" in each for each in problems), problems


def test_a_time_before_the_first_point(mirrored: Mirrored, target: str) -> None:
    """A position behind what is there would pass over the rest."""
    mirrored.send(1)
    first_at_ms = records_of(mirrored.a, mirrored.topic)[0][1]
    wait_until(lambda: time.time() * 1000 > first_at_ms + 1)
    mirrored.send()
    mirrored.copy(mirrored.source.bootstrap)
    mirrored.back_up()
    problems = mirrored.source.restore(target, "--at", str(first_at_ms))["problems"]
    assert any("from the beginning" in each for each in problems), problems
    with barnabas.Admin(target) as admin:
        admin.delete_topic(mirrored.topic)
        admin.create_topic(mirrored.topic)
    mirrored.copy(target)
    assert mirrored.values(target) == list(range(mirrored.sent))


def test_another_name_is_no_mirror(mirrored: Mirrored, target: str) -> None:
    mirrored.send()
    mirrored.copy(mirrored.source.bootstrap)
    mirrored.back_up()
    problems = mirrored.source.restore(target, "--prefix", "old.")["problems"]
    assert any(mirrored.to_source.group_id in each for each in problems), problems
    with barnabas.Admin(target) as admin:
        assert not any("mirror" in each for each in admin.groups())


def test_the_text_of_a_position_says_nothing_of_the_old_log(
    mirrored: Mirrored, target: str
) -> None:
    mirrored.send()
    mirrored.copy(mirrored.source.bootstrap)
    mirrored.back_up()
    mirrored.source.restore(target)

    async def texts(bootstrap: str) -> Any:
        flow = mirrored.flow(bootstrap)
        async with flow.target.client() as cluster:
            found = await fetch_offsets_and_metadata(cluster, flow.group_id)
        return position_of(*found[TopicPartition(mirrored.topic, 0)])

    before, after = (asyncio.run(texts(each)) for each in (mirrored.source.bootstrap, target))
    assert before.recent is not None
    assert after == before._replace(recent=None)
