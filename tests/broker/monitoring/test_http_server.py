"""The HTTP server of a node, and clients that it must not trust."""

import socket
from collections.abc import Iterator

import pytest

from tests.support.broker import BrokerProcess
from tests.support.metrics import get, metrics_address
from tests.support.wait import wait_until

_PLACES = 32


@pytest.fixture
def address(node: BrokerProcess) -> tuple[str, int]:
    host, _, port = metrics_address(node).rpartition(":")
    return host, int(port)


@pytest.fixture
def many(address: tuple[str, int]) -> Iterator[list[socket.socket]]:
    """More connections than there are places; they say nothing."""
    sockets = [socket.create_connection(address, 30) for _ in range(2 * _PLACES)]
    yield sockets
    for each in sockets:
        each.close()


def ask(address: tuple[str, int], sent: bytes) -> bytes:
    with socket.create_connection(address, 30) as connection:
        connection.sendall(sent)
        answer = b""
        while more := connection.recv(1 << 16):
            answer += more
        return answer


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", b"200"),
        (b"GET /livez?verbose=1 HTTP/1.0\r\n\r\n", b"200"),
        (b"GET /../../etc/passwd HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /metrics/.. HTTP/1.1\r\n\r\n", b"404"),
        (b"GET http://elsewhere/metrics HTTP/1.1\r\n\r\n", b"400"),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody", b"405"),
        (b"GET /metrics HTTP/2\r\n\r\n", b"400"),
        (b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\nAccept-Language: en\r\n\r\n", b"403"),
        (b"GET /metrics HTTP/1.1\r\nHost: a\r\nOrigin: http://evil.example\r\n\r\n", b"403"),
        (b"GET /metrics HTTP/1.1\r\nHost: [\r\nAccept-Language: en\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"400"),
        (b"GET /livez HTTP/1.1\r\nX: " + bytes(20_000) + b"\r\n\r\n", b"431"),
    ],
)
def test_requests_and_what_is_none(address: tuple[str, int], sent: bytes, status: bytes) -> None:
    assert ask(address, sent).split(b" ", 2)[1] == status


def test_head_has_no_body(address: tuple[str, int]) -> None:
    head, _, body = ask(address, b"HEAD /metrics HTTP/1.1\r\n\r\n").partition(b"\r\n\r\n")
    assert b"200" in head
    assert body == b""


def test_silent_clients_do_not_lock_others_out_for_ever(
    node: BrokerProcess, many: list[socket.socket]
) -> None:
    assert many[-1].recv(1) == b"", "there are only so many places"

    def answers() -> bool:
        try:
            return get(node, "/livez")[0] == 200
        except OSError:
            return False

    wait_until(answers, "silent connections keep their places")
