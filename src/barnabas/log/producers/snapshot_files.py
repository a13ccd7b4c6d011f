"""The `.snapshot` files of a partition's producer table, by the offset they were taken at."""

from collections.abc import Collection, Sequence

from barnabas.log.producers.snapshot import decode_producers, encode_producers
from barnabas.log.producers.table import ProducerTable
from barnabas.log.producers.transactions import end_marker
from barnabas.log.segment.file_names import SNAPSHOT_SUFFIX, segment_path
from barnabas.log.segment.segment import Segment
from barnabas.log.storage import Disk


class SnapshotFiles:
    """Files that save a replay of all batches. Each may be missing or damaged: then the headers of
    the batches, as long as they are not deleted, give the same."""

    __slots__ = ("_directory", "_disk", "_offsets")

    def __init__(self, disk: Disk, directory: str, offsets: list[int]) -> None:
        self._disk = disk
        self._directory = directory
        self._offsets = offsets

    def _path(self, offset: int) -> str:
        return segment_path(self._directory, offset, SNAPSHOT_SUFFIX)

    def load(
        self, segments: Sequence[Segment], now_ms: int, committed_offset: int, max_producers: int
    ) -> ProducerTable:
        """The newest snapshot's table, with every batch behind it replayed.

        Lost transaction indexes are built again on the way, if necessary from an older snapshot.
        A header does not say when its batch was appended, so producers found there count as
        active now: they expire too late rather than too early.
        """
        lost = [segment for segment in segments if segment.aborted.is_lost]
        for segment in lost:
            segment.aborted.lose()
        table, upto = self._newest(lost[0].base_offset if lost else None, max_producers)
        for segment in segments:
            if segment.next_offset > upto:
                _replay(table, segment, upto, now_ms, committed_offset)
        for segment in lost:
            segment.aborted.is_lost = False
            segment.aborted.spill()
        return table

    def _newest(self, upto_offset: int | None, max_producers: int) -> tuple[ProducerTable, int]:
        """The table of the newest good snapshot and its offset; an empty one and 0 if none is."""
        for offset in reversed(self._offsets):
            if upto_offset is not None and offset > upto_offset:
                continue
            try:
                table = decode_producers(self._disk.read_file(self._path(offset)), max_producers)
            except OSError:
                continue
            if table is not None:
                return table, offset
        return ProducerTable(max_producers), 0

    def write(self, offset: int, table: ProducerTable) -> None:
        if self._offsets and self._offsets[-1] == offset:
            return
        try:
            self._disk.replace_file(self._path(offset), encode_producers(table))
        except OSError:
            return
        self._offsets.append(offset)

    def drop_below(self, offset: int) -> None:
        """The segments below are deleted. The newest snapshot stays: it has their producers."""
        while len(self._offsets) > 1 and self._offsets[0] < offset:
            try:
                self._disk.unlink(self._path(self._offsets[0]))
            except OSError:
                return
            del self._offsets[0]

    def take_out_but(self, offsets: Collection[int]) -> list[str]:
        """Keep only those at these offsets and the newest; returns the files to be removed.

        Compaction merges segments: without this, a log that once had a million segments would
        keep a million snapshots.
        """
        kept = [offset for offset in self._offsets[:-1] if offset in offsets] + self._offsets[-1:]
        gone = [self._path(offset) for offset in self._offsets if offset not in kept]
        self._offsets[:] = kept
        return gone

    def drop_above(self, offset: int) -> None:
        """The log is truncated: snapshots behind `offset` have batches that are cut off."""
        while self._offsets and self._offsets[-1] > offset:
            self._disk.unlink(self._path(self._offsets[-1]))
            self._offsets.pop()


def _replay(
    table: ProducerTable, segment: Segment, offset: int, now_ms: int, committed_offset: int
) -> None:
    """Add the batches from `offset` on to the table, and to a lost transaction index."""
    for position, header in segment.headers(segment.locate(offset)):
        if header.producer_id < 0:
            continue
        if not header.is_control:
            append_time = header.max_timestamp if header.is_log_append_time else -1
            table.update(header, header.base_offset, append_time, now_ms)
            continue
        marker = end_marker(segment.log.file().read(header.size, position))
        if marker is not None:
            aborted = table.end(header, marker, header.base_offset, now_ms, committed_offset)
            if aborted is not None and segment.aborted.is_lost:
                segment.aborted.add(aborted)
