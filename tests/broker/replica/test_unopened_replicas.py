"""Replicas that could not be opened while the disk was suspect: until they are, or are not kept."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from unittest.mock import Mock

import pytest

from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import DataDirectory, StorageError
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from tests.log.memory_disk import MemoryDisk

IMAGE = PartitionImage(0, [1, 2], [2], 2, 0, 0)
TOPIC = TopicImage("t", bytes(range(16)), [IMAGE])


@pytest.fixture
def partitions(monkeypatch: pytest.MonkeyPatch) -> Partitions:
    disk = MemoryDisk()
    data = DataDirectory.open(
        disk, "data", node_id=1, new_cluster_id="c", new_directory_id=bytes(16)
    )
    with ThreadPoolExecutor(1) as executor:
        made = Partitions(
            BrokerConfig({}),
            MetadataImage(),
            data,
            disk,
            Mock(),
            executor,
            lambda _: None,
            clock=Clock(),
            node_id=1,
            is_suspect=lambda: True,
        )

    def fail(*_: object) -> None:
        raise StorageError("the disk fails")

    monkeypatch.setattr(made._opener, "open", fail)
    made.apply(TOPIC, [0])
    assert made.has_suspects
    return made


def test_a_deleted_topic_has_no_suspects(partitions: Partitions) -> None:
    """Otherwise the node never trusts its disk again."""
    assert list(partitions.delete_topic("t", TOPIC.topic_id)) == []
    assert not partitions.has_suspects


def test_a_replica_that_is_moved_away_is_not_suspect(partitions: Partitions) -> None:
    moved = replace(IMAGE, replicas=[2, 3])
    partitions.apply(TopicImage("t", TOPIC.topic_id, [moved]), [0])
    assert not partitions.has_suspects
