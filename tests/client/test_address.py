"""Addresses are read as people write them."""

import pytest

from barnabas.client.address import parse_address, parse_addresses
from barnabas.errors import InvalidArgument


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("localhost:9092", "localhost", 9092),
        ("kafka.example", "kafka.example", 9092),
        (" 10.0.0.1:1 ", "10.0.0.1", 1),
        ("[::1]:9093", "::1", 9093),
        ("[::1]", "::1", 9092),
    ],
)
def test_good_addresses(text: str, host: str, port: int) -> None:
    assert parse_address(text) == (host, port)
    assert parse_address(str(parse_address(text))) == (host, port)


@pytest.mark.parametrize(
    "text", ["", ":9092", "h:", "h:x", "h:65536", "::1", "[::1", "[::1]9", "h:-1"]
)
def test_bad_addresses_are_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidArgument, match="HOST:PORT"):
        parse_address(text)


def test_several_addresses() -> None:
    assert parse_addresses("a:1,b") == [("a", 1), ("b", 9092)]
    with pytest.raises(InvalidArgument):
        parse_addresses("a:1,")
