"""Addresses, as they are written and as they are bound."""

import socket

import pytest

from barnabas.broker.net.listeners import bind, parse_listener
from barnabas.broker.settings.config import ConfigError
from barnabas.wire.endpoint import Address


@pytest.mark.parametrize(
    ("text", "host", "port", "shown"),
    [
        ("localhost:9092", "localhost", 9092, "localhost:9092"),
        (" PLAINTEXT://broker.example:0 ", "broker.example", 0, "broker.example:0"),
        ("plaintext://10.0.0.1:65535", "10.0.0.1", 65535, "10.0.0.1:65535"),
        ("[::1]:9092", "::1", 9092, "[::1]:9092"),
        (":9092", "", 9092, ":9092"),
    ],
)
def test_addresses(text: str, host: str, port: int, shown: str) -> None:
    address = parse_listener(text, "listeners")
    assert (address.host, address.port, str(address)) == (host, port, shown)


NO_ADDRESSES = """
localhost  localhost:  localhost:x  localhost:-1  localhost:65536  a:1,b:2  SSL://a:1  C://a:1
"""


@pytest.mark.parametrize("text", ["", *NO_ADDRESSES.split()])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ConfigError, match="listeners="):
        parse_listener(text, "listeners")


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "*"])
def test_wildcards(host: str) -> None:
    assert Address(host, 1).is_wildcard
    assert not Address("127.0.0.1", 1).is_wildcard


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "", "0.0.0.0"])
def test_all_sockets_share_a_port(host: str) -> None:
    sockets = bind(Address(host, 0))
    try:
        ports = {bound.getsockname()[1] for bound in sockets}
        assert len(ports) == 1
        with socket.create_connection(("127.0.0.1", ports.pop()), 5):
            pass
    finally:
        for bound in sockets:
            bound.close()


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        (Address("192.0.2.1", 0), "not an address of this machine"),
        (Address("no-such-host.invalid", 0), "no-such-host.invalid"),
    ],
)
def test_what_can_not_be_bound(address: Address, hint: str) -> None:
    with pytest.raises(ConfigError, match=hint):
        bind(address)


def test_a_port_in_use() -> None:
    (bound,) = bind(Address("127.0.0.1", 0))
    try:
        with pytest.raises(ConfigError, match="in use"):
            bind(Address("127.0.0.1", bound.getsockname()[1]))
    finally:
        bound.close()
