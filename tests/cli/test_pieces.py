"""Parts of the command line that need no broker."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli.blocking import read_lines
from barnabas.cli.command import UsageError
from barnabas.cli.deserializers import Deserializer, UndecodableError, decoder
from barnabas.cli.output import human_size
from barnabas.cli.record_format import compile_template, escape_controls
from barnabas.cli.runner import run_async
from barnabas.cli.times import format_time, parse_duration, parse_time
from barnabas.client.metadata import TopicPartition
from barnabas.records.record import Record

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1700000000123", 1_700_000_000_123),
        ("now", NOW),
        ("10m ago", NOW - 600_000),
        ("1h 30m ago", NOW - 5_400_000),
        ("2d", NOW - 172_800_000),
        ("500ms ago", NOW - 500),
        ("1w ago", NOW - 604_800_000),
        ("99999w ago", 0),
        ("1969-12-31T23:59:59.999Z", 0),
        ("2023-11-14T22:13:20Z", NOW),
        ("2023-11-14T23:13:20.5+01:00", NOW + 500),
    ],
)
def test_times_as_people_write_them(text: str, expected: int) -> None:
    assert parse_time(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "10 ago", "m ago", "2023-13-01", "-5"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="is no time"):
        parse_time(text, NOW)


@pytest.mark.parametrize("text", ["9223372036854775808", "9" * 30, "9" * 5_000])
def test_times_beyond_the_protocol(text: str) -> None:
    assert parse_time("9223372036854775807", NOW) == 9223372036854775807
    with pytest.raises(UsageError, match="milliseconds since 1970"):
        parse_time(text, NOW)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xfe\x00", "not JSON: it is no UTF-8 text"),
        (b"\x00{", "not JSON: "),
        (b"[" * 100_000, "nested too deeply"),
        (b"{", "not JSON: "),
    ],
)
def test_what_is_no_json(data: bytes, reason: str) -> None:
    with pytest.raises(UndecodableError, match=reason) as caught:
        decoder(Deserializer.JSON)(data)
    assert "utf-16" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("15m", 900_000), (" 1h 30m", 5_400_000), ("500ms", 500), ("0s", 0)],
)
def test_lengths_of_time(text: str, expected: int) -> None:
    assert parse_duration(text) == expected


@given(st.integers(0, 4_000_000_000_000))
def test_printed_times_can_be_read_back(timestamp_ms: int) -> None:
    assert parse_time(format_time(timestamp_ms), NOW) == timestamp_ms


def test_times_that_no_calendar_has() -> None:
    assert format_time(-1) == "-"
    assert format_time(1 << 62) == str(1 << 62)


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (2_000_000_000_000, "2.0 TB")]
)
def test_sizes(size: int, text: str) -> None:
    assert human_size(size) == text


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


@given(st.lists(st.binary(max_size=50).map(lambda line: line.replace(b"\n", b"")), max_size=20))
def test_lines_come_as_they_were_written(lines: list[bytes]) -> None:
    written = b"".join(line + b"\n" for line in lines)
    read_end, write_end = os.pipe()
    try:
        os.write(write_end, written + b"rest")
        os.close(write_end)
        found: list[bytes] = []

        async def read() -> None:
            async for some in read_lines(read_end):
                found.extend(some)

        run_async(read())
        assert found == [*lines, b"rest"]
    finally:
        os.close(read_end)
