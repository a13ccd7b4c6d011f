"""Addresses as people write them."""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.errors import InvalidArgument

DEFAULT_PORT = 9092


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


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


def parse_addresses(text: str) -> Sequence[Address]:
    """Read several addresses, separated by commas."""
    return [parse_address(part) for part in text.split(",")]
