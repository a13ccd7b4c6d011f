"""Clients of another protocol on the Kafka port."""

import logging
import ssl

import pytest

from barnabas.broker.net.foreign_protocol import ForeignClients, foreign_protocol
from tests.broker.raw_client import RawClient
from tests.support.broker import BrokerProcess

START = [b"GET / HTTP", b"POST /x", b"PUT /x", b"HEAD /", b"PRI * HTTP/2"]


@pytest.mark.parametrize("start", START)
def test_http_is_named(start: bytes) -> None:
    assert "HTTP" in str(foreign_protocol(int.from_bytes(start[:4])))


def test_tls_is_named() -> None:
    for version in (b"\x16\x03\x01\x02", b"\x16\x03\x03\x00"):
        assert "TLS" in str(foreign_protocol(int.from_bytes(version)))


@pytest.mark.parametrize("size", [-1, 2**31 - 1, 104857601, int.from_bytes(b"ZZZZ")])
def test_other_lengths_are_only_too_large(size: int) -> None:
    assert foreign_protocol(size) is None


def test_a_client_is_named_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    clients = ForeignClients()
    for now in (0.0, 1.0, 59.0):
        clients.say("h", "it speaks HTTP", now)
    clients.say("other", "it speaks HTTP", 59.0)
    assert len(caplog.records) == 2
    clients.say("h", "it speaks HTTP", 61.0)
    assert len(caplog.records) == 3
    for number in range(5000):
        clients.say(str(number), "x", 100.0)
    assert len(clients._said) <= 1000


def test_the_log_of_a_broker_names_them(node: BrokerProcess) -> None:
    hello = ssl.MemoryBIO()
    tls = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="h")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    for sent in (hello.read(), b"GET / HTTP/1.1\r\nHost: h\r\n\r\n") * 3:
        with RawClient(node.host, node.port) as client:
            client.send_bytes(sent)
            assert client.is_closed()
    lines = node.log.read_text()
    assert lines.count("it speaks HTTP; this port speaks the Kafka protocol") == 1
    assert lines.count("security.protocol=PLAINTEXT") == 1
    assert "socket.request.max.bytes" not in lines
