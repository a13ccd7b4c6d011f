"""Addresses as they are bound."""

import socket

import pytest

from barnabas.broker.net.listeners import bind
from barnabas.broker.settings.config import ConfigError
from barnabas.wire.endpoint import Address


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
