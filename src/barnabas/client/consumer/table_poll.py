"""Reading tables: fetched batches become columns without being Python's objects in between.

It takes what a consumer would hand out as messages, from the same fetches, and moves the same
progress: what was aborted and what is not the application's business is left out, a table counts as
handed out when it is returned, and one may go on with messages behind it. Batches are opened in the
application's thread, most of it with others running.
"""

from collections.abc import Collection

import pyarrow as pa

from barnabas.client.consumer.completed_fetch import CompletedFetchReader, damaged
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.records.columns import schema
from barnabas.records.columns.decoder import ColumnDecoder
from barnabas.records.errors import RecordsError

_ENOUGH_BYTES = 8 * 1024 * 1024  # as they came, in one table


class TablePoll:
    """One table in the making. Formats do not apply; `columns` says which are wanted."""

    def __init__(self, delivery_queue: DeliveryQueue, columns: Collection[str] | None) -> None:
        if delivery_queue.tracks:
            raise InvalidArgument(
                'commit="done" is for single messages: read tables with "auto" or "manual"'
            )
        if isinstance(columns, str):
            columns = [columns]
        try:
            self._decoder = ColumnDecoder(schema.COLUMNS if columns is None else columns)
        except ValueError as error:
            raise InvalidArgument(str(error)) from error
        self._delivery_queue = delivery_queue
        self._bytes = 0

    @property
    def rows(self) -> int:
        """Records that are in it so far."""
        return self._decoder.rows

    def take(self) -> None:
        """Add whatever is there."""
        delivery_queue = self._delivery_queue
        delivery_queue.close_again()
        try:
            while not delivery_queue.interrupted and self._bytes < _ENOUGH_BYTES:
                reader = delivery_queue.next_reader()
                if reader is None:
                    break
                self._bytes += self._read(reader)
        except BarnabasError:
            if not self.rows:
                raise  # and it comes again when the others were taken

    def finish(self) -> pa.Table:
        """The table."""
        return self._decoder.finish()

    def _read(self, reader: CompletedFetchReader) -> int:
        """Add the next batch; returns its size."""
        topic, partition = reader.completed.state.partition
        before = reader.position
        try:
            found = reader.read_batch()
            if found is None:
                self._delivery_queue.leave(reader)
                return 0
            start, batch = found
            added = self._decoder.append(topic, partition, batch, start_offset=start)
        except RecordsError as error:
            reader.go_back_to(before)
            raise damaged(reader.completed, before, error) from error
        if added:
            self._delivery_queue.records += added
            self._delivery_queue.deliver_batch(reader)
        return len(batch)
