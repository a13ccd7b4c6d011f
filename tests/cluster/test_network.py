"""The cuts themselves: a test of a cluster proves nothing if its cables were never unplugged."""

import socket
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.network import CLIENTS, Network, NetworkUnavailable
from tests.support.wait import LIMIT_S

_ECHO = """
import socket, sys
server = socket.create_server((sys.argv[1], 9000))
print("ready", flush=True)
connection, _ = server.accept()
while data := connection.recv(100):
    print(data.decode(), flush=True)
    connection.sendall(data)
"""


@pytest.fixture
def network() -> Iterator[Network]:
    try:
        with Network(2) as network:
            yield network
    except NetworkUnavailable as reason:
        pytest.skip(f"no network namespaces here: {reason}")


@pytest.fixture
def echo(network: Network) -> Iterator["subprocess.Popen[str]"]:
    """A server on host 1 that prints and sends back what it gets."""
    command = [*network.command(1), "python3", "-c", _ECHO, network.address(1)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def _connect(network: Network, host: int) -> socket.socket:
    with network.inside(host):
        return socket.create_connection((network.address(1), 9000), timeout=LIMIT_S)


def _heard(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_cut_one_way_loses_answers_of_an_open_connection_only(
    network: Network, echo: "subprocess.Popen[str]"
) -> None:
    with _connect(network, 2) as connection:
        connection.sendall(b"one")
        assert connection.recv(100) == b"one"
        assert _heard(echo) == "one"
        network.cut(1, 2)
        connection.sendall(b"two")
        assert _heard(echo) == "two"
        connection.settimeout(0.4)
        with pytest.raises(TimeoutError):
            connection.recv(100)
        network.heal()
        connection.settimeout(60)
        assert connection.recv(100) == b"two"


def test_a_cut_the_other_way_loses_the_questions(
    network: Network, echo: "subprocess.Popen[str]"
) -> None:
    with _connect(network, 2) as connection:
        network.cut(2, 1)
        connection.sendall(b"lost for now")
        connection.settimeout(0.4)
        with pytest.raises(TimeoutError):
            connection.recv(100)
        network.heal()
        connection.settimeout(60)
        assert connection.recv(100) == b"lost for now"


def test_cut_off_hosts_can_not_connect_but_others_can(
    network: Network, echo: "subprocess.Popen[str]"
) -> None:
    network.cut_both_ways(1, 2)
    with network.inside(2), pytest.raises(TimeoutError):
        socket.create_connection((network.address(1), 9000), timeout=0.4)
    with _connect(network, CLIENTS) as connection:
        connection.sendall(b"still here")
        assert connection.recv(100) == b"still here"


def test_a_thread_returns_to_where_it_was(network: Network) -> None:
    names = [name for _, name in socket.if_nameindex()]
    with network.inside(1):
        assert sorted(name for _, name in socket.if_nameindex()) == ["eth0", "lo"]
    assert [name for _, name in socket.if_nameindex()] == names
