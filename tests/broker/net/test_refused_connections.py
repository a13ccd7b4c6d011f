"""Closed connections are logged; a client that is closed over and over does not fill the log."""

import pytest

from barnabas.broker.net.refused_connections import RefusedConnections


class Log:
    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._records = caplog
        self.now_s = 0.0
        self.refused = RefusedConnections(lambda: self.now_s)

    def lines(self) -> list[str]:
        found = [record.getMessage() for record in self._records.records]
        self._records.clear()
        return found


def test_a_few_lines_of_each_address(caplog: pytest.LogCaptureFixture) -> None:
    log = Log(caplog)
    for number in range(600):
        log.now_s = number / 200
        log.refused.say("10.0.0.1", "nonsense")
    log.refused.say("10.0.0.2", "other nonsense")
    lines = log.lines()
    assert lines[:2] == ["connection from 10.0.0.1 closed: nonsense"] * 2
    assert lines[-1] == "connection from 10.0.0.2 closed: other nonsense"
    assert len(lines) == 6
    log.now_s = 11
    log.refused.say("10.0.0.1", "again")
    assert log.lines() == [
        "595 more connections from 10.0.0.1 were closed and not logged",
        "connection from 10.0.0.1 closed: again",
    ]


def test_many_addresses(caplog: pytest.LogCaptureFixture) -> None:
    log = Log(caplog)
    for number in range(5000):
        log.refused.say(f"10.0.{number // 256}.{number % 256}", "nonsense")
    assert len(log.lines()) == 100
    log.now_s = 10
    log.refused.say("10.1.0.1", "again")
    assert log.lines() == [
        "4900 more connections were closed and not logged",
        "connection from 10.1.0.1 closed: again",
    ]
