"""Reading what lies between two offsets of each partition, once, as Arrow tables."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.consumer.range_reader import (
    FetchedRange,
    RangeReader,
    RecordRange,
    damage_named,
)
from barnabas.records.columns.decoder import ColumnDecoder
from barnabas.records.columns.schema import OFFSET

TABLE_ROWS = 32_768
TABLE_BYTES = 2 * 1024 * 1024
"""A table is handed out when it has so many rows, or was made from so many bytes as stored."""


class RangeTables(RangeReader):
    """Reads ranges to their ends, as tables of these columns; options are those of `RangeReader`.

    A reader asks for the next round before it decodes the last one: the network works meanwhile.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        ranges: Iterable[RecordRange],
        columns: Collection[str],
        **options: Any,
    ) -> None:
        super().__init__(cluster, ranges, **options)
        self._columns = list(columns)
        self._decoder = ColumnDecoder(self._columns)
        self._bytes = 0

    def tables(self, fetched: Iterable[FetchedRange]) -> Iterator[pa.Table]:
        """What is there of a round; small rests wait for the next round, or for `rest`."""
        for each in fetched:
            topic, partition = each.range.partition
            with damage_named(each):
                for header, batch in self.visible(each):
                    if header.next_offset > each.range.end:
                        yield from self.rest()
                        yield self._up_to(each.range, batch, each.start)
                        break
                    self._decoder.append(topic, partition, batch, start_offset=each.start)
                    self._bytes += len(batch)
                    if self._decoder.rows >= TABLE_ROWS or self._bytes >= TABLE_BYTES:
                        yield from self.rest()

    def rest(self) -> Iterator[pa.Table]:
        """What was decoded and not handed out yet."""
        self._bytes = 0
        if self._decoder.rows:
            yield self._decoder.finish()

    def _up_to(self, wanted: RecordRange, batch: memoryview, start: int) -> pa.Table:
        """Of a batch that goes on behind the range, only what is in it."""
        decoder = ColumnDecoder(dict.fromkeys((*self._columns, OFFSET)))
        decoder.append(*wanted.partition, batch, start_offset=start)
        table = decoder.finish()
        rows = pc.sum(pc.less(table.column(OFFSET), wanted.end)).as_py() or 0
        return table.slice(0, rows).select(self._columns)
