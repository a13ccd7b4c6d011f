"""The records of `__transaction_state`, byte by byte as Kafka's tools read them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordination.record_format import CorruptRecord, encode
from barnabas.transactions.image import NO_TIMEOUT_MS, TransactionImage
from barnabas.transactions.records import (
    decode_image,
    decode_key,
    encode_image,
    transaction_record,
)
from barnabas.transactions.state import TxnState
from barnabas.wire.messages.transaction_records import PartitionsSchema, TransactionLogValue

ONGOING = TransactionImage(
    producer_id=258,
    producer_epoch=3,
    timeout_ms=60_000,
    state=TxnState.ONGOING,
    last_update_ms=2_000,
    start_ms=1_000,
    partitions=frozenset({("u", 0), ("t", 2), ("t", 1)}),
    client_transaction_version=2,
    previous_producer_id=258,
)


def test_a_transaction_that_goes_on() -> None:
    record = transaction_record("tx", ONGOING)
    assert record.key == b"\x00\x00\x00\x02tx"
    assert record.value == (
        b"\x00\x01"
        b"\x00\x00\x00\x00\x00\x00\x01\x02"
        b"\x00\x03"
        b"\x00\x00\xea\x60"
        b"\x01"
        b"\x03"
        b"\x02t\x03\x00\x00\x00\x01\x00\x00\x00\x02\x00"
        b"\x02u\x02\x00\x00\x00\x00\x00"
        b"\x00\x00\x00\x00\x00\x00\x07\xd0"
        b"\x00\x00\x00\x00\x00\x00\x03\xe8"
        b"\x02"
        b"\x00\x08\x00\x00\x00\x00\x00\x00\x01\x02"
        b"\x02\x02\x00\x02"
    )


def test_a_transaction_that_another_instance_has_kept() -> None:
    kept = ONGOING.kept((258, 4), NO_TIMEOUT_MS, 2_000)
    value = encode_image(kept)
    assert value[12:16] == b"\x7f\xff\xff\xff"
    assert value.endswith(
        b"\x04"
        b"\x00\x08\x00\x00\x00\x00\x00\x00\x01\x02"
        b"\x01\x08\x00\x00\x00\x00\x00\x00\x01\x02"
        b"\x02\x02\x00\x02"
        b"\x03\x02\x00\x04"
    )
    assert decode_image(value) == kept


def test_an_empty_one_has_no_partitions() -> None:
    empty = TransactionImage(1, 0, 60_000, TxnState.EMPTY, 2_000)
    value = encode_image(empty)
    assert value[17:18] == b"\x00"
    assert decode_image(value) == empty


def test_a_tombstone_has_a_key_only() -> None:
    record = transaction_record("tx", ONGOING.expired())
    assert record == (b"\x00\x00\x00\x02tx", None)


def test_the_version_without_tags_is_read() -> None:
    value = encode(
        TransactionLogValue(
            258, -1, -1, 3, -1, 60_000, 1, [PartitionsSchema("t", [1])], 2_000, 1_000
        ),
        0,
    )
    assert decode_image(value) == replace(
        ONGOING,
        partitions=frozenset({("t", 1)}),
        client_transaction_version=0,
        previous_producer_id=-1,
    )


def test_keys() -> None:
    assert decode_key(b"\x00\x00\x00\x02tx") == "tx"
    assert decode_key(b"\x00\x01...") is None


@pytest.mark.parametrize("key", [b"", b"\x00", b"\x00\x00\x00\x05tx", b"\x00\x00\x00\x01\xff"])
def test_corrupt_keys(key: bytes) -> None:
    with pytest.raises(CorruptRecord):
        decode_key(key)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\x00\x02" + encode_image(ONGOING)[2:],
        encode_image(ONGOING)[:-20],
        encode_image(ONGOING)[:16] + b"\x06" + encode_image(ONGOING)[17:],  # Dead
        encode_image(ONGOING)[:16] + b"\x09" + encode_image(ONGOING)[17:],
    ],
)
def test_corrupt_values(value: bytes) -> None:
    with pytest.raises(CorruptRecord):
        decode_image(value)


steps = st.lists(
    st.sampled_from(
        ["init", "go on", "add", "keep", "commit", "abort", "classic commit", "complete"]
    ),
    max_size=12,
)


@given(steps, st.sampled_from([0, 5, 32_766]))
def test_what_is_stored_is_what_was_known(names: list[str], epoch: int) -> None:
    image = TransactionImage(1, epoch, 60_000, TxnState.EMPTY, 0)
    for now_ms, name in enumerate(names):
        image = _step(image, name, now_ms)
        assert decode_image(encode_image(image)) == image


def _step(image: TransactionImage, name: str, now_ms: int) -> TransactionImage:
    if image.state.is_prepared:
        return image.completed(now_ms) if name == "complete" else image
    if name in ("init", "go on") and image.state is not TxnState.ONGOING:
        following = image.producer_id, image.producer_epoch + 1
        if image.is_exhausted:
            following = image.producer_id + 1, 0
        before = image.identity if name == "go on" else None
        return image.with_identity(following, before, 60_000, now_ms)
    if name == "keep" and image.state is TxnState.ONGOING:
        producer_id, epoch = image.identity_given_out
        owner = (producer_id + 1, 0) if image.is_exhausted else (producer_id, epoch + 1)
        return image.kept(owner, 70_000, now_ms)
    if name == "add" and not image.is_kept:
        return image.with_partitions(frozenset({("t", now_ms)}), 2, now_ms)
    if name in ("commit", "abort", "classic commit"):
        version = 0 if name == "classic commit" else 2
        return image.prepared(
            committed=name != "abort",
            client_transaction_version=version,
            new_producer_id=image.producer_id + 1 if version and image.is_exhausted else None,
            now_ms=now_ms,
        )
    return image
