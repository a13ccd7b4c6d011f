"""Rows of Spark's state, byte by byte."""

import struct
from decimal import Decimal

import pytest

from barnabas.spark.pipelines.state_files.unsafe_row import read_row


@pytest.mark.parametrize("unscaled", [12345678901234567890123456789012345678, -(10**37) - 1, 0])
def test_large_decimals_are_not_rounded(unscaled: int) -> None:
    data = unscaled.to_bytes(16, "big", signed=True)
    row = bytes(8) + struct.pack("<II", len(data), 16) + data
    (found,) = read_row(row, [{"name": "x", "type": "decimal(38,2)"}])
    assert found == Decimal((unscaled < 0, Decimal(unscaled).as_tuple().digits, -2))
