"""The records of `__consumer_offsets`, byte by byte as Kafka's tools read them."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordination.coordinator_partition import partition_of
from barnabas.groups.records import (
    decode_group,
    decode_key,
    decode_offset,
    group_record,
    offset_record,
)
from barnabas.wire.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)

KEY = OffsetCommitKey("grp", "t", 5)


def test_an_offset() -> None:
    record = offset_record(KEY, OffsetCommitValue(258, 7, "é", 1_000))
    assert record.key == b"\x00\x01\x00\x03grp\x00\x01t\x00\x00\x00\x05"
    assert record.value == (
        b"\x00\x03"
        b"\x00\x00\x00\x00\x00\x00\x01\x02"
        b"\x00\x00\x00\x07"
        b"\x00\x02\xc3\xa9"
        b"\x00\x00\x00\x00\x00\x00\x03\xe8"
    )


def test_an_offset_with_an_expiry_time() -> None:
    record = offset_record(KEY, OffsetCommitValue(1, 7, "", 2, 3))
    assert record.value is not None
    assert record.value[:2] == b"\x00\x01"
    # Version 1 cannot carry the leader's epoch.
    assert decode_offset(record.value) == OffsetCommitValue(1, -1, "", 2, 3)


def test_a_group() -> None:
    member = MemberMetadata("m", "i", "c", "/h", 2, 1, b"sub", b"asg")
    record = group_record("grp", GroupMetadataValue("consumer", 4, "range", "m", 9, [member]))
    assert record.key == b"\x00\x02\x00\x03grp"
    assert record.value == (
        b"\x00\x03"
        b"\x00\x08consumer"
        b"\x00\x00\x00\x04"
        b"\x00\x05range"
        b"\x00\x01m"
        b"\x00\x00\x00\x00\x00\x00\x00\x09"
        b"\x00\x00\x00\x01"
        b"\x00\x01m\x00\x01i\x00\x01c\x00\x02/h"
        b"\x00\x00\x00\x02\x00\x00\x00\x01"
        b"\x00\x00\x00\x03sub\x00\x00\x00\x03asg"
    )


def test_tombstones_have_a_key_only() -> None:
    assert offset_record(KEY, None).value is None
    assert group_record("grp", None).value is None


def test_a_key_says_what_the_record_is_about() -> None:
    assert decode_key(offset_record(KEY, None).key) == KEY
    assert decode_key(b"\x00\x00" + offset_record(KEY, None).key[2:]) == KEY
    assert decode_key(group_record("grp", None).key) == GroupMetadataKey("grp")
    assert decode_key(b"\x00\x63...") is None
    assert decode_key(b"\xff\xff") is None


@given(
    st.builds(
        GroupMetadataValue,
        st.text(max_size=9),
        st.integers(0, 2**31 - 1),
        st.none() | st.text(max_size=9),
        st.none() | st.text(max_size=9),
        st.integers(-1, 2**63 - 1),
        st.lists(
            st.builds(
                MemberMetadata,
                st.text(max_size=9),
                st.none() | st.text(max_size=9),
                st.text(max_size=9),
                st.text(max_size=9),
                st.integers(0, 2**31 - 1),
                st.integers(0, 2**31 - 1),
                st.binary(max_size=9),
                st.binary(max_size=9),
            ),
            max_size=3,
        ),
    )
)
def test_a_group_comes_back_as_it_was(value: GroupMetadataValue) -> None:
    encoded = group_record("g", value).value
    assert encoded is not None
    assert decode_group(encoded) == value


def test_the_partition_of_a_group_is_javas_hash() -> None:
    # "hello" hashes to 99162322, "consumer-group" to -1738392088, and "polygenelubricants" to the
    # smallest int there is.
    assert partition_of("consumer-group", 50) == 38
    assert partition_of("hello", 50) == 22
    assert partition_of("polygenelubricants", 50) == 0
    assert partition_of("", 50) == 0
    # Two UTF-16 code units: 0xd83d and 0xde00.
    assert partition_of("\N{GRINNING FACE}", 1 << 30) == 0xD83D * 31 + 0xDE00
