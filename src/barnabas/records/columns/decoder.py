"""Batches to a table.

Each batch's records are appended to the buffers of the wanted columns: by the compiled kernel if
there is one, else by numpy and Arrow. What is the same for all records of a batch, such as its
topic, is kept as runs and laid out at the end.
"""

from collections.abc import Collection
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from barnabas.records.batch import BatchHeader, Buffer
from barnabas.records.columns import schema
from barnabas.records.columns.kernel_sink import KernelSink
from barnabas.records.columns.numpy_sink import NumpySink
from barnabas.records.decode import DEFAULT_MAX_DECOMPRESSED_BYTES, open_batch
from barnabas.records.kernel import kernel

# Columns have 32-bit offsets: well below that, a table gets its next chunk.
_CHUNK_BYTES = 1 << 30


class ColumnSink(Protocol):
    """Collects the columns whose values differ from record to record."""

    def append(self, header: BatchHeader, payload: Buffer, start_offset: int) -> int:
        """Add the records from `start_offset` on and return how many they are.

        Raises `CorruptBatch`, and then has added nothing.
        """
        ...

    def finish(self) -> dict[str, pa.Array]:
        """Everything added; the sink can't be used after that."""
        ...


class _Run(NamedTuple):
    """Consecutive rows of one origin, up to but not including `end`."""

    topic: str
    partition: int
    timestamp_type: int
    end: int


class ColumnDecoder:
    """Gathers batches of any partitions into one table that has only the wanted columns.

    Batches are taken as they are: leaving out control batches, and those of aborted transactions,
    is up to the caller. `limit` bounds the decompressed size of each. Not for two threads at once.
    """

    def __init__(
        self,
        columns: Collection[str] = schema.COLUMNS,
        *,
        limit: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    ) -> None:
        unknown = set(columns) - set(schema.COLUMNS)
        if unknown:
            raise ValueError(
                f"no such column: {', '.join(sorted(unknown))}; "
                f"there are {', '.join(schema.COLUMNS)}"
            )
        self._schema = pa.schema([schema.SCHEMA.field(name) for name in columns])
        self._limit = limit
        self._chunks: list[pa.RecordBatch] = []
        self.rows = 0
        """Records that were added since the last `finish`."""
        self._start_chunk()

    def append(self, topic: str, partition: int, batch: Buffer, *, start_offset: int = 0) -> int:
        """Add the records of one whole batch from `start_offset` on; returns how many they are.

        Raises `CorruptBatch` or `DecompressionBomb`, and then has added nothing.
        """
        header, payload = open_batch(batch, limit=self._limit)
        if self._bytes and self._bytes + len(payload) > _CHUNK_BYTES:
            self._end_chunk()
        added = self._sink.append(header, payload, start_offset)
        if added:
            self._bytes += len(payload)
            self._extend_runs(topic, partition, int(header.is_log_append_time), added)
            self.rows += added
        return added

    def finish(self) -> pa.Table:
        """The table of everything added; the decoder then starts again."""
        self._end_chunk()
        chunks, self._chunks = self._chunks, []
        self.rows = 0
        return pa.Table.from_batches(chunks, schema=self._schema)

    def _start_chunk(self) -> None:
        names = self._schema.names
        self._sink: ColumnSink = NumpySink(names) if kernel is None else KernelSink(kernel, names)
        self._runs: list[_Run] = []
        self._bytes = 0

    def _extend_runs(self, topic: str, partition: int, timestamp_type: int, added: int) -> None:
        end = added
        if self._runs:
            last = self._runs[-1]
            end += last.end
            if last[:3] == (topic, partition, timestamp_type):
                self._runs.pop()
        self._runs.append(_Run(topic, partition, timestamp_type, end))

    def _end_chunk(self) -> None:
        if self._runs:
            arrays = self._sink.finish()
            lengths = np.diff([0, *(run.end for run in self._runs)])
            for name, of_runs in (
                (schema.TOPIC, [run.topic for run in self._runs]),
                (schema.PARTITION, [run.partition for run in self._runs]),
                (schema.TIMESTAMP_TYPE, [run.timestamp_type for run in self._runs]),
            ):
                if name in self._schema.names:
                    arrays[name] = _repeat(of_runs, lengths, self._schema.field(name).type)
            columns = [arrays[name] for name in self._schema.names]
            self._chunks.append(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._start_chunk()


def _repeat(values: list[Any], lengths: npt.NDArray[np.int64], type_: pa.DataType) -> pa.Array:
    """Each value as often as its length says."""
    if len(set(values)) == 1:
        return pa.repeat(pa.scalar(values[0], type_), int(lengths.sum()))
    return pa.array(values, type_).take(pa.array(np.repeat(np.arange(len(values)), lengths)))
