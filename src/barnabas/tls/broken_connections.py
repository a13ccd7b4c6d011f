"""What uvloop makes of a TLS connection that breaks while it answers the peer.

It reports a fatal error, with a traceback, when the transport below is closed already. The
connection has just ended, as any does whose peer is killed; its owner is told so, and says what it
means. All other reports are made as before.
"""

import logging
from asyncio import AbstractEventLoop
from typing import Any

_WHAT = "Fatal error on SSL protocol"
_CLOSED = "the handler is closed"
_log = logging.getLogger("barnabas.tls")


def take_broken_connections(loop: AbstractEventLoop) -> None:
    """Let the loop report no connection that has ended as an error."""
    loop.set_exception_handler(_report)


def _report(loop: AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    if (
        context.get("message") == _WHAT
        and isinstance(error, RuntimeError)
        and _CLOSED in str(error)
    ):
        _log.debug("a TLS connection broke while it was written to: %s", error)
        return
    loop.default_exception_handler(context)
