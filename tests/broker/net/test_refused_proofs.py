"""What the log says about connections that could not prove that they are nodes."""

import logging

import pytest

from barnabas.broker.net.refused_proofs import RefusedProofs


def test_a_host_is_logged_once_a_minute_whatever_it_forges(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 1_000.0
    proofs = RefusedProofs(lambda: now)
    with caplog.at_level(logging.WARNING):
        for version in range(128):
            proofs.say("10.0.0.7", f"version {version} of the proof is unknown")
        proofs.say("10.0.0.8", "wrong secret")
        assert len(caplog.messages) == 2
        now += 61
        proofs.say("10.0.0.7", "wrong secret")
    assert caplog.messages[2] == (
        "a connection from 10.0.0.7 could not prove that it is a node: wrong secret "
        "(127 more since the last one)"
    )


def test_a_scan_from_many_hosts_ends_and_a_wrong_secret_is_logged_after_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 0.0
    proofs = RefusedProofs(lambda: now)
    with caplog.at_level(logging.WARNING):
        for host in range(10_000):
            proofs.say(f"10.0.{host // 256}.{host % 256}", "wrong secret")
        assert len(caplog.messages) == 100
        now += 3600
        proofs.say("10.9.9.9", "wrong secret")
    assert len(caplog.messages) == 101
