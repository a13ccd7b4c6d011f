"""A record as a line of JSON, as `barnabas consume --json` prints it and `produce --json` reads."""

import json
from base64 import b64encode
from typing import Any

from barnabas.records.message import Message


def json_line(message: Message) -> bytes:
    """Bytes that are not UTF-8 are base64."""
    line = {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp_ms,
        **_field("key", message.key),
        **_field("value", message.value),
        "headers": [[name, _header(value)] for name, value in message.headers],
    }
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _field(name: str, data: bytes | None) -> dict[str, str | None]:
    try:
        return {name: None if data is None else data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": b64encode(data or b"").decode()}


def _header(data: bytes | None) -> Any:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data or b"").decode()}
