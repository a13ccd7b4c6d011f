"""What a caller gives as a record, made into what an encoder takes, or refused at once."""

from collections.abc import Iterable, Mapping
from operator import index

from barnabas.errors import InvalidArgument, RecordTooLarge
from barnabas.records.encode import max_record_size
from barnabas.records.record import Header, Headers, Row

_MAX_TIMESTAMP_MS = (1 << 63) - 1
_REQUEST_OVERHEAD_BYTES = 64 * 1024  # more than a request has around one record


def row_of(timestamp_ms: int, key: object, value: object, headers: Iterable[object]) -> Row:
    """A record of the usual types; TypeError or `InvalidArgument` if it is none."""
    timestamp_ms = index(timestamp_ms)
    if not 0 <= timestamp_ms <= _MAX_TIMESTAMP_MS:
        raise InvalidArgument(f"timestamp {timestamp_ms} is not a time in milliseconds")
    return timestamp_ms, _bytes_of(key, "key"), _bytes_of(value, "value"), _headers_of(headers)


def size_of(row: Row, max_request_bytes: int) -> int:
    """The most bytes a record can take; `RecordTooLarge` if no broker would read it."""
    size = max_record_size(row[1], row[2], row[3])
    check_request_size(size, max_request_bytes)
    return size


def check_request_size(size: int, max_request_bytes: int) -> None:
    """Raise `RecordTooLarge` if no broker would read a record of this size."""
    if size > max_request_bytes - _REQUEST_OVERHEAD_BYTES:
        raise RecordTooLarge(
            f"a record of {size} bytes makes a larger request than the {max_request_bytes} bytes "
            "that a broker reads (socket.request.max.bytes; one record is bounded by "
            "max.message.bytes as well)"
        )


def _bytes_of(data: object, name: str) -> bytes | None:
    if data is None or type(data) is bytes:
        return data
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise TypeError(
        f"a {name} is bytes or None, not {type(data).__name__}: encode it, or give the producer a "
        f'{name}_format such as "str" or "json"'
    )


def _headers_of(headers: Iterable[object]) -> Headers:
    if not headers:
        return ()
    if isinstance(headers, Mapping):
        raise TypeError("headers are a list of pairs, not a dict: give list(headers.items())")
    if isinstance(headers, str | bytes) or not isinstance(headers, Iterable):
        raise TypeError(f"headers are a list of pairs, not {type(headers).__name__}")
    return tuple(_header_of(header) for header in headers)


def _header_of(header: object) -> Header:
    if not isinstance(header, tuple | list) or len(header) != 2:
        raise TypeError(f"a header is a pair of a str and bytes or None, not {header!r}")
    key, value = header
    if not isinstance(key, str):
        raise TypeError(f"a header's key is a str, not {type(key).__name__}")
    try:
        key.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"a header's key is not valid text: {error}") from error
    if value is not None and not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"a header's value is bytes or None, not {type(value).__name__}")
    return str(key), None if value is None else bytes(value)
