"""Anchors are taken again if the target has moved on while they were taken."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.list_offsets import ListedOffset, list_offsets
from barnabas.mirror.copy_report import CopyReport
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.mirror.groups import anchors
from barnabas.mirror.groups.anchors import take_anchors
from barnabas.mirror.names import remote_topic
from barnabas.mirror.offsets.translations import Translations
from tests.mirror.copies import copy, make_topic

Ends = tuple[ClusterEnd, ClusterEnd]
Listed = dict[TopicPartition, ListedOffset]
BURST = 10


class CopiedTopic:
    """A topic of one partition, of which bursts of records are copied."""

    def __init__(self, flow: Flow, topic: str) -> None:
        self.flow = flow
        self.here = TopicPartition(topic, 0)
        self.there = TopicPartition(remote_topic(flow, topic), 0)
        self.translations = Translations()
        self.records = 0
        make_topic(flow.source, topic)
        make_topic(flow.target, self.there.topic)

    def copy_burst(self) -> CopyReport:
        with barnabas.Producer(self.flow.source.bootstrap_servers) as producer:
            for _ in range(BURST):
                producer.send(self.here.topic, b"value")
        self.records += BURST
        return copy(self.flow, self.here.topic)

    def take_anchors(self) -> None:
        async def run() -> None:
            async with self.flow.target.client() as target:
                await take_anchors(self.flow, target, self.translations)

        asyncio.run(run())

    @property
    def end(self) -> int:
        """Of the target, behind the marker of the last transaction."""
        with barnabas.Admin(self.flow.target.bootstrap_servers) as admin:
            return admin.offsets(self.there.topic, isolation="read_committed")[self.there]

    @property
    def translated(self) -> int | None:
        """Where a group goes on that has read all records of the source."""
        place = self.translations.translate(self.here, self.records)
        return None if place is None else place[1]


@pytest.fixture
def copied(ends: Ends, topic: str) -> CopiedTopic:
    return CopiedTopic(Flow(*ends, topics=(topic,)), topic)


def when_listed(monkeypatch: pytest.MonkeyPatch, change: Callable[[Listed], Listed]) -> None:
    """Change what the target says the first time it is asked for its ends."""
    changes = [change]

    async def listed(*args: Any) -> Listed:
        found = await list_offsets(*args)
        return await asyncio.to_thread(changes.pop(), found) if changes else found

    monkeypatch.setattr(anchors, "list_offsets", listed)


@pytest.mark.parametrize("is_reported", [True, False], ids=["reported", "report lost"])
def test_a_transaction_commits_while_an_anchor_is_taken(
    copied: CopiedTopic, monkeypatch: pytest.MonkeyPatch, is_reported: bool
) -> None:
    reports = [copied.copy_burst()]

    def commit(found: Listed) -> Listed:
        reports.append(copied.copy_burst())
        return found

    when_listed(monkeypatch, commit)
    copied.take_anchors()
    if is_reported:
        for each in reports:
            copied.translations.add(each.syncs)
    copied.take_anchors()
    assert (copied.records, copied.translated) == (2 * BURST, copied.end)


@pytest.mark.parametrize("is_late", [True, False], ids=["report after", "report before"])
def test_the_position_is_seen_before_the_records(
    copied: CopiedTopic, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    """Kafka writes the markers of a transaction one by one, that of the position possibly first."""
    report = copied.copy_burst()
    when_listed(
        monkeypatch,
        lambda found: {name: each._replace(offset=0) for name, each in found.items()},
    )
    if not is_late:
        copied.translations.add(report.syncs)
    copied.take_anchors()
    assert copied.translated == (0 if is_late else BURST), "no record is passed"
    copied.translations.add(report.syncs if is_late else ())
    copied.take_anchors()
    assert copied.translated == copied.end == BURST + 1


def test_an_anchor_that_holds_is_not_taken_again(
    copied: CopiedTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied.translations.add(copied.copy_burst().syncs)
    copied.take_anchors()

    def fail(_: Listed) -> Listed:
        raise AssertionError("the ends were listed again")

    when_listed(monkeypatch, fail)
    copied.take_anchors()
    assert copied.translated == copied.end
