"""What a replica has on its disk: in the directory of `__cluster_metadata-0`

    <offset>.log                      the entries, an ordinary partition log
    synced-offset                     how far they are synced
    quorum-state                      the epoch and the vote
    <end offset>-<epoch>.checkpoint   the latest snapshot; entries before it are dropped

Every write is synced before it counts, many entries with one sync, and writes happen in their
order. So after a crash there is a prefix of them, and perhaps a torn entry behind it. Anything else
that is wrong is damage (`MetadataDamaged`): the replica can't go on, as half of what was agreed is
worse than none. Where there are other voters it begins again as another one (`rejoining`).

A full disk is not damage: a write without room leaves nothing behind and can be retried. A failed
sync can't be retried: what is on the disk is then unknown, and a second attempt may wrongly
succeed. So it stops the node, and the next start writes what is behind `synced-offset` again.

Any thread may call it, but only one at a time; only `open` and `write` touch the disk.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, EFBIG, ENOSPC

from barnabas.broker.quorum.batches import UnknownControlRecord, decode_entries, encode_entry
from barnabas.broker.quorum.checkpoint import (
    BOOTSTRAP,
    check_checkpoint,
    checkpoint_name,
    encode_checkpoint,
    snapshot_id_in,
    voters_in_checkpoint,
)
from barnabas.broker.quorum.election_state import (
    ELECTION_FILE,
    NewerFormat,
    decode_election,
    encode_election,
)
from barnabas.broker.quorum.synced_offset import SyncedOffset
from barnabas.broker.runtime.clock import Clock
from barnabas.log import Disk, Log, LogConfig, StorageError, refuse_damage, refuse_loss
from barnabas.log.errors import storage_errors
from barnabas.log.state import STATE_FILE
from barnabas.raft import (
    MAX_EPOCH,
    ElectionState,
    Entry,
    OffsetAndEpoch,
    Recovered,
    Snapshot,
    Truncate,
    VoterSet,
    Write,
)
from barnabas.records.batch import BatchHeader, parse_header
from barnabas.records.errors import RecordsError
from barnabas.wire.primitives import WireError

logger = logging.getLogger(__name__)

_READ_BYTES = 1 << 20
_SEGMENT_BYTES = 16 << 20
"""Small, as only whole segments before a snapshot are dropped."""
_FORGED_EPOCH_MARGIN = 1_000
_FULL = frozenset({ENOSPC, EDQUOT, EFBIG})


class NoRoom(StorageError):  # noqa: N818 - reads as the fact it states
    """The disk is full. The write can be retried."""


class MetadataDamaged(StorageError):  # noqa: N818 - reads as the fact it states
    """The disk works, and what this replica had agreed to is not there, or not whole."""


class QuorumStorage:
    def __init__(
        self, disk: Disk, directory: str, clock: Clock, segment_bytes: int = _SEGMENT_BYTES
    ) -> None:
        self._config = LogConfig(
            segment_bytes=segment_bytes,
            segment_ms=2**62,
            retention_ms=-1,
            cleanup_policy=frozenset(),
        )
        self._disk = disk
        self._directory = directory
        self._clock = clock
        self._log: Log | None = None
        self._synced: SyncedOffset | None = None

    # -- the start ---------------------------------------------------------------------------------

    def open(self) -> Recovered:
        """Read everything. Raises `MetadataDamaged` or another `StorageError`."""
        with _damage_told(), storage_errors(f"can not read {self._directory}"):
            self._disk.make_directory(self._directory)
            snapshot = self._latest_snapshot()
            start_offset = snapshot.snapshot_id.end_offset if snapshot else 0
            log = self._open_log(start_offset)
            entries = self._entries(log)
            epochs = [entry.epoch for entry in entries[-1:]]
            if snapshot is not None:
                epochs.append(snapshot.snapshot_id.epoch)
            return Recovered(self._election(max(epochs, default=0)), snapshot, entries)

    def _open_log(self, start_offset: int) -> Log:
        """Sync the log, as everything in it counts as durable from now on."""
        synced = self._synced = SyncedOffset(self._disk, self._directory)
        if synced.is_new:
            refuse_damage(self._disk, self._directory)
        else:
            refuse_loss(self._disk, self._directory, start_offset, synced.value)
        log = Log.open(self._disk, self._directory, self._config, self._clock.now_ms())
        self._log = log
        self._cut_garbled(log, log.log_end_offset if synced.is_new else synced.value)
        if log.log_end_offset < start_offset:
            # A crash came between storing a leader's snapshot and restarting the log behind it.
            log.truncate_fully_and_start_at(start_offset)
        log.flusher.write_again(0 if synced.is_new else synced.value)
        log.flusher.flush()
        for directory in (self._directory, self._directory.rpartition("/")[0]):
            self._disk.sync_directory(directory)
        synced.set(log.log_end_offset)
        return log

    def _cut_garbled(self, log: Log, synced_offset: int) -> None:
        """Cut off entries with epochs that can't be: a power loss has garbled what was not synced.

        The CRC does not cover epochs, and a replica with a later one would win elections.
        """
        garbled = [log.suspect_epochs_from]
        if self._disk.exists(f"{self._directory}/{ELECTION_FILE}"):
            garbled.append(log.start_of_epoch_above(self._stored_election().epoch))
        first = min((offset for offset in garbled if offset is not None), default=None)
        if first is None:
            return
        if first >= synced_offset:
            log.truncate_to(first)
        elif log.suspect_epochs_from is not None:
            raise StorageError(
                f"{self._directory} has an entry at offset {log.suspect_epochs_from} whose epoch "
                "is damaged; restore it from a backup"
            )

    def _latest_snapshot(self) -> Snapshot | None:
        """The bootstrap checkpoint does not count: it covers no entries."""
        found = [snapshot_id for snapshot_id in self._checkpoints() if snapshot_id != BOOTSTRAP]
        if not found:
            return None
        content = self._read_checkpoint(max(found))
        return Snapshot(max(found), voters_in_checkpoint(content), content)

    def bootstrap_voters(self) -> VoterSet | None:
        """The voters when the cluster began, if this replica was one and no snapshot is newer.

        Raises `StorageError`.
        """
        with storage_errors(f"can not read {self._directory}"):
            if BOOTSTRAP in self._checkpoints():
                return voters_in_checkpoint(self._read_checkpoint(BOOTSTRAP))
            return None

    def refuse_amnesia(self) -> None:
        """Raise `MetadataDamaged` if a member has lost its vote, and what it acknowledged with
        it."""
        if not self._disk.exists(f"{self._directory}/{ELECTION_FILE}"):
            raise MetadataDamaged(f"{self._directory} has lost what this node agreed to")

    def has_checkpoint(self) -> bool:
        with storage_errors(f"can not read {self._directory}"):
            return bool(self._checkpoints())

    def _checkpoints(self) -> list[OffsetAndEpoch]:
        ids = map(snapshot_id_in, self._disk.list_files(self._directory))
        return [snapshot_id for snapshot_id in ids if snapshot_id is not None]

    def _read_checkpoint(self, snapshot_id: OffsetAndEpoch) -> bytes:
        path = f"{self._directory}/{checkpoint_name(snapshot_id)}"
        content = self._disk.read_file(path)
        try:
            check_checkpoint(content)
        except RecordsError as error:
            raise StorageError(f"{path} is damaged: {error}; restore it from a backup") from error
        return content

    def _entries(self, log: Log) -> list[Entry]:
        entries: list[Entry] = []
        offset = log.log_start_offset
        try:
            while offset < log.log_end_offset:
                entries += decode_entries(log.reader.read(offset, _READ_BYTES))
                offset = entries[-1].end_offset
        except (RecordsError, IndexError) as error:
            raise StorageError(
                f"{self._directory} can't be read from offset {offset} on: {error}; "
                "inspect it with `barnabas log dump`, and restore it from a backup"
            ) from error
        return entries

    def _stored_election(self) -> ElectionState:
        path = f"{self._directory}/{ELECTION_FILE}"
        if not self._disk.exists(path):
            return ElectionState()
        return decode_election(path, self._disk.read_file(path))

    def _election(self, last_epoch: int) -> ElectionState:
        path = f"{self._directory}/{ELECTION_FILE}"
        election = self._stored_election()
        if last_epoch > MAX_EPOCH:
            raise StorageError(
                f"the log in {self._directory} has entries of epoch {last_epoch}, which no "
                "elections can have reached; restore it from a backup"
            )
        if election.epoch > MAX_EPOCH:
            # A forged message has raised it, before such epochs were refused. No leader was elected
            # in it, or the log would have its entries. The real epoch is unknown, but not that far
            # beyond the log's last one.
            believed = ElectionState(last_epoch + _FORGED_EPOCH_MARGIN)
            logger.error(
                "%s says epoch %d, which no elections can have reached: this replica goes on with "
                "epoch %d. If no controller is elected, stop all nodes and start them again",
                path,
                election.epoch,
                believed.epoch,
            )
            return believed
        if election.epoch < last_epoch:
            raise StorageError(
                f"{path} is at epoch {election.epoch}, but the log has entries of epoch "
                f"{last_epoch}; restore it from a backup"
            )
        return election

    # -- changes -----------------------------------------------------------------------------------

    def begin_cluster(self, voters: VoterSet) -> None:
        """Store the voters of a new cluster; an empty set: this replica joins an existing one.

        From then on there is always a `quorum-state`.
        """
        path = f"{self._directory}/{checkpoint_name(BOOTSTRAP)}"
        with storage_errors(f"can not write {path}"):
            election_path = f"{self._directory}/{ELECTION_FILE}"
            if not self._disk.exists(election_path):
                self._disk.replace_file(election_path, encode_election(ElectionState()), sync=True)
            if voters.voters:
                content = encode_checkpoint([], voters, self._clock.now_ms())
                self._disk.replace_file(path, content, sync=True)
            else:
                self._disk.unlink(path)
                self._disk.sync_directory(self._directory)

    def write(self, writes: list[Write]) -> None:
        """Make all writes durable, in order, and remove each from the list when it is.

        Raises `NoRoom`: the rest may be retried. Raises any other `StorageError`: it must not be
        retried.
        """
        assert self._log is not None
        with storage_errors(f"can not write to {self._directory}"):
            while writes:
                entries: list[Entry] = []
                for write in writes:
                    if not isinstance(write.change, Entry):
                        break
                    entries.append(write.change)
                self._append(self._log, entries, writes)
                if writes:
                    with _room_wanted():
                        self._change(self._log, writes[0])
                    del writes[0]

    def _change(self, log: Log, write: Write) -> None:
        match write.change:
            case ElectionState() as election:
                path = f"{self._directory}/{ELECTION_FILE}"
                self._disk.replace_file(path, encode_election(election), sync=True)
            case Truncate(end_offset):
                self._truncate(log, end_offset)
            case Snapshot() as snapshot:
                self._store(log, snapshot)

    def _append(self, log: Log, entries: list[Entry], writes: list[Write]) -> None:
        """Append the entries, which `writes` begins with, and remove them from it."""
        if not entries:
            return
        if log.log_end_offset != entries[0].base_offset:
            raise StorageError(
                f"{self._directory} ends at {log.log_end_offset}, not at {entries[0].base_offset}"
            )
        buffer = bytearray()
        batches: list[tuple[int, BatchHeader]] = []
        for entry in entries:
            batch = encode_entry(entry)
            # Never write to two segments at once: only the very last entry may be torn.
            if batches and len(buffer) + len(batch) > self._config.segment_bytes:
                self._append_together(log, buffer, batches)
                del writes[: len(batches)]
                buffer, batches = bytearray(), []
            batches.append((len(buffer), parse_header(batch)))
            buffer += batch
        self._append_together(log, buffer, batches)
        del writes[: len(batches)]

    def _append_together(
        self, log: Log, buffer: bytearray, batches: list[tuple[int, BatchHeader]]
    ) -> None:
        assert self._synced is not None
        with _room_wanted():
            log.appender.append_as_follower(memoryview(buffer), batches, self._clock.now_ms())
        log.flusher.flush()
        with suppress(OSError):  # an old value is safe
            self._synced.set(log.log_end_offset)

    def _truncate(self, log: Log, end_offset: int) -> None:
        assert self._synced is not None
        # After a power loss in between, no file may expect or confirm what was truncated.
        self._synced.forget()
        self._disk.unlink(f"{self._directory}/{STATE_FILE}")
        self._disk.sync_directory(self._directory)
        log.truncate_to(end_offset)
        self._synced.set(log.log_end_offset)

    def _store(self, log: Log, snapshot: Snapshot) -> None:
        snapshot_id = snapshot.snapshot_id
        path = f"{self._directory}/{checkpoint_name(snapshot_id)}"
        self._disk.replace_file(path, snapshot.content, sync=True)
        if log.log_end_offset < snapshot_id.end_offset:
            log.truncate_fully_and_start_at(snapshot_id.end_offset)
        else:
            deletion = log.retention.delete_records_before(snapshot_id.end_offset)
            if deletion is not None:
                deletion.run()
        for older in self._checkpoints():
            if older != snapshot_id:
                self._disk.unlink(f"{self._directory}/{checkpoint_name(older)}")

    def close(self) -> None:
        """Raises `StorageError`; then the next start scans the log."""
        if self._synced is not None:
            self._synced.close()
        if self._log is not None:
            self._log.close()

    def abandon(self) -> None:
        """Close the files without a sync, as a crash would."""
        if self._synced is not None:
            self._synced.close()
        if self._log is not None:
            self._log.abandon()


@contextmanager
def _damage_told() -> Iterator[None]:
    """Distinguish damage from a failing disk, and from what a newer release has written."""
    try:
        yield
    except StorageError as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, OSError | WireError | NewerFormat | UnknownControlRecord):
                raise
            cause = cause.__cause__
        raise MetadataDamaged(str(error)) from error


@contextmanager
def _room_wanted() -> Iterator[None]:
    """Distinguish a full disk from a failing one."""
    try:
        yield
    except (OSError, StorageError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if isinstance(cause, OSError) and cause.errno in _FULL:
            raise NoRoom(str(error)) from error
        raise
