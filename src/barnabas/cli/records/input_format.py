"""What `barnabas produce` reads: lines of text, or the JSON that `barnabas consume --json` prints.

A JSON line is an object with these fields; `topic` and `offset` are ignored:

    value      text, null, or any JSON value, which is sent as JSON text; required
    key        the same; null if it is missing
    headers    [[name, text or null or {"base64": text}], ...]
    timestamp  ms since 1970; now if it is missing
    partition  used with --keep-partitions only

With a schema the value is any JSON value, and is written as the schema says.
`value_base64` and `key_base64` replace `value` and `key` for bytes that are not UTF-8.
"""

import json
import os
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from barnabas.records.record import Headers

_FIELDS = (
    *("topic", "partition", "offset", "timestamp"),
    *("key", "key_base64", "value", "value_base64", "headers"),
)
_KINDS = {list: "a list", str: "text", int: "a number", float: "a number", bool: "a boolean"}


class InputRecord(NamedTuple):
    """A record to send. Without a partition the producer chooses one, without a time it is now."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


Parse = Callable[[bytes], InputRecord]
Write = Callable[[Any], bytes]
"""What JSON says, to data with the id of a schema. Raises `LineError`."""


class LineError(ValueError):
    """A line that is not what the options say."""


def headers_of(pairs: Mapping[str, str]) -> Headers:
    """Headers from the command line, whose bytes are kept as they were given."""
    return [(name, os.fsencode(text)) for name, text in pairs.items()]


def text_parser(
    key: str | None,
    key_separator: str | None,
    null_marker: str | None,
    headers: Headers,
    partition: int | None,
    write: Write | None = None,
) -> Parse:
    """The function that makes a record of a line of text."""
    null = None if null_marker is None else os.fsencode(null_marker)
    fixed = None if key is None else os.fsencode(key)

    def value_of(text: bytes) -> bytes | None:
        if text == null:
            return None
        return text if write is None else write(_json(text))

    def plain(line: bytes) -> InputRecord:
        return InputRecord(value_of(line), fixed, headers, partition)

    if key_separator is None:
        return plain
    separator = os.fsencode(key_separator)

    def separated(line: bytes) -> InputRecord:
        before, found, after = line.partition(separator)
        if not found:
            raise LineError(f"no key separator {key_separator!r} in it")
        name = None if before == null else before
        return InputRecord(value_of(after), name, headers, partition)

    return separated


def json_parser(
    more_headers: Headers,
    *,
    partition: int | None,
    keep_partitions: bool,
    write: Write | None = None,
) -> Parse:
    """The function that makes a record of a line of JSON."""

    def parse(line: bytes) -> InputRecord:
        fields = _object(line)
        if "value" not in fields and "value_base64" not in fields:
            raise LineError('no value in it; write "value": null for a tombstone')
        return InputRecord(
            _data(fields, "value", write),
            _data(fields, "key"),
            [*_headers(fields.get("headers", [])), *more_headers],
            _number(fields, "partition") if keep_partitions else partition,
            _number(fields, "timestamp"),
        )

    return parse


def _json(line: bytes) -> Any:
    try:
        return json.loads(line)
    except RecursionError:
        raise LineError("JSON that is nested too deeply") from None
    except ValueError as error:
        raise LineError(f"not JSON: {error}") from None


def _object(line: bytes) -> dict[str, Any]:
    found = _json(line)
    if not isinstance(found, dict):
        raise LineError(f"{_KINDS.get(type(found), 'null')}, not an object with a value")
    unknown = [name for name in found if name not in _FIELDS]
    if unknown:
        raise LineError(f"unknown field {unknown[0]!r}; use {', '.join(_FIELDS)}")
    return found


def _data(fields: Mapping[str, Any], name: str, write: Write | None = None) -> bytes | None:
    encoded = f"{name}_base64"
    if encoded in fields:
        if name in fields:
            raise LineError(f"both {name} and {encoded} are given; use one of them")
        return _decoded(fields[encoded], encoded)
    found = fields.get(name)
    if found is None:
        return None
    if write is not None:
        return write(found)
    text = found if isinstance(found, str) else _as_json(found)
    return _encoded(text, name)


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _encoded(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise LineError(f"{name}: {error.reason}; send other bytes as base64") from None


def _decoded(text: object, name: str) -> bytes:
    try:
        if isinstance(text, str):
            return b64decode(text, validate=True)
    except ValueError:
        pass
    raise LineError(f"{name}: {text!r} is not base64")


def _number(fields: Mapping[str, Any], name: str) -> int | None:
    found = fields.get(name)
    if found is None or found == -1:  # an old record without a timestamp
        return None
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise LineError(f"{name}: {found!r} is not a number from 0")
    return found


def _headers(found: object) -> Headers:
    hint = 'headers: write [["name", "text"], ["name", {"base64": "..."}]]'
    if not isinstance(found, list):
        raise LineError(hint)
    headers: list[tuple[str, bytes | None]] = []
    for each in found:
        match each:
            case [str(name), None]:
                headers.append((name, None))
            case [str(name), str(text)]:
                headers.append((name, _encoded(text, f"header {name}")))
            case [str(name), {"base64": text}]:
                headers.append((name, _decoded(text, f"header {name}")))
            case _:
                raise LineError(hint)
    return headers
