"""Clients of a TLS listener that do not complete, or misuse, the handshake."""

import os
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random

import psutil
import pytest

from barnabas.broker.net.handshakes import HELD_S, MAX_HANDSHAKES, MAX_HELD
from barnabas.tls.contexts import client_context
from barnabas.tls.tls_files import Pem, TlsFiles
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from tests.broker.raw_client import RawClient
from tests.support.broker import BrokerProcess
from tests.support.certificates import Authority
from tests.support.wait import LIMIT_S

CROWD = MAX_HANDSHAKES + 100
MIB = 1 << 20


class TlsBroker(BrokerProcess):
    """A broker with a TLS listener; `tls` is for its clients."""

    tls: ssl.SSLContext

    def command(self) -> list[str]:
        command = super().command()
        command[command.index("--listen") + 1] = f"SSL://{self.host}:{self.port}"
        return command


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsBroker]:
    directory = tmp_path_factory.mktemp("handshakes")
    authority = Authority(directory / "ca")
    pem = authority.issue("/CN=node", hosts=("127.0.0.1",)).both
    made = TlsBroker(directory, {"ssl.keystore.location": str(pem)})
    made.tls = client_context(
        TlsFiles(trusted=Pem("", str(authority.certificate))), check_hostname=True
    )
    with made:
        yield made


def ask(broker: TlsBroker) -> None:
    with RawClient(broker.host, broker.port, timeout_s=LIMIT_S, tls=broker.tls) as client:
        assert client.ask(MetadataRequest(topics=[]), 9).brokers


def hello(context: ssl.SSLContext) -> bytes:
    """The first message of a client."""
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="127.0.0.1")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize(("says", "count"), [("nothing", 5 * MAX_HANDSHAKES), ("hello", CROWD)])
def test_a_crowd_that_does_not_complete_the_handshake(
    broker: TlsBroker, says: str, count: int
) -> None:
    said = hello(broker.tls) if says == "hello" else b""
    ask(broker)
    before = broker.rss()
    with ExitStack() as crowd:
        for _ in range(count):
            one = crowd.enter_context(socket.create_connection((broker.host, broker.port), 60))
            if said:
                one.sendall(said)
        ask(broker)
        assert broker.rss() - before < 80 * MIB
        assert psutil.Process(broker.pid).num_fds() < MAX_HANDSHAKES + 500
    ask(broker)


@pytest.mark.parametrize(
    "data",
    [Random(1).randbytes(2000), b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03" * 900],
    ids=["noise", "HTTP", "half a hello"],
)
def test_garbage(broker: TlsBroker, data: bytes) -> None:
    with socket.create_connection((broker.host, broker.port), 60) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        while client.recv(1000):
            pass
    ask(broker)


def test_garbage_after_the_handshake(broker: TlsBroker) -> None:
    with RawClient(broker.host, broker.port, timeout_s=LIMIT_S, tls=broker.tls) as client:
        client.ask(ApiVersionsRequest(), 0)
        os.write(client.socket.fileno(), os.urandom(500))
        with suppress(ssl.SSLError, ConnectionError):
            assert client.socket.recv(1) == b""
    ask(broker)


def test_pipelined_requests_and_the_end_of_a_client(broker: TlsBroker) -> None:
    """Many requests in one record, and requests in many; then the client closes its side."""
    with RawClient(broker.host, broker.port, timeout_s=LIMIT_S, tls=broker.tls) as client:
        frames = b"".join(client.frame(ApiVersionsRequest(), 0) for _ in range(50))
        client.send_bytes(frames[:777])
        for at in range(777, len(frames)):
            client.send_bytes(frames[at : at + 1])
        for _ in range(50):
            assert client.receive().error_code == 0
        assert isinstance(client.socket, ssl.SSLSocket)
        client.socket.unwrap()


def test_an_address_over_its_limit_gets_few_handshakes(broker: TlsBroker, tmp_path: Path) -> None:
    settings = {**broker.settings, "max.connections.per.ip": "2"}
    said = hello(broker.tls)
    crowd = 8 * MAX_HELD
    with TlsBroker(tmp_path, settings) as limited, ExitStack() as sockets:
        for _ in range(2):
            client = RawClient(limited.host, limited.port, timeout_s=LIMIT_S, tls=broker.tls)
            sockets.enter_context(client)
            assert client.ask(MetadataRequest(topics=[]), 9).brokers
        strangers = []
        began = time.monotonic()
        for _ in range(crowd):
            one = sockets.enter_context(socket.create_connection((limited.host, limited.port), 60))
            strangers.append(one)
            with suppress(OSError):
                one.sendall(said)
        answered = sum(map(is_answered, strangers))
        took_s = time.monotonic() - began
        assert answered <= MAX_HELD * (1 + took_s / HELD_S)
        assert answered, "a node could not prove itself"


def is_answered(one: socket.socket) -> bool:
    try:
        return bool(one.recv(1))
    except OSError:
        return False
