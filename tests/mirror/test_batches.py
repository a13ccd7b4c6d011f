"""Batches of the source, as batches of the target's producer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.producer.producer_identity import ProducerIdentity
from barnabas.mirror.batches import BatchConversion, OutgoingBatch, stamp
from barnabas.mirror.provenance import HEADER, Provenance
from barnabas.records.batch import parse_header
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_batch
from barnabas.records.encode import encode_batch
from barnabas.records.errors import CorruptBatch
from barnabas.records.record import Row
from barnabas.records.validate import validate_batch

PRODUCER = ProducerIdentity(71, 3, transactional=True)
ORIGIN = Provenance((HEADER, b"A"), b"B")
LIMIT = 10_000_000

optional = st.none() | st.binary(max_size=30)
rows = st.lists(
    st.tuples(
        st.integers(0, 2**41),
        optional,
        optional,
        st.lists(st.tuples(st.text(max_size=5), optional), max_size=2),
    ),
    min_size=1,
    max_size=20,
)


def made(conversion: BatchConversion, batch: bytearray, start: int = 0) -> list[OutgoingBatch]:
    return list(conversion.outgoing(parse_header(batch), memoryview(batch), start))


@given(rows, st.sampled_from(Compression), st.integers(0, 2**40), st.booleans())
def test_a_batch_keeps_its_records(
    records: list[Row], codec: Compression, offset: int, transactional: bool
) -> None:
    batch = encode_batch(
        records,
        base_offset=offset,
        compression=codec,
        producer_id=5,
        producer_epoch=1,
        base_sequence=9,
        transactional=transactional,
    )
    (out,) = made(BatchConversion(), batch)
    stamp(out, PRODUCER, 12)
    header, _ = validate_batch(
        memoryview(out.buffer), max_batch_bytes=LIMIT, max_decompressed_bytes=LIMIT
    )
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (71, 3, 12)
    assert header.is_transactional
    assert header.compression == codec
    assert [each[:4] for each in decode_batch(out.buffer)] == [
        each[:4] for each in decode_batch(batch)
    ]
    assert out.runs == ((offset, 0, len(records)),)


@given(rows, st.integers(0, 19))
def test_a_part_of_a_batch_is_encoded_again(records: list[Row], skipped: int) -> None:
    skipped = min(skipped, len(records) - 1)
    batch = encode_batch(records, base_offset=100)
    (out,) = made(BatchConversion(), batch, 100 + skipped)
    stamp(out, PRODUCER, 0)
    assert [each[:4] for each in decode_batch(out.buffer)] == [
        each[:4] for each in decode_batch(batch)[skipped:]
    ]
    assert list(out.runs) == [(100 + skipped, 0, len(records) - skipped)]


def test_times_of_a_broker_become_times_of_records() -> None:
    batch = encode_batch([(1, b"k", b"v", ())] * 2, log_append_time_ms=77)
    (out,) = made(BatchConversion(), batch)
    assert not parse_header(out.buffer).is_log_append_time
    assert [each.timestamp for each in decode_batch(out.buffer)] == [77, 77]


def test_batches_may_be_compressed_on_the_way() -> None:
    batch = encode_batch([(1, b"k", b"v" * 1000, ())] * 20)
    (out,) = made(BatchConversion(compression=Compression.ZSTD), batch)
    stamp(out, PRODUCER, 0)
    assert len(out.buffer) < len(batch) / 5
    assert len(decode_batch(out.buffer)) == 20


def test_provenance_is_marked_and_heeded() -> None:
    seen = [(HEADER, b"B")]
    batch = encode_batch(
        [(1, b"own", b"", ()), (2, b"back", b"", seen), (3, b"own", b"", [(HEADER, b"C")])]
    )
    (out,) = made(BatchConversion(ORIGIN), batch)
    found = decode_batch(out.buffer)
    assert [each.key for each in found] == [b"own", b"own"]
    assert list(found[1].headers) == [(HEADER, b"C"), (HEADER, b"A")]
    assert list(out.runs) == [(0, 0, 1), (2, 1, 1)]


def test_nothing_is_left_of_a_batch_that_comes_back() -> None:
    batch = encode_batch([(1, b"k", b"v", [(HEADER, b"B")])])
    assert made(BatchConversion(ORIGIN), batch) == []


def test_a_batch_that_grows_too_large_is_cut() -> None:
    batch = encode_batch([(each, None, b"x" * 100_000, ()) for each in range(12)])
    outs = made(BatchConversion(ORIGIN), batch)
    assert len(outs) > 1
    assert [each.timestamp for out in outs for each in decode_batch(out.buffer)] == [*range(12)]


def test_damage_is_not_sealed() -> None:
    batch = encode_batch([(1, b"key", b"value", ())])
    batch[-3] ^= 1
    with pytest.raises(CorruptBatch, match="CRC"):
        made(BatchConversion(), batch)
