"""Addresses as people write them."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from barnabas.errors import InvalidArgument
from barnabas.wire.endpoint import Address

DEFAULT_PORT = 9092

BootstrapServers: TypeAlias = str | Iterable[str]
"""Addresses of some brokers, separated by commas or one by one."""


def parse_address(text: str) -> Address:
    """Read HOST, HOST:PORT or [IPV6]:PORT."""
    text = text.strip()
    if text.startswith("["):
        host, bracket, port = text[1:].partition("]")
        well_formed = bool(bracket) and (port.startswith(":") or not port)
        port = port.removeprefix(":")
    else:
        host, separator, port = text.partition(":")
        well_formed = not separator or bool(port)
    port = port or str(DEFAULT_PORT)
    if not well_formed or not host or not port.isdecimal() or int(port) > 65_535:
        raise InvalidArgument(f"{text!r} is not an address: write HOST:PORT or [IPV6]:PORT")
    return Address(host, int(port))


def parse_addresses(servers: BootstrapServers) -> Sequence[Address]:
    """Read several addresses; TypeError or `InvalidArgument` if one is none."""
    texts = [servers] if isinstance(servers, str) else servers
    if not isinstance(texts, Iterable):
        raise TypeError(_type_error(texts))
    addresses: list[Address] = []
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(_type_error(text))
        addresses += map(parse_address, text.split(","))
    if not addresses:
        raise InvalidArgument("bootstrap_servers is empty: give the HOST:PORT of a broker")
    return addresses


def _type_error(given: object) -> str:
    return f"bootstrap_servers is a str, HOST:PORT, or several of them, not {given!r}"
