"""A port stays a cluster's own."""

import socket
import sys

import pytest

from barnabas.broker.net.listeners import bind
from barnabas.embedded import ports
from barnabas.embedded.errors import ClusterError
from barnabas.embedded.ports import HOST, Ports
from barnabas.wire.endpoint import Address


def test_nodes_can_listen_there_again_and_again() -> None:
    held = Ports(3)
    assert len(set(held.numbers)) == 3
    for _ in range(2):
        for port in held.numbers:
            for listening in bind(Address(HOST, port)):
                with socket.create_connection((HOST, port)):
                    listening.close()
    held.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere ports can't be held")
def test_nobody_else_gets_it_while_the_node_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Ports(1)
    monkeypatch.setattr(ports, "_LISTENING_PORTS", held.numbers)
    monkeypatch.setattr(ports, "_ATTEMPTS", 3)
    with pytest.raises(ClusterError, match="no 1 free ports"):
        Ports(1)
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((HOST, held.numbers[0]))
    held.close()
    Ports(1).close()
