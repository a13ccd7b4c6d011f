"""The four messages of SCRAM (RFC 5802).

    client-first   n,[a=authorization id],n=user,r=nonce[,extensions]
    server-first   r=nonce of both,s=salt,i=iterations
    client-final   c=channel binding,r=nonce of both,p=proof
    server-final   v=server signature, or e=error

Salt, channel binding, proof and signature are base64. With the extension `tokenauth=true`, which is
Kafka's, the user is the id of a delegation token. Extensions that are not known are ignored; a
mandatory one (`m=`) is refused. Leaves out channel binding with TLS, as Kafka does.
"""

import base64
import binascii
from typing import NamedTuple

from barnabas.security.sasl.exchange import SaslError

_MAX_NONCE = 1024
_MAX_FIRST = 8192
"""Bytes of a first message, which the connection of a stranger keeps for up to half a minute.
Names of users are far shorter."""
_TOKEN_AUTH = "tokenauth"  # noqa: S105 - its name


class ClientFirst(NamedTuple):
    header: str
    """The part that the client-final message repeats as its channel binding."""
    bare: str
    """The part that is signed."""
    user: str
    nonce: str
    is_token: bool = False
    """Whether the user is the id of a delegation token."""


class ServerFirst(NamedTuple):
    nonce: str
    salt: bytes
    iterations: int

    def __str__(self) -> str:
        return f"r={self.nonce},s={_to_base64(self.salt)},i={self.iterations}"


class ClientFinal(NamedTuple):
    without_proof: str
    channel_binding: str
    nonce: str
    proof: bytes


def client_first(user: str, nonce: str, *, is_token: bool = False) -> ClientFirst:
    saved = user.replace("=", "=3D").replace(",", "=2C")
    extension = f",{_TOKEN_AUTH}=true" if is_token else ""
    return ClientFirst("n,,", f"n={saved},r={nonce}{extension}", user, nonce, is_token)


def parse_client_first(message: bytes) -> ClientFirst:
    """Raises `SaslError`."""
    if len(message) > _MAX_FIRST:
        raise SaslError(f"the first SCRAM message has {len(message)} bytes")
    text = _text(message)
    parts = text.split(",", 2)
    if len(parts) < 3 or parts[0] not in ("n", "y"):
        raise SaslError("the first SCRAM message is malformed, or asks for channel binding")
    flag, authorization, bare = parts
    if authorization and not authorization.startswith("a="):
        raise SaslError("the first SCRAM message is malformed")
    fields = bare.split(",")
    if bare.startswith("m="):
        raise SaslError("a SCRAM extension is mandatory and not supported")
    if len(fields) < 2 or not fields[0].startswith("n=") or not fields[1].startswith("r="):
        raise SaslError("the first SCRAM message is malformed")
    user, nonce = _user(fields[0][2:]), fields[1][2:]
    if not user or not _is_nonce(nonce):
        raise SaslError("the first SCRAM message has no user or no nonce")
    if authorization and _user(authorization[2:]) not in ("", user):
        raise SaslError("the authorization id differs from the user")
    extensions = dict(each.partition("=")[::2] for each in fields[2:])
    is_token = extensions.get(_TOKEN_AUTH, "").lower() == "true"
    return ClientFirst(f"{flag},{authorization},", bare, user, nonce, is_token)


def parse_server_first(message: bytes) -> ServerFirst:
    """Raises `SaslError`."""
    fields = _fields(message, "rsi")
    if not fields["i"].isdecimal() or len(fields["i"]) > 9 or not fields["s"]:
        raise SaslError("the broker's first SCRAM message is malformed")
    return ServerFirst(fields["r"], _from_base64(fields["s"]), int(fields["i"]))


def client_final_without_proof(header: str, nonce: str) -> str:
    return f"c={_to_base64(header.encode())},r={nonce}"


def with_proof(without_proof: str, proof: bytes) -> bytes:
    return f"{without_proof},p={_to_base64(proof)}".encode()


def parse_client_final(message: bytes) -> ClientFinal:
    """Raises `SaslError`."""
    text = _text(message)
    without_proof, separator, proof = text.rpartition(",p=")
    fields = _fields(without_proof.encode(), "cr")
    if not separator:
        raise SaslError("the last SCRAM message has no proof")
    binding = _from_base64(fields["c"]).decode("latin-1")
    return ClientFinal(without_proof, binding, fields["r"], _from_base64(proof))


def server_final(signature: bytes) -> bytes:
    return f"v={_to_base64(signature)}".encode()


def parse_server_final(message: bytes) -> bytes:
    """The broker's signature. Raises `SaslError`."""
    text = _text(message)
    if text.startswith("e="):
        raise SaslError(f"the broker says: {text[2:200]}")
    return _from_base64(_fields(message, "v")["v"])


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError as error:
        raise SaslError("a SCRAM message is not UTF-8") from error


def _fields(message: bytes, expected: str) -> dict[str, str]:
    """The fields that a message begins with, in this order; more may follow."""
    parts = _text(message).split(",")
    found = {}
    for name, part in zip(expected, parts, strict=False):
        if not part.startswith(f"{name}="):
            break
        found[name] = part[2:]
    if len(found) < len(expected):
        raise SaslError("a SCRAM message is malformed")
    return found


def _user(escaped: str) -> str:
    user = escaped.replace("=2C", ",").replace("=3D", "\0")
    if "=" in user or "\0" in escaped:
        raise SaslError("the user of a SCRAM message is malformed")
    return user.replace("\0", "=")


def _is_nonce(text: str) -> bool:
    return 0 < len(text) <= _MAX_NONCE and all("!" <= each <= "~" and each != "," for each in text)


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise SaslError("a SCRAM message has malformed base64") from error
