"""What one node has of a cluster whose other nodes have lost their data, and the cluster rebuilt.

Looking changes nothing: the metadata is read from a copy. Rebuilding writes the new metadata next
to the old, gives the directory another cluster id, and exchanges the two; the old metadata is kept.
A crash in between is completed by doing it again.

The cluster gets another id, so that nodes that turn up with old data can't outvote this one, or
mix their records with what is written from now on: they are refused.
"""

import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

from barnabas.broker.offline.sole_survivor import (
    LogEpochs,
    SurvivingPartition,
    rebuilt_image,
    surviving_partitions,
)
from barnabas.broker.offline.stored_metadata import (
    StoredMetadata,
    read_metadata,
    write_metadata,
)
from barnabas.broker.replica.directory_owner import belongs_to
from barnabas.broker.replica.high_watermark_checkpoint import HighWatermarkCheckpoint
from barnabas.broker.runtime.clock import Clock
from barnabas.log import DataDirectory, Disk, OsDisk, StorageError
from barnabas.log.directory.data_directory import encode_id, read_identity
from barnabas.log.errors import storage_errors
from barnabas.log.offline.log_extent import LogExtent, log_extent
from barnabas.metadata.image import CLUSTER_METADATA, MetadataImage
from barnabas.raft import ReplicaKey, Voter, VoterSet

_REBUILT = ".rebuilt"
_STRAY = re.compile(re.escape(f"{CLUSTER_METADATA}-0.") + r"\d+-stray")

Extents = dict[tuple[bytes, int], LogExtent]
"""By topic id and partition."""


@dataclass(frozen=True, slots=True)
class SurvivingNode:
    """A data directory, as it was found."""

    data: DataDirectory
    metadata: StoredMetadata
    extents: Extents
    unknown: list[str]
    """Directories of partitions that the metadata does not know."""

    @property
    def partitions(self) -> list[SurvivingPartition]:
        return surviving_partitions(self.metadata.image, self.data.node_id, self._epochs)

    @property
    def _epochs(self) -> LogEpochs:
        return {key: extent.latest_epoch for key, extent in self.extents.items()}

    @property
    def _key(self) -> ReplicaKey:
        return ReplicaKey(self.data.node_id, self.data.quorum_directory_id)

    @property
    def is_sole_voter(self) -> bool:
        """Whether it needs no other node to start."""
        return self.metadata.voters.keys == (self._key,)

    def rebuild(self) -> str:
        """Make this node the only voter, in sync alone. Returns where the old metadata is now.

        Raises `StorageError`; then it can be done again.
        """
        disk, clock = OsDisk(), Clock()
        old = self.data.partition_path(CLUSTER_METADATA, 0)
        new = f"{old}{_REBUILT}"
        voter = next(
            (each for each in self.metadata.voters.voters if each.key == self._key),
            Voter(self._key),
        )
        image = rebuilt_image(self.metadata.image, self.data.node_id, self._epochs)
        with storage_errors(f"cannot rebuild {self.data.path}"):
            shutil.rmtree(new, ignore_errors=True)
            write_metadata(
                disk,
                new,
                clock,
                StoredMetadata(
                    image,
                    VoterSet((voter,)),
                    self.metadata.end_offset,
                    self.metadata.epoch + 1,
                ),
            )
            # Before the node can start alone: no node of the old cluster is to talk to it then.
            self.data.join_cluster(encode_id(SystemRandom().randbytes(16)))
            kept = self.data.set_aside(CLUSTER_METADATA, 0)
            disk.rename(new, old)
            disk.sync_directory(self.data.path)
        return kept


def open_surviving_node(path: str) -> SurvivingNode:
    """Lock a data directory and read what it has; close `data` afterwards.

    Raises `DirectoryLocked`, `DirectoryMismatch` or `StorageError`.
    """
    disk = OsDisk()
    identity = read_identity(disk, path)
    if not identity.cluster_id:
        raise StorageError(f"{path} has not joined a cluster yet: there is nothing to recover")
    data = DataDirectory.open(
        disk,
        path,
        node_id=identity.node_id,
        new_cluster_id="",
        new_directory_id=SystemRandom().randbytes(16),
    )
    try:
        with storage_errors(f"cannot read {path}"):
            _complete_exchange(disk, data)
            metadata = _read_copy(disk, data)
            if not metadata.voters.voters:
                metadata = _read_instead(disk, data)
            extents, unknown = _find_logs(disk, data, metadata.image)
            return SurvivingNode(data, metadata, extents, unknown)
    except BaseException:
        data.close()
        raise


def _complete_exchange(disk: Disk, data: DataDirectory) -> None:
    """The old metadata was put aside, and a crash came before the new took its place."""
    old = data.partition_path(CLUSTER_METADATA, 0)
    if not disk.exists(old) and disk.exists(f"{old}{_REBUILT}"):
        disk.rename(f"{old}{_REBUILT}", old)
        disk.sync_directory(data.path)


def _read_copy(disk: Disk, data: DataDirectory) -> StoredMetadata:
    directory = data.partition_path(CLUSTER_METADATA, 0)
    if not disk.exists(directory):
        raise StorageError(
            f"{directory} is gone: without it no cluster can be rebuilt from this directory"
        )
    with tempfile.TemporaryDirectory(prefix="barnabas-recover-") as temporary:
        copy = Path(temporary) / Path(directory).name
        shutil.copytree(directory, copy)
        return read_metadata(disk, str(copy), Clock())


def _read_instead(disk: Disk, data: DataDirectory) -> StoredMetadata:
    """Of a node that has begun its metadata again and learned nothing since: it is an observer
    without any voter, and from that only an empty cluster could be rebuilt."""
    old = data.partition_path(CLUSTER_METADATA, 0)
    if disk.exists(f"{old}{_REBUILT}"):  # the node was started before the exchange was complete
        data.set_aside(CLUSTER_METADATA, 0)
        _complete_exchange(disk, data)
        return _read_copy(disk, data)
    kept = sorted(name for name in disk.list_directories(data.path) if _STRAY.fullmatch(name))
    hint = f"; what it had before is in {data.path}/{kept[-1]}" if kept else ""
    raise StorageError(
        f"{old} names no voter: this node was fetching the metadata again, and no cluster can be "
        f"rebuilt from it{hint}"
    )


def _find_logs(disk: Disk, data: DataDirectory, image: MetadataImage) -> tuple[Extents, list[str]]:
    extents: Extents = {}
    unknown = []
    high_watermarks = HighWatermarkCheckpoint(disk, data.path)
    for name, index in data.partitions():
        if name == CLUSTER_METADATA:
            continue
        path = data.partition_path(name, index)
        topic = image.topics.get(name)
        checkpointed_id = high_watermarks.topic_id(name, index)
        if topic is None or not belongs_to(disk, path, topic.topic_id, checkpointed_id):
            unknown.append(f"{name}-{index}")
            continue
        extent = log_extent(disk, path)
        if extent is not None:
            extents[topic.topic_id, index] = extent
    return extents, unknown
