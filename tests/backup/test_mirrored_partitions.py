"""Ends of logs that fit the positions of mirrors, with what happens between the two looks."""

import asyncio
from collections.abc import Callable

import pytest

import barnabas
from barnabas.backup.batch_reader import ISOLATION
from barnabas.backup.cluster_state import read_groups
from barnabas.backup.manifest import Point
from barnabas.backup.mirrored_partitions import MirroredPartitions
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.mirror.flow import ClusterEnd, Flow, Names
from tests.backup.support import Source
from tests.mirror.copies import copy, make_topic

BURST = 16
MARKER = 1


class Copied:
    """A topic of which bursts are copied, each in a transaction."""

    def __init__(self, source: Source, origin: str) -> None:
        self.flow = Flow(
            ClusterEnd(f"A{source.prefix}", origin),
            ClusterEnd(f"B{source.prefix}", source.bootstrap),
            names=Names.IDENTITY,
        )
        self.partition = TopicPartition(source.topic("orders"), 0)
        make_topic(self.flow.source, self.partition.topic)
        self.copy_burst()

    def copy_burst(self) -> None:
        with barnabas.Producer(self.flow.source.bootstrap_servers) as producer:
            for _ in range(BURST):
                producer.send(self.partition.topic, b"copied")
        copy(self.flow, self.partition.topic)

    def write(self) -> None:
        """Records of the target itself."""
        with barnabas.Producer(self.flow.target.bootstrap_servers) as producer:
            for _ in range(BURST):
                producer.send(self.partition.topic, b"own")

    def limits(
        self, between: Callable[[], None], before: Callable[[], None] = lambda: None
    ) -> tuple[int | None, int]:
        """Where the partition is to end, and the position, if this happens between the looks.

        Or before the first one, after the position was read.
        """
        point = Point("run", 0)

        async def look() -> int | None:
            async with self.flow.target.client() as cluster:
                await read_groups(cluster, point, [self.flow.group_id])
                await asyncio.to_thread(before)
                mirrored = MirroredPartitions(cluster, point.groups)
                await mirrored.look([self.partition])
                await asyncio.to_thread(between)
                bounds = await beginning_and_end(cluster, [self.partition], ISOLATION)
                return (await mirrored.limits(bounds)).get(self.partition)

        limit = asyncio.run(look())
        offsets = point.groups[self.flow.group_id].offsets
        return limit, offsets[self.partition.topic][0][0]


@pytest.fixture
def copied(source: Source, origin: str) -> Copied:
    return Copied(source, origin)


def test_what_is_copied_in_between_is_left_out(copied: Copied) -> None:
    assert copied.limits(copied.copy_burst) == (BURST + MARKER, BURST)


def test_what_is_copied_before_the_first_look_is_left_out(copied: Copied) -> None:
    """The transaction of the position is no longer the last one."""
    limits = copied.limits(lambda: None, before=copied.copy_burst)
    assert limits == (BURST + MARKER, BURST)


def test_what_others_have_written_is_kept(copied: Copied) -> None:
    assert copied.limits(copied.write) == (None, BURST)
    assert copied.limits(lambda: (copied.write(), copied.copy_burst())[0]) == (
        BURST + MARKER + 2 * BURST,
        BURST,
    )


def test_records_that_can_not_be_read_yet_are_not_passed_over(copied: Copied) -> None:
    """A transaction of somebody else is open, and hides what follows it."""
    with (
        barnabas.Producer(
            copied.flow.target.bootstrap_servers, transactional_id=f"open-{copied.partition}"
        ) as producer,
        producer.transaction(),
    ):
        producer.send(copied.partition.topic, b"open")
        producer.flush()
        copied.copy_burst()
        assert copied.limits(lambda: None) == (None, BURST)
    assert copied.limits(lambda: None) == (None, 2 * BURST)
