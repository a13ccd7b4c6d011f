"""Addresses are read as people write them."""

from typing import Any

import pytest

from barnabas.client.connect.address import parse_address, parse_addresses
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
    assert parse_addresses(["a:1", "b,c:2"]) == [("a", 1), ("b", 9092), ("c", 2)]
    assert parse_addresses(iter(("a:1",))) == [("a", 1)]
    for nothing in ("a:1,", "", []):
        with pytest.raises(InvalidArgument, match="HOST:PORT"):
            parse_addresses(nothing)


@pytest.mark.parametrize("servers", [None, 9092, b"a:1", ["a:1", 3], [("a", 1)]])
def test_what_is_no_text_is_a_type_error(servers: Any) -> None:
    with pytest.raises(TypeError, match="bootstrap_servers is a str"):
        parse_addresses(servers)
