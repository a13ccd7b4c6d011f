"""Keys go to the partitions where Java's clients, and others, send them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as foreign_murmur2

from barnabas.records.kernel import kernel
from barnabas.records.murmur2 import (
    partition_for_key,
    plain_murmur2,
    plain_partition_for_key,
)

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


@given(st.binary(max_size=70), st.integers(1, 1000) | st.integers(1, 2**31 - 1))
def test_the_partition_of_a_key_is_the_same_in_c(key: bytes, count: int) -> None:
    expected = (foreign_murmur2(key) & 0x7FFFFFFF) % count
    assert plain_partition_for_key(key, count) == expected
    assert partition_for_key(key, count) == expected
    assert partition_for_key(memoryview(key), count) == expected


@pytest.mark.parametrize("choose", [plain_partition_for_key, partition_for_key])
def test_what_has_no_partition(choose: Callable[..., int]) -> None:
    for count in (0, -1):
        with pytest.raises(ValueError, match="partitions"):
            choose(b"key", count)
    for arguments in ((b"key",), ("key", 3), (None, 3), (b"key", 3, 3), (b"key", "3")):
        with pytest.raises(TypeError):
            choose(*arguments)


@pytest.mark.skipif(kernel is None, reason="about the kernel")
def test_the_kernel_refuses_more_partitions_than_there_can_be() -> None:
    for count in (2**31, 2**70, -(2**70)):
        with pytest.raises((ValueError, OverflowError)):
            partition_for_key(b"key", count)
