"""The `.snapshot` files of a partition's producer table, by the offset they were taken at."""

from collections.abc import Iterable

from barnabas.log.producers import SNAPSHOT_SUFFIX, ProducerTable
from barnabas.log.segment import Segment, segment_path
from barnabas.log.storage import Disk


class Snapshots:
    """Files that spare a replay. Each may be missing or damaged: the batches' headers tell it too,
    as long as they are not deleted."""

    __slots__ = ("_directory", "_disk", "_offsets")

    def __init__(self, disk: Disk, directory: str, offsets: list[int]) -> None:
        self._disk = disk
        self._directory = directory
        self._offsets = offsets

    def _path(self, offset: int) -> str:
        return segment_path(self._directory, offset, SNAPSHOT_SUFFIX)

    def load(self, segments: Iterable[Segment], now_ms: int) -> ProducerTable:
        """The newest snapshot's table, with every batch behind it replayed.

        A header does not say when its batch was appended, so producers found there count as active
        now: they are remembered rather too long than too short.
        """
        table, upto = self._newest()
        for segment in segments:
            if segment.next_offset <= upto:
                continue
            for _, header in segment.headers(segment.locate(upto)):
                if header.producer_id >= 0:
                    append_time = header.max_timestamp if header.is_log_append_time else -1
                    table.update(header, header.base_offset, append_time, now_ms)
        return table

    def _newest(self) -> tuple[ProducerTable, int]:
        """The table of the newest good snapshot and its offset; an empty one and 0 if none is."""
        for offset in reversed(self._offsets):
            try:
                table = ProducerTable.from_snapshot(self._disk.read_file(self._path(offset)))
            except OSError:
                continue
            if table is not None:
                return table, offset
        return ProducerTable(), 0

    def write(self, offset: int, table: ProducerTable) -> None:
        if self._offsets and self._offsets[-1] == offset:
            return
        try:
            self._disk.replace_file(self._path(offset), table.snapshot())
        except OSError:
            return
        self._offsets.append(offset)

    def drop_below(self, offset: int) -> None:
        """The segments below are deleted. The newest snapshot stays: it knows their producers."""
        while len(self._offsets) > 1 and self._offsets[0] < offset:
            try:
                self._disk.unlink(self._path(self._offsets[0]))
            except OSError:
                return
            del self._offsets[0]

    def drop_above(self, offset: int) -> None:
        """The log was cut there: later snapshots know of batches that are no more."""
        while self._offsets and self._offsets[-1] > offset:
            self._disk.unlink(self._path(self._offsets[-1]))
            self._offsets.pop()
