"""Keys and values as bytes and back, and what is said of a value that a format does not take."""

import json
import struct
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.errors import InvalidArgument
from barnabas.formats import BYTES, INT, JSON, STR, Format, decoder, encoder, format_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.binary())
def test_bytes_stay_as_they_are(value: bytes) -> None:
    assert BYTES.encode(value) is value
    assert BYTES.decode(value) is value
    assert BYTES.encode(bytearray(value)) == value
    assert BYTES.encode(memoryview(value)) == value


@given(st.text())
def test_text_is_utf_8(value: str) -> None:
    assert STR.encode(value) == value.encode("utf-8")
    assert STR.decode(STR.encode(value)) == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_are_javas_longs(value: int) -> None:
    assert INT.encode(value) == struct.pack(">q", value)
    assert INT.decode(struct.pack(">q", value)) == value


@given(JSON_VALUES)
def test_json_comes_back(value: Any) -> None:
    data = JSON.encode(value)
    assert JSON.decode(data) == value
    assert json.loads(data) == value


@given(st.dictionaries(st.text(), st.integers()))
def test_equal_objects_are_equal_keys(value: dict[str, int]) -> None:
    turned = dict(reversed(value.items()))
    assert JSON.encode(turned) == JSON.encode(value)


@pytest.mark.parametrize("name", ["bytes", "str", "int", "json"])
def test_nothing_stays_nothing(name: Any) -> None:
    assert encoder(name, "value_format")(None) is None
    assert decoder(name, "value_format")(None) is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("bytes", "text", 'value_format="bytes": takes bytes, not str; value_format="str" would'),
        ("bytes", {}, 'value_format="json" would'),
        ("bytes", 1, 'value_format="int" would, or "json"'),
        ("bytes", object(), "takes bytes, not object"),
        ("str", b"raw", 'value_format="str": takes str, not bytes; value_format="bytes" would'),
        ("int", "1", "takes int, not str"),
        ("json", {1, 2}, "set is not JSON serializable; write it as a list"),
        ("json", b"raw", 'value_format="bytes" would'),
        ("json", {"at": NOON}, "datetime is not JSON serializable; write it as isoformat()"),
        ("json", NOON, "datetime is not JSON serializable; write it as isoformat()"),
        ("json", {"at": [{1}]}, "set is not JSON serializable; write it as a list"),
    ],
)
def test_a_value_of_the_wrong_type_is_a_type_error(name: Any, value: Any, said: str) -> None:
    with pytest.raises(TypeError) as caught:
        encoder(name, "value_format")(value)
    assert said in str(caught.value)
    assert f'value_format="{name}" would' not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"), [("int", 2**63), ("json", float("nan")), ("str", "\ud800")]
)
def test_a_value_that_cannot_be_encoded_is_an_invalid_argument(name: Any, value: Any) -> None:
    with pytest.raises(InvalidArgument, match=f'key_format="{name}": '):
        encoder(name, "key_format")(value)


@pytest.mark.parametrize(("name", "data"), [("int", b"123"), ("json", b"{"), ("str", b"\xff")])
def test_what_cannot_be_decoded_is_a_value_error(name: Any, data: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        decoder(name, "value_format")(data)


class Mail:
    """A type without encode and decode."""


class Reversed:
    """A format of one's own."""

    def encode(self, value: str) -> bytes:
        return value[::-1].encode()

    def decode(self, data: bytes) -> str:
        return data.decode()[::-1]


def test_others_plug_in() -> None:
    mine = Reversed()
    assert isinstance(mine, Format)
    assert format_of(mine, "value_format") is mine
    assert encoder(mine, "value_format")("abc") == b"cba"
    assert decoder(mine, "value_format")(b"cba") == "abc"


def test_what_is_no_format_is_refused_at_once() -> None:
    with pytest.raises(InvalidArgument, match=r"value_format='yaml' is unknown: it is one of"):
        format_of("yaml", "value_format")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="value_format has to be a name, or an object"):
        format_of(3, "value_format")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="value_format has to be a name, or an object"):
        format_of(Reversed, "value_format")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"write value_format=barnabas\.formats\.of\(Mail\)"):
        format_of(Mail, "value_format")  # type: ignore[arg-type]


def test_a_format_that_makes_no_bytes_is_found_out() -> None:
    class Forgetful(Reversed):
        def encode(self, value: str) -> bytes:
            return value  # type: ignore[return-value]

    with pytest.raises(TypeError, match="its encode gave str, not bytes"):
        encoder(Forgetful(), "value_format")("abc")
