"""A TLS connection that ends is no error of the program; other reports are."""

import asyncio
import logging

import pytest

from barnabas.tls.broken_connections import take_broken_connections

BROKEN = RuntimeError("unable to perform operation on <TCPTransport>; the handler is closed")


@pytest.mark.parametrize(
    ("message", "error", "is_reported"),
    [
        ("Fatal error on SSL protocol", BROKEN, False),
        ("Fatal error on SSL protocol", RuntimeError("a bug"), True),
        ("Fatal error on SSL protocol", OSError("the handler is closed"), True),
        ("Task exception was never retrieved", BROKEN, True),
    ],
)
def test_reports(
    message: str, error: Exception, is_reported: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def report() -> None:
        loop = asyncio.get_running_loop()
        take_broken_connections(loop)
        loop.call_exception_handler({"message": message, "exception": error})

    with caplog.at_level(logging.ERROR):
        asyncio.run(report())
    assert (message in caplog.text) is is_reported
