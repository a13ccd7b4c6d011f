"""The data directory of one node of three: looking at it, and rebuilding the cluster from it."""

from pathlib import Path

import pytest

from barnabas.broker.offline.stored_metadata import StoredMetadata, read_metadata, write_metadata
from barnabas.broker.offline.surviving_node import SurvivingNode, open_surviving_node
from barnabas.broker.runtime.clock import Clock
from barnabas.log import DataDirectory, DirectoryMismatch, OsDisk, StorageError
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.partition_image import PartitionImage
from barnabas.raft import ReplicaKey, VoterSet
from barnabas.wire.messages.metadata_records import TopicRecord

TOPIC_ID = bytes(15) + b"t"
DIRECTORY_ID = b"1" * 16
KEYS = [ReplicaKey(1, DIRECTORY_ID), ReplicaKey(2, b"2" * 16), ReplicaKey(3, b"3" * 16)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The directory of node 1, with a topic of which it is a follower in sync."""
    disk = OsDisk()
    image = MetadataImage()
    image.replay(TopicRecord("t", TOPIC_ID))
    image.replay(PartitionImage(0, [2, 1, 3], [2, 1, 3], 2, 4, 9).record(TOPIC_ID))
    data = DataDirectory.open(
        disk, str(tmp_path), node_id=1, new_cluster_id="old", new_directory_id=DIRECTORY_ID
    )
    metadata = StoredMetadata(image, VoterSet.of(KEYS), 100, 5)
    write_metadata(disk, data.partition_path("__cluster_metadata", 0), Clock(), metadata)
    disk.make_directory(data.partition_path("t", 0))
    disk.make_directory(data.partition_path("stranger", 3))
    data.close()
    return tmp_path


def rebuild(path: Path) -> str:
    node = open_surviving_node(str(path))
    try:
        return node.rebuild()
    finally:
        node.data.close()


def look(path: Path) -> SurvivingNode:
    node = open_surviving_node(str(path))
    node.data.close()
    return node


def test_what_is_written_is_read(path: Path) -> None:
    metadata = read_metadata(OsDisk(), str(path / "__cluster_metadata-0"), Clock())
    assert (metadata.end_offset, metadata.epoch) == (100, 5)
    assert metadata.voters.keys == tuple(KEYS)
    assert metadata.image.topics["t"].partitions[0].isr == [2, 1, 3]


def test_a_look_finds_everything(path: Path) -> None:
    node = look(path)
    assert [str(survival) for _, _, survival in node.partitions] == ["complete"]
    assert node.unknown == ["stranger-3"]
    assert not node.is_sole_voter


def test_the_rebuilt_cluster_is_another_one_with_a_single_voter(path: Path) -> None:
    kept = rebuild(path)
    node = look(path)
    assert node.data.cluster_id != "old"
    assert node.data.directory_id == DIRECTORY_ID
    assert node.is_sole_voter
    assert node.metadata.epoch > 5
    assert node.metadata.image.topics["t"].partitions[0].isr == [1]
    assert read_metadata(OsDisk(), kept, Clock()).voters.keys == tuple(KEYS)


@pytest.mark.parametrize("step", ["join_cluster", "set_aside"])
def test_after_a_crash_it_can_be_done_again(
    path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:

        def crash(*_: object) -> str:
            raise OSError("the machine is gone")

        patched.setattr(DataDirectory, step, crash)
        with pytest.raises(StorageError, match="the machine is gone"):
            rebuild(path)
    assert not look(path).is_sole_voter, "no half of it takes effect"
    rebuild(path)
    assert look(path).is_sole_voter


def test_a_crash_between_the_two_renames_is_completed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = OsDisk.rename

    def crash(disk: OsDisk, source: str, target: str) -> None:
        if source.endswith(".rebuilt"):
            raise OSError("the machine is gone")
        original(disk, source, target)

    with monkeypatch.context() as patched:
        patched.setattr(OsDisk, "rename", crash)
        with pytest.raises(StorageError):
            rebuild(path)
    assert not (path / "__cluster_metadata-0").exists()
    assert look(path).is_sole_voter


def test_a_directory_without_metadata_says_so(path: Path) -> None:
    (path / "__cluster_metadata-0").rename(path / "gone")
    with pytest.raises(StorageError, match="is gone: without it"):
        open_surviving_node(str(path))


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(DirectoryMismatch, match="is not a data directory"):
        open_surviving_node(str(tmp_path))


def test_nothing_is_rebuilt_from_metadata_that_was_begun_again(path: Path) -> None:
    """It knows no voter and no topic: all partitions would be strangers."""
    disk = OsDisk()
    metadata = path / "__cluster_metadata-0"
    metadata.rename(path / "__cluster_metadata-0.0-stray")
    write_metadata(disk, str(metadata), Clock(), StoredMetadata(MetadataImage(), VoterSet(), 0, 0))
    with pytest.raises(StorageError, match=r"__cluster_metadata-0\.0-stray"):
        look(path)


def test_an_exchange_that_a_start_has_overtaken_is_completed(path: Path) -> None:
    rebuild(path)
    metadata = path / "__cluster_metadata-0"
    metadata.rename(path / "__cluster_metadata-0.rebuilt")  # as if it had crashed before
    disk = OsDisk()
    write_metadata(disk, str(metadata), Clock(), StoredMetadata(MetadataImage(), VoterSet(), 0, 0))
    node = look(path)
    assert node.is_sole_voter
    assert node.metadata.image.topics["t"]


def test_a_directory_from_before_directories_had_ids_can_be_looked_at(path: Path) -> None:
    meta = path / "meta.properties"
    kept = [line for line in meta.read_text().splitlines() if "directory.id" not in line]
    meta.write_text("\n".join(kept) + "\n")
    look(path)
    look(path)
