"""How `barnabas consume` shows a record: compiled once, then run for each record.

Templates know kcat's tokens and named fields, which may be mixed:

    %t {topic}   %p {partition}   %o {offset}   %T {timestamp}  ms since 1970   {time}  ISO 8601
    %k {key}     %v %s {value}    %h {headers}
    %K {key_size}   %S {value_size}             in bytes, -1 for null
    %% {{ }}     a percent sign, braces         \\n \\t \\r \\0 \\\\ \\xNN
"""

import json
import os
import re
from base64 import b64encode
from collections.abc import Callable, Sequence

from barnabas.cli.base.command import UsageError
from barnabas.cli.base.times import format_time
from barnabas.cli.records.deserializers import (
    Deserializer,
    JsonValue,
    Texts,
    decoder,
    no_texts,
    renderer,
)
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.records.record import Headers, Record

Renderer = Callable[[TopicPartition, Record], bytes]

_TOKENS = {
    "t": "topic",
    "p": "partition",
    "o": "offset",
    "T": "timestamp",
    "k": "key",
    "v": "value",
    "s": "value",
    "h": "headers",
    "K": "key_size",
    "S": "value_size",
}
_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
_PIECE = re.compile(
    r"%(?P<token>.)|\{(?P<field>\w+)\}|(?P<brace>\{\{|\}\})"
    r"|\\x(?P<byte>[0-9a-fA-F]{2})|\\(?P<escape>.)",
    re.DOTALL,
)
_CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"
}


def compile_json(key: Deserializer, value: Deserializer, texts: Texts = no_texts) -> Renderer:
    """One JSON object a line, as `input_format` reads it. Bytes that are not UTF-8 are base64."""
    key_of, value_of = _json_field("key", key, texts), _json_field("value", value, texts)

    def render(partition: TopicPartition, record: Record) -> bytes:
        shown = {
            "topic": partition.topic,
            "partition": partition.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            **key_of(record.key),
            **value_of(record.value),
            "headers": [[name, _json_header(data)] for name, data in record.headers],
        }
        return json.dumps(shown, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"

    return render


def _json_field(
    name: str, deserializer: Deserializer, texts: Texts
) -> Callable[[bytes | None], dict[str, JsonValue]]:
    decode = decoder(deserializer, texts)
    is_text = deserializer in (Deserializer.STRING, Deserializer.RAW)

    def field(data: bytes | None) -> dict[str, JsonValue]:
        if data is None:
            return {name: None}
        try:
            return {name: data.decode() if is_text else decode(data)}
        except UnicodeDecodeError:
            return {f"{name}_base64": b64encode(data).decode()}

    return field


def _json_header(data: bytes | None) -> JsonValue:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data or b"").decode()}


def compile_fields(
    fields: Sequence[str],
    key: Deserializer,
    value: Deserializer,
    null_marker: bytes,
    texts: Texts = no_texts,
) -> Renderer:
    """The named fields, separated by tabs."""
    known = _renderers(key, value, null_marker, texts)
    unknown = [field for field in fields if field not in known]
    if unknown or not fields:
        raise UsageError(f"--print: unknown field {unknown[0]!r}; use {', '.join(known)}")
    chosen = [known[field] for field in fields]
    if len(chosen) == 1:
        only = chosen[0]
        return lambda partition, record: only(partition, record) + b"\n"
    return lambda partition, record: (
        b"\t".join([render(partition, record) for render in chosen]) + b"\n"
    )


def compile_template(
    template: str,
    key: Deserializer,
    value: Deserializer,
    null_marker: bytes,
    texts: Texts = no_texts,
) -> Renderer:
    """A template; a line end is added unless it has one at its end."""
    known = _renderers(key, value, null_marker, texts)
    pieces: list[bytes | Renderer] = []
    at = 0
    for match in _PIECE.finditer(template):
        pieces.append(os.fsencode(template[at : match.start()]))
        pieces.append(_piece(match, known))
        at = match.end()
    pieces.append(os.fsencode(template[at:]))
    last = next((piece for piece in reversed(pieces) if piece != b""), b"")
    if not (isinstance(last, bytes) and last.endswith(b"\n")):
        pieces.append(b"\n")
    return lambda partition, record: b"".join(
        [piece if isinstance(piece, bytes) else piece(partition, record) for piece in pieces]
    )


def escape_controls(line: bytes) -> bytes:
    """Text that cannot move the cursor of the terminal it is shown on, or worse."""
    text = line.decode(errors="backslashreplace")
    return text.translate(_CONTROLS).encode()


def _piece(match: re.Match[str], known: dict[str, Renderer]) -> bytes | Renderer:
    if match["brace"]:
        return match["brace"][:1].encode()
    if match["byte"]:
        return bytes.fromhex(match["byte"])
    if match["escape"]:
        if match["escape"] not in _ESCAPES:
            raise UsageError(f"--format: unknown escape {match[0]!r}; use \\n \\t \\r \\0 \\xNN")
        return _ESCAPES[match["escape"]]
    if match["token"] == "%":  # noqa: S105 - a percent sign
        return b"%"
    name = _TOKENS.get(match["token"]) if match["token"] else match["field"]
    if name is None or name not in known:
        tokens = " ".join(f"%{token}" for token in _TOKENS)
        fields = " ".join(f"{{{field}}}" for field in known)
        raise UsageError(f"--format: unknown field {match[0]!r}; use {tokens} {fields}")
    return known[name]


def _renderers(
    key: Deserializer, value: Deserializer, null_marker: bytes, texts: Texts
) -> dict[str, Renderer]:
    key_of, value_of = renderer(key, texts), renderer(value, texts)
    return {
        "topic": lambda partition, _: partition.topic.encode(),
        "partition": lambda partition, _: b"%d" % partition.partition,
        "offset": lambda _, record: b"%d" % record.offset,
        "timestamp": lambda _, record: b"%d" % record.timestamp,
        "time": lambda _, record: format_time(record.timestamp).encode(),
        "key": lambda _, record: null_marker if record.key is None else key_of(record.key),
        "value": lambda _, record: null_marker if record.value is None else value_of(record.value),
        "headers": lambda _, record: _headers(record.headers, null_marker),
        "key_size": lambda _, record: b"%d" % (-1 if record.key is None else len(record.key)),
        "value_size": lambda _, record: b"%d" % (-1 if record.value is None else len(record.value)),
    }


def _headers(headers: Headers, null_marker: bytes) -> bytes:
    return b",".join(
        name.encode() + b"=" + (null_marker if data is None else data) for name, data in headers
    )
