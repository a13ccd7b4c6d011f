"""The `.snapshot` files of a partition's producer table, by the offset they were taken at."""

from barnabas.log.producers import SNAPSHOT_SUFFIX, ProducerTable
from barnabas.log.segment import segment_path
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

    def newest(self) -> tuple[ProducerTable, int]:
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
