"""Keys go to the partitions where Java's clients, and others, send them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as foreign_murmur2

from barnabas.records.kernel import kernel
from barnabas.records.murmur2 import partition_for_key, plain_murmur2

HASHES = [plain_murmur2] if kernel is None else [plain_murmur2, kernel.murmur2]


@pytest.mark.parametrize("murmur2", HASHES)
@pytest.mark.parametrize(
    ("key", "java"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_gives_what_java_gives(
    murmur2: Callable[[bytes], int], key: bytes, java: int
) -> None:
    assert murmur2(key) == java & 0xFFFFFFFF


@pytest.mark.parametrize("murmur2", HASHES)
@given(key=st.binary(max_size=70))
def test_murmur2_agrees_with_another_client(murmur2: Callable[[bytes], int], key: bytes) -> None:
    assert murmur2(key) == foreign_murmur2(key) & 0xFFFFFFFF


@given(st.binary(max_size=20), st.integers(1, 1000))
def test_the_partition_of_a_key_is_one_of_them(key: bytes, count: int) -> None:
    assert 0 <= partition_for_key(key, count) < count
