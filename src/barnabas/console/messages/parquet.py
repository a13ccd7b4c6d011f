"""Records as a Parquet file, written piece by piece: a row group for each."""

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from barnabas.console.answers import ApiError
from barnabas.records.message import Message

COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")


class _Written:
    """What was written since it was last taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self.closed = False

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._size += len(part)
        return len(part)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def take(self) -> bytes:
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken


class ParquetFile:
    """`add` and `end` return the bytes that come next."""

    def __init__(self) -> None:
        """Raises `ApiError` without pyarrow."""
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise ApiError(
                HTTPStatus.NOT_IMPLEMENTED,
                "downloads as Parquet need pyarrow, which the console does not have",
                "pip install 'barnabas[arrow]' where the console runs, or download JSON lines.",
            ) from None
        header = pa.struct([("name", pa.string()), ("value", pa.binary())])
        types = (
            *(pa.string(), pa.int32(), pa.int64(), pa.timestamp("ms", tz="UTC")),
            *(pa.binary(), pa.binary(), pa.list_(header)),
        )
        self._schema = pa.schema(list(zip(COLUMNS, types, strict=True)))
        self._table: Callable[..., Any] = pa.Table.from_pylist
        self._written = _Written()
        self._writer = pq.ParquetWriter(self._written, self._schema, compression="zstd")

    def add(self, messages: Iterable[Message]) -> bytes:
        rows = [_row(each) for each in messages]
        if rows:
            self._writer.write_table(self._table(rows, schema=self._schema))
        return self._written.take()

    def end(self) -> bytes:
        self._writer.close()
        return self._written.take()


def _row(message: Message) -> dict[str, Any]:
    headers = [{"name": name, "value": value} for name, value in message.headers]
    values = (message.topic, message.partition, message.offset, message.timestamp_ms)
    return dict(zip(COLUMNS, (*values, message.key, message.value, headers), strict=True))
