"""Frames: a four-byte length, a header, a message.

Request header v1:  api_key int16, api_version int16, correlation_id int32, client_id string
Request header v2:  the same, then tagged fields (client_id keeps its two-byte length)
Response header v0: correlation_id int32
Response header v1: correlation_id int32, tagged fields

A flexible message version goes with the newer header. ApiVersions is the exception: its response
always has header v0, because a client asks it before it knows what the broker speaks.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from barnabas.wire.message import Request, Response
from barnabas.wire.primitives import (
    DEFAULT_MAX_ELEMENTS,
    INT32,
    Buffer,
    Reader,
    WireError,
    Writer,
)

API_VERSIONS = 18

_FIXED_HEADER = struct.Struct(">hhi")

RequestT = TypeVar("RequestT", bound=Request[Response])
ResponseT = TypeVar("ResponseT", bound=Response)

OnErrors = Callable[[int, list[int]], None]


@dataclass(slots=True)
class RequestHeader:
    """Who asks what, in which version."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def decode_request_header(r: Reader) -> RequestHeader:
    """Read everything but the tagged fields, whose presence depends on the API's version."""
    try:
        api_key, api_version, correlation_id = r.run(_FIXED_HEADER)
        return RequestHeader(api_key, api_version, correlation_id, r.nullable_string())
    except (struct.error, UnicodeDecodeError) as error:
        raise WireError(f"malformed request header: {error}") from error


def decode_request(r: Reader, request_type: type[RequestT], version: int) -> RequestT:
    """Read the rest of a frame whose header has been read.

    Bytes after the message are passed over, as Kafka does: librdkafka asks for all topics with
    three of them (it leaves four bytes for the array's length where one is enough).
    """
    try:
        if version >= request_type.FLEXIBLE_FROM:
            r.skip_tags()
        return request_type.decode(r, version)
    except (struct.error, UnicodeDecodeError) as error:
        raise WireError(f"malformed {request_type.__name__} v{version}: {error}") from error


def encode_response(
    response: Response, version: int, correlation_id: int, on_errors: OnErrors | None = None
) -> list[Buffer]:
    """The whole frame as buffers; large records are in it by reference.

    If error codes are in it, `on_errors` gets the API's key and the codes.
    """
    w = Writer()
    w.buffer += b"\0\0\0\0"
    w.buffer += INT32.pack(correlation_id)
    if version >= response.FLEXIBLE_FROM and response.API_KEY != API_VERSIONS:
        w.buffer.append(0)
    response.encode(w, version)
    if w.errors and on_errors is not None:
        on_errors(response.API_KEY, w.errors)
    return _with_length(w)


def encode_request(
    request: Request[Response], version: int, correlation_id: int, client_id: str | None
) -> list[Buffer]:
    """The whole frame as buffers; large records are in it by reference."""
    w = Writer()
    w.buffer += b"\0\0\0\0"
    w.buffer += _FIXED_HEADER.pack(request.API_KEY, version, correlation_id)
    w.nullable_string(client_id)
    if version >= request.FLEXIBLE_FROM:
        w.buffer.append(0)
    request.encode(w, version)
    return _with_length(w)


def _with_length(w: Writer) -> list[Buffer]:
    chunks = w.chunks()
    first = chunks[0]
    assert isinstance(first, bytearray)
    INT32.pack_into(first, 0, w.size - 4)
    return chunks


def decode_response(
    frame: Buffer,
    response_type: type[ResponseT],
    version: int,
    max_elements: int = DEFAULT_MAX_ELEMENTS,
) -> ResponseT:
    """Read one frame, its length taken off; the caller has matched the correlation id."""
    r = Reader(frame, max_elements)
    try:
        r.position = 4
        if version >= response_type.FLEXIBLE_FROM and response_type.API_KEY != API_VERSIONS:
            r.skip_tags()
        response = response_type.decode(r, version)
    except (struct.error, UnicodeDecodeError) as error:
        raise WireError(f"malformed {response_type.__name__} v{version}: {error}") from error
    if r.position != r.end:
        raise WireError(f"{r.remaining} bytes follow {response_type.__name__} v{version}")
    return response


def correlation_id_of(frame: Buffer) -> int:
    """The correlation id at the start of a response frame, its length taken off."""
    if len(frame) < 4:
        raise WireError("a response is too short to carry a correlation id")
    return int(INT32.unpack_from(frame)[0])
