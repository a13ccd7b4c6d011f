"""Clients can't forge lines of the log."""

import logging

import pytest

from barnabas.broker.net.sign_in.failures import FailedSignIns
from barnabas.broker.runtime.log_format import LogFormat

FORGED = "GSSAPI\n2026-01-01 INFO barnabas: all is well\x1b[2J\u2028"


def test_a_message_is_one_line() -> None:
    record = logging.LogRecord("n", logging.INFO, "f", 1, "from %s: é", (FORGED,), None)
    (line,) = LogFormat().format(record).splitlines()
    assert line.endswith(r"GSSAPI\n2026-01-01 INFO barnabas: all is well\x1b[2J\u2028: é")


def test_what_a_client_says_at_its_sign_in_is_quoted_and_cut(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures = FailedSignIns(lambda: 0.0)
    failures.say("h", "CLIENTS", FORGED, FORGED, "why")
    failures.say("h", "CLIENTS", "x" * 10_000, None, "why")
    failures.say("h", "CLIENTS", None, None, "why")
    forged, long, none = (record.getMessage() for record in caplog.records)
    assert len(forged.splitlines()) == 1
    assert len(long) < 300
    assert "(no mechanism on listener CLIENTS)" in none
