"""Clients can't forge lines of the log, and a message as JSON says everything about it."""

import json
import logging
import sys

import pytest

from barnabas.broker.logs.json_format import JsonFormat
from barnabas.broker.net.sign_in.failures import FailedSignIns
from barnabas.text_format import TextFormat

FORGED = "GSSAPI\n2026-01-01 INFO barnabas: all is well\x1b[2J\u2028"


def test_a_message_is_one_line() -> None:
    record = logging.LogRecord("n", logging.INFO, "f", 1, "from %s: é", (FORGED,), None)
    (line,) = TextFormat().format(record).splitlines()
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


def test_json_is_one_object_in_one_line() -> None:
    try:
        raise ValueError(FORGED)
    except ValueError:
        error = sys.exc_info()
    record = logging.LogRecord("n", logging.WARNING, "f", 1, "from %s: é", (FORGED,), error)
    record.created = 1_700_000_000.25
    record.request = {"totalTimeMs": 1.5}
    (line,) = JsonFormat(node_id=3).format(record).splitlines()
    told = json.loads(line)
    assert "ValueError: GSSAPI" in told.pop("exception")
    assert told == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "WARN",
        "logger": "n",
        "node": 3,
        "message": f"from {FORGED}: é",
        "request": {"totalTimeMs": 1.5},
    }


def test_a_plain_message_has_no_exception() -> None:
    record = logging.LogRecord("n", logging.INFO, "f", 1, "well", (), None)
    assert json.loads(JsonFormat(node_id=1).format(record)).keys() == {
        *("time", "level", "logger", "node", "message")
    }
