"""Bytes as Mirror Maker 2 of Kafka 4.3 writes them, which its own classes have printed."""

import pytest

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.coordination.record_format import CorruptRecord
from barnabas.mirror.formats.checkpoint import CheckpointRecord, decode_checkpoint
from barnabas.mirror.formats.heartbeat import HeartbeatRecord, decode_heartbeat
from barnabas.mirror.formats.internal_topics import checkpoints_topic, offset_syncs_topic
from barnabas.mirror.formats.offset_sync import OffsetSyncRecord, decode_offset_sync

ORDERS = TopicPartition("orders", 3)
GOLDEN = [
    (
        OffsetSyncRecord(ORDERS, 1234567890123, 42),
        decode_offset_sync,
        "00066f726465727300000003",
        "0000011f71fb04cb000000000000002a",
    ),
    (
        CheckpointRecord("billing", TopicPartition("A.orders", 3), 1234567890123, 42, "note"),
        decode_checkpoint,
        "000762696c6c696e670008412e6f726465727300000003",
        "00000000011f71fb04cb000000000000002a00046e6f7465",
    ),
    (
        CheckpointRecord("größe", TopicPartition("t", 0), 0, 0),
        decode_checkpoint,
        "00076772c3b6c39f6500017400000000",
        "0000000000000000000000000000000000000000",
    ),
    (
        HeartbeatRecord("A", "B", 1700000000123),
        decode_heartbeat,
        "000141000142",
        "00000000018bcfe5687b",
    ),
]


@pytest.mark.parametrize(("record", "decode", "key", "value"), GOLDEN)
def test_bytes_are_those_of_mirror_maker(record, decode, key, value) -> None:
    assert record.key.hex() == key
    assert record.value.hex() == value
    assert decode(record.key, record.value) == record


@pytest.mark.parametrize(("record", "decode", "key", "value"), GOLDEN)
def test_other_bytes_are_refused(record, decode, key, value) -> None:
    for cut in range(len(record.value)):
        with pytest.raises(CorruptRecord):
            decode(record.key, record.value[:cut])
    for cut in range(len(record.key)):
        with pytest.raises(CorruptRecord):
            decode(record.key[:cut], record.value)
    with pytest.raises(CorruptRecord, match="1 bytes too many"):
        decode(record.key, record.value + b"x")
    with pytest.raises(CorruptRecord, match="null"):
        decode(record.key, None)
    if decode is not decode_offset_sync:
        with pytest.raises(CorruptRecord, match="version 1"):
            decode(record.key, b"\0\1" + record.value[2:])


def test_topics_are_those_of_mirror_maker() -> None:
    assert offset_syncs_topic("A") == "mm2-offset-syncs.A.internal"
    assert checkpoints_topic("A") == "A.checkpoints.internal"
    assert offset_syncs_topic("A", "_") == "mm2-offset-syncs_A_internal"
    assert checkpoints_topic("A", "_") == "A_checkpoints_internal"
