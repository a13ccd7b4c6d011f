"""What other clients encode we decode, and the other way round."""

from typing import Any

import pytest
from aiokafka.record import default_records as aiokafka_records
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record import default_records as kafka_python_records

from barnabas.records.batch import parse_header
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_batch
from barnabas.records.encode import encode_batch
from barnabas.records.record import Row
from barnabas.records.validate import validate_batch
from tests.support.tier import examples

# kafka-python needs further packages for the other codecs; aiokafka uses the one we use, but with
# its own framing for snappy.
FOREIGN = [
    pytest.param(module, compression, id=f"{name}-{compression}")
    for name, module, compressions in (
        ("kafka-python", kafka_python_records, (Compression.NONE, Compression.GZIP)),
        ("aiokafka", aiokafka_records, tuple(Compression)),
    )
    for compression in compressions
]

BLOB = st.none() | st.binary(max_size=10) | st.binary(min_size=60, max_size=300)
HEADERS = st.lists(st.tuples(st.text(max_size=8), BLOB), max_size=3).map(tuple)
ROWS = st.lists(st.tuples(st.integers(1, 2**45), BLOB, BLOB, HEADERS), min_size=1, max_size=12)


@pytest.mark.parametrize(("module", "compression"), FOREIGN)
@settings(max_examples=examples(25))
@given(rows=ROWS, padding=st.sampled_from([0, 200, 70_000]))
def test_we_read_what_they_write(
    module: Any, compression: Compression, rows: list[Row], padding: int
) -> None:
    rows = [*rows, (1, None, b"p" * padding, ())]
    builder = module.DefaultRecordBatchBuilder(2, compression, True, 42, 3, 17, 10**7)
    for offset, (timestamp, key, value, headers) in enumerate(rows):
        builder.append(offset, timestamp, key, value, list(headers))
    batch = memoryview(bytes(builder.build()))
    header = parse_header(batch)
    # These clients send a batch uncompressed when compression does not make it smaller.
    assert header.compression in (compression, Compression.NONE)
    assert header.compression == compression or padding < 70_000
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (42, 3, 17)
    records = decode_batch(batch)
    assert [(r.timestamp, r.key, r.value, r.headers) for r in records] == rows
    assert [r.offset for r in records] == list(range(len(rows)))
    validate_batch(batch, max_batch_bytes=10**7, max_decompressed_bytes=10**7)


@pytest.mark.parametrize(("module", "compression"), FOREIGN)
@settings(max_examples=examples(25))
@given(rows=ROWS, padding=st.sampled_from([0, 200, 140_000]))
def test_they_read_what_we_write(
    module: Any, compression: Compression, rows: list[Row], padding: int
) -> None:
    rows = [*rows, (1, None, b"p" * padding, ())]
    batch = encode_batch(rows, base_offset=1000, compression=compression)
    foreign = module.DefaultRecordBatch(bytes(batch))
    assert foreign.validate_crc()
    records = list(foreign)
    assert [(r.timestamp, r.key, r.value, tuple(r.headers)) for r in records] == rows
    assert [r.offset for r in records] == list(range(1000, 1000 + len(rows)))


@pytest.mark.parametrize("module", [kafka_python_records, aiokafka_records])
def test_uncompressed_batches_are_the_same_bytes(module: Any) -> None:
    rows: list[Row] = [
        (1_700_000_000_000 + i * 13, b"key-%d" % i, b"v" * i, (("h", b"x" * i),))
        for i in range(200)
    ]
    builder = module.DefaultRecordBatchBuilder(2, 0, False, 42, 3, 17, 10**7)
    for offset, (timestamp, key, value, headers) in enumerate(rows):
        builder.append(offset, timestamp, key, value, list(headers))
    ours = encode_batch(rows, producer_id=42, producer_epoch=3, base_sequence=17)
    theirs = bytearray(builder.build())
    # Clients disagree about the leader epoch, which the broker sets and no CRC covers.
    theirs[12:16] = ours[12:16]
    assert ours == theirs


@pytest.mark.parametrize("module", [kafka_python_records, aiokafka_records])
def test_they_read_log_append_time(module: Any) -> None:
    batch = encode_batch([(5, None, b"a", ()), (6, None, b"b", ())], log_append_time_ms=99)
    assert [r.timestamp for r in module.DefaultRecordBatch(bytes(batch))] == [99, 99]
