"""A client's request as a node forwards it to the controller, with the client's principal: Kafka's
Envelope.

Most requests are judged by the node that the client is connected to, and forwarded as the node's
own. Some are decided by who asks; for these, the node vouches for the principal that has signed in
there. Only nodes may send an Envelope (`handlers/node_only_requests.py`): a client never says who
it is.

The envelope has the request as a frame without its length, header included; so has its answer. The
principal is a DefaultPrincipalData, behind its version. Nodes agree on the version of the envelope
only, so requests inside have versions that every release opens.
"""

import struct
from typing import Any, NamedTuple, TypeVar, cast

from barnabas.security.principal import Principal
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import (
    RequestHeader,
    decode_request,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.wire.messages.envelope import (
    DefaultPrincipalData,
    EnvelopeRequest,
    EnvelopeResponse,
)
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from barnabas.wire.primitives import Reader, WireError, Writer

ResponseT = TypeVar("ResponseT", bound=Response)

_LENGTH_BYTES = 4
_SEALED_VERSIONS: dict[type[Request[Any]], int] = {
    CreateDelegationTokenRequest: 3,
    RenewDelegationTokenRequest: 2,
    ExpireDelegationTokenRequest: 2,
}
_PRINCIPAL_VERSION = 0
_VERSION = struct.Struct(">h")


class Opened(NamedTuple):
    request: Request[Any]
    header: RequestHeader
    requester: Principal

    def answer(self, response: Response) -> EnvelopeResponse:
        frame = b"".join(
            encode_response(response, self.header.api_version, self.header.correlation_id)
        )
        return EnvelopeResponse(frame[_LENGTH_BYTES:])


def seal(request: Request[Any], requester: Principal, client_host: str) -> EnvelopeRequest:
    frame = b"".join(encode_request(request, _SEALED_VERSIONS[type(request)], 0, None))
    w = Writer()
    w.buffer += _VERSION.pack(_PRINCIPAL_VERSION)
    DefaultPrincipalData(requester.kind, requester.name).encode(w, _PRINCIPAL_VERSION)
    return EnvelopeRequest(frame[_LENGTH_BYTES:], w.getvalue(), client_host.encode())


def open_envelope(envelope: EnvelopeRequest, allowed: dict[int, type[Request[Any]]]) -> Opened:
    """The request, if it is one of the `allowed` APIs. Raises `WireError`."""
    r = Reader(envelope.request_data)
    header = decode_request_header(r)
    kind = allowed.get(header.api_key)
    if kind is None or not kind.MIN_VERSION <= header.api_version <= kind.MAX_VERSION:
        raise WireError(f"API {header.api_key} v{header.api_version} is not forwarded in envelopes")
    request = decode_request(r, kind, header.api_version)
    return Opened(request, header, _principal(envelope.request_principal))


def opened_answer(envelope: EnvelopeResponse, request: Request[ResponseT]) -> ResponseT | None:
    """The answer to the request; None if the node that was asked is not the controller. Raises
    `WireError`."""
    if envelope.error_code == ErrorCode.NOT_CONTROLLER:
        return None
    if envelope.error_code or envelope.response_data is None:
        raise WireError(f"an envelope was refused: error {envelope.error_code}")
    version = _SEALED_VERSIONS[type(request)]
    response = decode_response(envelope.response_data, request.RESPONSE, version)
    return cast("ResponseT", response)


def _principal(data: bytes | None) -> Principal:
    try:
        r = Reader(data or b"")
        (version,) = r.run(_VERSION)
        if version != _PRINCIPAL_VERSION:
            raise WireError(f"a principal of version {version}")
        found = DefaultPrincipalData.decode(r, version)
    except (struct.error, UnicodeDecodeError) as error:
        raise WireError(f"malformed principal: {error}") from error
    return Principal(found.type, found.name)
