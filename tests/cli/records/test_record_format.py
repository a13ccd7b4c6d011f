"""Records as bytes to print."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli.records.deserializers import Deserializer, UndecodableError, decoder
from barnabas.cli.records.record_format import compile_template, escape_controls
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.records.record import Record


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xfe\x00", "not JSON: not UTF-8 text"),
        (b"\x00{", "not JSON: "),
        (b"[" * 100_000, "nested too deeply"),
        (b"{", "not JSON: "),
    ],
)
def test_what_is_no_json(data: bytes, reason: str) -> None:
    with pytest.raises(UndecodableError, match=reason) as caught:
        decoder(Deserializer.JSON)(data)
    assert "utf-16" not in str(caught.value)


@given(st.binary())
def test_a_terminal_gets_no_control_characters(data: bytes) -> None:
    shown = escape_controls(data).decode()
    assert all(
        character.isprintable() or character in "\t\n" or ord(character) > 159
        for character in shown
    )


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_templates_put_bytes_in_their_place(key: bytes, value: bytes) -> None:
    render = compile_template(r"\x00{key}%%{{%v}}\0", Deserializer.RAW, Deserializer.RAW, b"")
    record = Record(0, key, value, (), 5)
    assert render(TopicPartition("t", 0), record) == b"\0" + key + b"%{" + value + b"}\0\n"
