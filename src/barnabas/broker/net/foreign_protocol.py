"""Detects HTTP or TLS on a plain port, and what is not TLS on a TLS port, from the first bytes.

On a plain port a request has its length there, so those bytes read as an absurdly large length. The
log names the
protocol and what to do, at most once per client and interval: health checks and browsers retry
often.
"""

import logging

logger = logging.getLogger(__name__)

_AGAIN_S = 60.0
_MAX_HOSTS = 1000

_HTTP = tuple(
    method.ljust(4, b" ")[:4]
    for method in (
        *(b"GET", b"POST", b"PUT", b"HEAD", b"DELETE", b"OPTIONS", b"PATCH", b"CONNECT", b"TRACE"),
        b"PRI",  # HTTP/2
    )
)
_TLS = b"\x16\x03"
_SPEAKS_HTTP = "it speaks HTTP; this port speaks the Kafka protocol"
_SPEAKS_TLS = (
    "it speaks TLS, and this listener does not; use the port of a TLS listener, or "
    "security.protocol=PLAINTEXT in the client"
)
_NO_TLS = (
    "it does not speak TLS, which this listener needs; use security.protocol=SSL or SASL_SSL in "
    "the client"
)


def foreign_protocol(size: int) -> str | None:
    """The protocol of a client whose request begins with `size` as its length; None if unknown."""
    first = (size & 0xFFFFFFFF).to_bytes(4)
    if first in _HTTP:
        return _SPEAKS_HTTP
    return _SPEAKS_TLS if first.startswith(_TLS) else None


def not_tls(first: bytes) -> str | None:
    """What is wrong with a client of a TLS listener whose first bytes are these; None: nothing."""
    if _TLS.startswith(first[:2]):
        return None
    return _SPEAKS_HTTP if first in _HTTP else _NO_TLS


class ForeignClients:
    """Which clients were logged, and when."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str], float] = {}

    def say(self, host: str, what: str, now: float) -> None:
        said = self._said.get((host, what))
        if said is not None and now - said < _AGAIN_S:
            return
        if len(self._said) >= _MAX_HOSTS:
            self._said.clear()
        self._said[host, what] = now
        logger.warning("connection from %s closed: %s", host, what)
