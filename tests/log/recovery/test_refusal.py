"""Damage is told from a torn tail in a log that is synced after every append."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.log import Log, LogConfig, StorageError, refuse_damage
from tests.log.batches import put
from tests.log.memory_disk import MemoryDisk
from tests.support.tier import examples

CONFIG = LogConfig(segment_bytes=500)
DIRECTORY = "data/t-0"


def filled(*, vouched: bool = False, count: int = 12) -> tuple[MemoryDisk, list[bytearray]]:
    """A log of several segments, and what is in their files."""
    disk = MemoryDisk()
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    for number in range(count):
        put(log, b"%04d" % number * 20)
        log.flusher.flush()
    if vouched:
        log.close()
    else:
        log.abandon()
    return disk, [disk.nodes[path].data for path in sorted(disk.nodes) if path.endswith(".log")]


def content(disk: MemoryDisk) -> dict[str, bytes]:
    return {path: bytes(node.data) for path, node in disk.nodes.items()}


def test_a_whole_log_and_a_new_one_are_fine() -> None:
    refuse_damage(MemoryDisk(), DIRECTORY)
    for vouched in (False, True):
        disk, _ = filled(vouched=vouched)
        disk.open(f"{DIRECTORY}/notes.log", create=True).write(b"not ours", 0)
        refuse_damage(disk, DIRECTORY)


@given(st.data())
@settings(max_examples=examples(150))
def test_a_flipped_bit_before_the_last_batch_is_damage(data: st.DataObject) -> None:
    """Outside of the base offset and the leader epoch, that is: no CRC guards those."""
    disk, files = filled(count=6)
    number = data.draw(st.integers(0, len(files) - 1))
    size = len(files[number])
    first_size = 12 + int.from_bytes(files[number][8:12])
    last_at = size - first_size if number == len(files) - 1 else size
    at = data.draw(st.integers(0, last_at - 1).filter(lambda at: at % first_size in range(16, 999)))
    files[number][at] ^= 1 << data.draw(st.integers(0, 7))
    before = content(disk)
    with pytest.raises(StorageError) as refused:
        refuse_damage(disk, DIRECTORY)
    assert content(disk) == before
    assert f"position {at // first_size * first_size}:" in str(refused.value)
    assert "\n" not in str(refused.value)


@given(cut=st.integers(2, 140), garbage=st.sampled_from([b"", b"\0" * 300, b"\xff\x02" * 90]))
@settings(max_examples=examples(100))
def test_a_torn_tail_is_no_damage(cut: int, garbage: bytes) -> None:
    disk, files = filled()
    size = 12 + int.from_bytes(files[-1][8:12])
    del files[-1][-min(cut, size) :]
    files[-1].extend(garbage)
    refuse_damage(disk, DIRECTORY)
    assert Log.open(disk, DIRECTORY, CONFIG, 0).log_end_offset == 11


@pytest.mark.parametrize("number", [0, -1])
@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.__delitem__(slice(-1, None)),
        lambda file: file.__delitem__(slice(12 + int.from_bytes(file[8:12]), None)),
        lambda file: file.clear(),
        lambda file: (file.__setitem__(-1, file[-1] ^ 1), file.extend(b"\0" * 100)),
    ],
    ids=["shorter", "shorter by whole batches", "empty", "flipped and longer"],
)
def test_synced_bytes_that_are_gone_are_damage(
    damage: Callable[[bytearray], object], number: int
) -> None:
    disk, files = filled(vouched=True)
    damage(files[number])
    with pytest.raises(StorageError, match="damaged at position"):
        refuse_damage(disk, DIRECTORY)


def test_a_segment_that_is_gone_is_damage() -> None:
    disk, _ = filled(vouched=True)
    del disk.nodes[f"{DIRECTORY}/{0:020d}.log"]
    with pytest.raises(StorageError, match="missing"):
        refuse_damage(disk, DIRECTORY)
