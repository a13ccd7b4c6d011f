"""The metadata log of a node, read and written while no server runs.

Everything in the log is taken as agreed, committed or not: the only replica that is left can't know
how far the others were.
"""

from typing import NamedTuple

from barnabas.broker.quorum.checkpoint import encode_checkpoint
from barnabas.broker.quorum.state_machine import Callbacks, StateMachine
from barnabas.broker.quorum.storage import QuorumStorage
from barnabas.broker.runtime.clock import Clock
from barnabas.log import Disk
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.records import MetadataRecord
from barnabas.raft import ElectionState, OffsetAndEpoch, Snapshot, VoterSet, Write
from barnabas.raft.log import RaftLog


class StoredMetadata(NamedTuple):
    image: MetadataImage
    voters: VoterSet
    end_offset: int
    epoch: int
    """The newest that this replica knows of."""


def read_metadata(disk: Disk, directory: str, clock: Clock) -> StoredMetadata:
    """Opens the log as a server would, so a torn end is cut off. Raises `StorageError`."""
    storage = QuorumStorage(disk, directory, clock)
    try:
        recovered = storage.open()
        voters = storage.bootstrap_voters() or VoterSet()
    finally:
        storage.abandon()
    log = RaftLog(recovered.snapshot, recovered.entries, voters)
    image = MetadataImage()
    state = StateMachine(_callbacks(image), snapshot_records=1)
    if recovered.snapshot is not None:
        state.restore(recovered.snapshot)
    entries = log.between(log.start_offset, log.end_offset)
    if entries:
        state.apply(entries)
    epoch = max(recovered.election.epoch, log.last_epoch)
    return StoredMetadata(image, log.voters, log.end_offset, epoch)


def _callbacks(image: MetadataImage) -> Callbacks:
    def restore(records: list[MetadataRecord], _: int) -> None:
        image.restore(records)

    def commit(records: list[MetadataRecord], _: int) -> None:
        for record in records:
            image.replay(record)

    def ignore(*_: object) -> None:
        """There is no node to tell."""

    return Callbacks(restore, commit, ignore, ignore, ignore, image.snapshot)


def write_metadata(disk: Disk, directory: str, clock: Clock, metadata: StoredMetadata) -> None:
    """Make a log, in a new directory, that holds only a snapshot. Raises `StorageError`."""
    content = encode_checkpoint(metadata.image.snapshot(), metadata.voters, clock.now_ms())
    snapshot_id = OffsetAndEpoch(metadata.end_offset, metadata.epoch)
    storage = QuorumStorage(disk, directory, clock)
    try:
        storage.open()
        storage.write(
            [
                Write(1, ElectionState(metadata.epoch)),
                Write(2, Snapshot(snapshot_id, metadata.voters, content)),
            ]
        )
    except BaseException:
        storage.abandon()
        raise
    storage.close()
