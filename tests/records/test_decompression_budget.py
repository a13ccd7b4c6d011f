"""Batches that decompress to more than an event loop may do in one turn."""

from collections.abc import Callable

import pytest

from barnabas.records.batch import patch_crc
from barnabas.records.compression import Compression
from barnabas.records.decompression_budget import (
    DecompressionBudget,
    OverBudget,
    SmallerBudget,
    TurnBudget,
)
from barnabas.records.encode import encode_batch
from barnabas.records.errors import InvalidBatch
from barnabas.records.validate import validate_batch

CODECS = list(Compression)[1:]
KB = 1 << 10


def budget_of(total: int) -> tuple[TurnBudget, list[Callable[[], None]]]:
    soon: list[Callable[[], None]] = []
    return TurnBudget(total, soon.append), soon


def check(size: int, codec: Compression, budget: DecompressionBudget, limit: int = KB * KB) -> None:
    rows = [(0, None, bytes(size), ())]
    batch = memoryview(encode_batch(rows, compression=codec))
    validate_batch(batch, max_batch_bytes=KB * KB, max_decompressed_bytes=limit, budget=budget)


@pytest.mark.parametrize("codec", CODECS)
def test_a_turn_decompresses_as_much_as_its_budget(codec: Compression) -> None:
    budget, soon = budget_of(1_000 * KB)
    for _ in range(9):
        check(100 * KB, codec, budget)
    with pytest.raises(OverBudget):
        check(200 * KB, codec, budget)
    (next_turn,) = soon
    next_turn()
    check(200 * KB, codec, budget)


@pytest.mark.parametrize("codec", CODECS)
def test_what_could_not_be_decompressed_has_been_paid_for(codec: Compression) -> None:
    """Otherwise a thousand of them are tried in one turn."""
    budget, _ = budget_of(100 * KB)
    with pytest.raises(OverBudget):
        check(500 * KB, codec, budget)
    assert budget.left <= 0
    with pytest.raises(OverBudget):
        check(1, codec, budget)


def test_what_proves_damaged_after_it_was_decompressed_has_been_paid_for() -> None:
    budget, _ = budget_of(1_000 * KB)
    rows = [(0, None, bytes(500 * KB), ())]
    batch = encode_batch(rows, compression=Compression.GZIP)
    batch[-6] ^= 1  # the checksum at the end of gzip
    patch_crc(batch)
    with pytest.raises(InvalidBatch, match="undecodable"):
        validate_batch(
            memoryview(batch),
            max_batch_bytes=KB * KB,
            max_decompressed_bytes=800 * KB,
            budget=budget,
        )
    assert budget.left <= 500 * KB


@pytest.mark.parametrize("codec", CODECS)
def test_what_no_budget_would_allow_is_refused_at_once(codec: Compression) -> None:
    budget, _ = budget_of(1_000 * KB)
    with pytest.raises(InvalidBatch, match=r"max\.decompressed\.batch\.bytes"):
        check(500 * KB, codec, budget, limit=200 * KB)


def test_uncompressed_batches_need_no_budget() -> None:
    budget, soon = budget_of(1)
    check(100 * KB, Compression.NONE, budget)
    assert budget.left == 1
    assert not soon


@pytest.mark.parametrize("codec", CODECS)
def test_of_two_budgets_the_smaller_one_holds(codec: Compression) -> None:
    turn, _ = budget_of(300 * KB)
    other, _ = budget_of(150 * KB)
    both = SmallerBudget(turn, other)
    check(100 * KB, codec, both)
    with pytest.raises(OverBudget):
        check(100 * KB, codec, both)
    assert other.left == 0
    assert 140 * KB < turn.left <= 150 * KB, "it pays only for what was decompressed"
