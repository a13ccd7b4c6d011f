"""Metadata records on their way to the disk and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.metadata.records import (
    MetadataRecord,
    decode_metadata_record,
    encode_metadata_record,
)
from barnabas.wire.messages.metadata_records import (
    AccessControlEntryRecord,
    BrokerEndpoint,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)
from barnabas.wire.primitives import WireError

int8, int32, int64 = (st.integers(-(2**bits), 2**bits - 1) for bits in (7, 31, 63))
ids = st.binary(min_size=16, max_size=16)
nodes = st.lists(int32, max_size=5)

RECORDS: st.SearchStrategy[MetadataRecord] = st.one_of(
    st.builds(TopicRecord, st.text(), ids),
    st.builds(
        PartitionRecord,
        partition_id=int32,
        topic_id=ids,
        replicas=nodes,
        isr=nodes,
        leader=int32,
        leader_epoch=int32,
        partition_epoch=int32,
    ),
    st.builds(ConfigRecord, int8, st.text(), st.text(), st.none() | st.text()),
    st.builds(RemoveTopicRecord, ids),
    st.builds(
        AccessControlEntryRecord, ids, int8, st.text(), int8, st.text(), st.text(), int8, int8
    ),
    st.builds(RemoveAccessControlEntryRecord, ids),
    st.builds(ProducerIdsRecord, int32, int64, int64),
    st.builds(
        RegisterBrokerRecord,
        broker_id=int32,
        incarnation_id=ids,
        broker_epoch=int64,
        end_points=st.lists(
            st.builds(BrokerEndpoint, st.text(), st.text(), st.integers(0, 65535)), max_size=2
        ),
        rack=st.none() | st.text(),
        fenced=st.booleans(),
        in_controlled_shutdown=st.booleans(),
        log_dirs=st.lists(ids, max_size=2),
    ),
    st.builds(UnregisterBrokerRecord, int32, int64),
    st.builds(BrokerRegistrationChangeRecord, int32, int64, int8, int8, st.lists(ids, max_size=2)),
    st.builds(
        PartitionChangeRecord,
        partition_id=int32,
        topic_id=ids,
        isr=st.none() | nodes,
        leader=int32,
        replicas=st.none() | nodes,
        removing_replicas=st.none() | nodes,
        adding_replicas=st.none() | nodes,
        leader_recovery_state=int8,
        last_known_elr=st.none() | nodes,
    ),
    st.builds(NoOpRecord),
)


@settings(deadline=None)
@given(RECORDS)
def test_round_trip(record: MetadataRecord) -> None:
    assert decode_metadata_record(encode_metadata_record(record)) == record


@settings(deadline=None)
@given(RECORDS, st.data())
def test_cut_off_is_an_error(record: MetadataRecord, data: st.DataObject) -> None:
    encoded = encode_metadata_record(record)
    length = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(WireError):
        decode_metadata_record(encoded[:length])


@settings(deadline=None)
@given(st.binary(max_size=64))
def test_garbage_is_an_error_or_a_record(garbage: bytes) -> None:
    try:
        record = decode_metadata_record(garbage)
    except WireError:
        return
    assert decode_metadata_record(encode_metadata_record(record)) == record


def test_text_that_is_none() -> None:
    with pytest.raises(WireError):
        decode_metadata_record(b"\1\2\0\2\xff" + bytes(17))


@pytest.mark.parametrize("prefix", [b"\2\2\0", b"\1\x63\0", b"\1\2\x63"])
def test_what_a_newer_release_wrote(prefix: bytes) -> None:
    """Another frame, an unknown type, a later version: nothing that we may guess at."""
    body = encode_metadata_record(TopicRecord("t", bytes(16)))[3:]
    with pytest.raises(WireError, match="newer release"):
        decode_metadata_record(prefix + body)


def test_the_bytes_stay_what_they_are() -> None:
    """Data directories outlive releases."""
    assert encode_metadata_record(TopicRecord("t", bytes(range(16)))) == (
        b"\1\2\0" + b"\2t" + bytes(range(16)) + b"\0"
    )
    assert encode_metadata_record(ConfigRecord(2, "t", "n", None)) == b"\1\4\0\2\2t\2n\0\0"
    assert encode_metadata_record(ProducerIdsRecord(1, -1, 1000)) == (
        b"\1\x0f\0" + b"\0\0\0\1" + b"\xff" * 8 + (1000).to_bytes(8, "big") + b"\0"
    )
