"""A record for the page: JSON, text or hex, cut to a length. Nothing here is HTML."""

import json
from typing import Any

from barnabas.console.messages.ranges import Found
from barnabas.console.messages.view import View
from barnabas.console.schemas.decoding import Decoded
from barnabas.formats.registered.wire_format import schema_id

PREVIEW = 1_000
"""Characters of a key or value in a list."""
WHOLE = 200_000
"""Characters that a page shows of one record; more is a download."""
_HEADERS = 100


def show(found: Found, view: View, limit: int = PREVIEW) -> dict[str, Any]:
    """What the API says of a record."""
    message, of_key, of_value = view.decoded(found.message)
    return {
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp_ms,
        "key": _with_schema(content(message.key, limit), of_key, found.message.key),
        "value": _with_schema(content(message.value, limit), of_value, found.message.value),
        "headers": [
            {"name": name[:limit], "value": content(value, limit)}
            for name, value in message.headers[:_HEADERS]
        ],
        "header_count": len(message.headers),
        "transaction": found.transaction and found.transaction.value,
        "masked": view.masks.cover(found.message.topic),
    }


def content(data: bytes | None, limit: int) -> dict[str, Any]:
    """One key, value or value of a header."""
    if data is None:
        return {"kind": "null", "text": "", "size": 0, "truncated": False}
    kind, text = _text(data, limit)
    shown: dict[str, Any] = {
        "kind": kind,
        "text": text[:limit],
        "size": len(data),
        "truncated": len(text) > limit,
    }
    if kind == "binary" and (number := schema_id(data)) is not None:
        shown["schema_id"] = number
    if kind == "json" and limit >= WHOLE and not shown["truncated"]:
        shown["pretty"] = _pretty(data)[: 2 * limit]
    return shown


def _with_schema(
    shown: dict[str, Any], schema: Decoded | None, data: bytes | None
) -> dict[str, Any]:
    """What was decoded has the size that it has in the topic."""
    if schema is None:
        return shown
    problem = {} if schema.problem is None else {"problem": schema.problem}
    size = {"size": len(data or b"")} if schema.problem is None else {}
    return {**shown, **size, **problem, "schema_id": schema.schema_id, "schema": schema.kind}


def _text(data: bytes, limit: int) -> tuple[str, str]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "binary", data[: limit // 2 + 1].hex()
    if _controls(text[:limit]) > len(text[:limit]) // 4:
        return "binary", data[: limit // 2 + 1].hex()
    return ("json" if _is_json(text) else "text"), text


def _controls(text: str) -> int:
    return sum(each < " " and each not in "\t\r\n" for each in text)


def _is_json(text: str) -> bool:
    """Objects and arrays; a word or a number is shown as it is anyway."""
    if text.lstrip()[:1] not in ("{", "["):
        return False
    if len(text) > WHOLE:  # as far as can be seen
        return text.rstrip()[-1:] in ("}", "]")
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _pretty(data: bytes) -> str:
    """Indented by Python: whole numbers of any length stay as they are."""
    return json.dumps(json.loads(data), indent=2, ensure_ascii=False)
