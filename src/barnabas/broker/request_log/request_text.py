"""What a request asks for, and which errors its answer has, as text for the log.

Bytes are shown by their length: they are records, or secrets. Values of settings may be passwords,
and are not shown either.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import decode_request, decode_request_header, decode_response
from barnabas.wire.message import Request, Struct
from barnabas.wire.messages import alter_configs, incremental_alter_configs
from barnabas.wire.primitives import Buffer, Reader, WireError

_MAX_CHARACTERS = 2_000
_MAX_ITEMS = 20
_MAX_ANSWER_BYTES = 64 * 1024
"""A larger answer is not searched for errors: it carries records, or thousands of topics."""
_SETTINGS = (alter_configs.AlterableConfig, incremental_alter_configs.AlterableConfig)


def request_text(frame: memoryview, kind: type[Request[Any]]) -> str:
    """The fields of a request, cut if they are many."""
    r = Reader(frame)
    try:
        header = decode_request_header(r)
        if not kind.MIN_VERSION <= header.api_version <= kind.MAX_VERSION:
            return "(unknown version)"
        text = _shown(decode_request(r, kind, header.api_version))
    except WireError as error:
        return f"({error})"
    return text if len(text) <= _MAX_CHARACTERS else text[:_MAX_CHARACTERS] + "..."


def _shown(value: Any) -> str:
    if isinstance(value, Struct):
        fields = (
            f"{name}={_field(value, name)}"
            for name in value.__slots__
            if getattr(value, name) is not None
        )
        return f"({', '.join(fields)})"
    if isinstance(value, list):
        more = [f"{len(value) - _MAX_ITEMS} more"] if len(value) > _MAX_ITEMS else []
        return f"[{', '.join([*map(_shown, value[:_MAX_ITEMS]), *more])}]"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    return repr(value)


def _field(struct: Struct, name: str) -> str:
    if name == "value" and isinstance(struct, _SETTINGS):
        return "..."
    return _shown(getattr(struct, name))


def answer_errors(answer: list[Buffer], kind: type[Request[Any]], version: int) -> str:
    """The errors of an answer and how often each is in it; empty if there are none."""
    frame = b"".join(answer)
    if len(frame) > _MAX_ANSWER_BYTES:
        return ""
    try:
        response = decode_response(frame[4:], kind.RESPONSE, version)
    except WireError:
        return ""  # ApiVersions answers an unknown version in another one
    counts = Counter(_errors(response))
    return ", ".join(f"{_error_name(code)} x {count}" for code, count in counts.items())


def _errors(value: Any) -> Iterator[int]:
    if isinstance(value, Struct):
        for name in value.__slots__:
            field = getattr(value, name)
            if name == "error_code":
                if field:
                    yield field
            elif isinstance(field, list | Struct):
                yield from _errors(field)
    elif isinstance(value, list):
        for each in value:
            yield from _errors(each)


def _error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)
