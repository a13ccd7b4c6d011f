"""Messages of pgoutput: what was written is read, and hostile bytes give an error, nothing else."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.changes.postgres import pgoutput as p
from tests.changes.postgres.pgoutput_bytes import encode

numbers = st.integers(0, 2**32 - 1)
lsns = st.integers(0, 2**64 - 1)
times = st.integers(-(2**62), 2**62)
names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
rows = st.lists(
    st.one_of(st.none(), st.just(p.UNCHANGED), st.text(st.characters(exclude_categories=["Cs"])))
).map(tuple)
columns = st.builds(p.Column, names, numbers, st.integers(-1, 2**31 - 1), st.booleans())


def of_update(old: p.Row | None, of_key: bool, new: p.Row) -> p.Update:
    return p.Update(7, old, of_key and old is not None, new)


messages = st.one_of(
    st.builds(p.Begin, lsns, times, numbers),
    st.builds(p.Commit, lsns, lsns, times),
    st.builds(p.Origin, lsns, names),
    st.builds(
        p.Relation, numbers, names, names, st.sampled_from("dinf"), st.lists(columns).map(tuple)
    ),
    st.builds(p.TypeName, numbers, names, names),
    st.builds(p.Insert, numbers, rows),
    st.builds(of_update, st.none() | rows, st.booleans(), rows),
    st.builds(p.Delete, numbers, rows, st.booleans()),
    st.builds(p.Truncate, st.lists(numbers).map(tuple), st.booleans(), st.booleans()),
    st.builds(p.LogicalMessage, st.booleans(), lsns, names, st.binary()),
)


@given(messages)
def test_a_message_is_read_as_it_was_written(message: p.Message) -> None:
    assert p.decode(encode(message)) == message


@given(messages, st.data())
def test_a_message_that_is_cut_off_or_has_more_is_refused(
    message: p.Message, data: st.DataObject
) -> None:
    whole = encode(message)
    with pytest.raises(p.MalformedMessage):
        p.decode(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(p.MalformedMessage, match="1 bytes too many"):
        p.decode(whole + b"\0")


@given(st.sampled_from(b"BCORYIUDTM"), st.binary(max_size=60))
def test_hostile_bytes_give_a_message_or_an_error(kind: int, rest: bytes) -> None:
    with suppress(p.MalformedMessage):  # any other error fails
        p.decode(bytes([kind]) + rest)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "an empty message"),
        (b"S\0\0\0\1", "unknown message b'S' of pgoutput; protocol version 1 is understood"),
        (b"I\0\0\0\1N\0\1t\x7f\xff\xff\xffx", "a value of 2147483647 bytes, and 1 are left"),
        (b"I\0\0\0\1N\0\1t\xff\xff\xff\xff", "a value of -1 bytes"),
        (b"I\0\0\0\1N\0\1b\0\0\0\0", "binary format"),
        (b"I\0\0\0\1N\0\1?", "unknown kind of value b'?'"),
        (b"I\0\0\0\1N\xff\xff", "-1 columns"),
        (b"D\0\0\0\1N\0\0", "unexpected b'N' before a row"),
        (b"T\x7f\xff\xff\xff\0", "2147483647 tables"),
        (b"I\0\0\0\1N\0\1t\0\0\0\1\xff", "malformed: 'utf-8' codec"),
        (b"Y\0\0\0\1public", "a string has no end"),
    ],
)
def test_an_error_says_what_is_wrong(data: bytes, complaint: str) -> None:
    with pytest.raises(p.MalformedMessage, match=complaint.replace("?", r"\?")):
        p.decode(data)
