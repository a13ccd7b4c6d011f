"""A client that waits says for what: not at once, not all the time."""

import pytest

from barnabas.client.connect.retry_log import RetryLog
from barnabas.errors import ConnectionLost


def test_what_lasts_is_mentioned_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    now = 1_000.0
    log, error = RetryLog(lambda: now), ConnectionLost("broker 3 hung up")
    for failing_s in (0.1, 1.0, 2.9, 3.1, 4.0, 20.0, 34.0, 35.0):
        now = 1_000 + failing_s
        log(error, failing_s)
    assert caplog.messages == [
        "still trying, for 3 s now: broker 3 hung up",
        "still trying, for 34 s now: broker 3 hung up",
    ]
    assert {record.levelname for record in caplog.records} == {"WARNING"}
