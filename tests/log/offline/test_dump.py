"""Looking inside segment files, damaged ones too."""

from pathlib import Path

import pytest

from barnabas.log import Log, LogConfig, OsDisk
from barnabas.log.offline.dump import DumpedBatch, DumpedProblem, dump_segment
from tests.log.batches import put


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    log = Log.open(OsDisk(), f"{tmp_path}/t-0", LogConfig(), 0)
    for number in range(3):
        put(log, b"%d" % number, b"x", epoch=5)
    log.close()
    return tmp_path / "t-0" / f"{0:020d}.log"


def dump(path: Path, *, records: bool = True) -> list[DumpedBatch | DumpedProblem]:
    return list(dump_segment(OsDisk(), str(path), records=records))


def test_a_whole_file(segment: Path) -> None:
    first, second, third = dump(segment)
    for number, found in enumerate((first, second, third)):
        assert isinstance(found, DumpedBatch)
        assert found.problem is None
        assert found.header.base_offset == number * 2
        assert found.position == number * first.header.size  # type: ignore[union-attr]
        assert [record.value for record in found.records] == [b"%d" % number, b"x"]
    assert all(not found.records for found in dump(segment, records=False))  # type: ignore[union-attr]


def test_a_wrong_crc_does_not_hide_the_rest(segment: Path) -> None:
    data = bytearray(segment.read_bytes())
    size = len(data) // 3
    data[size * 2 - 1] ^= 1
    segment.write_bytes(data)
    found = dump(segment)
    assert len(found) == 3
    assert [batch.problem is None for batch in found] == [True, False, True]  # type: ignore[union-attr]
    assert "CRC" in found[1].problem  # type: ignore[union-attr, operator]


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (b"\0" * 100, "zeros"),
        (b"\0" * 10, "fewer than a batch header"),
        (b"\1" * 100, "magic"),
    ],
)
def test_a_bad_tail_is_named_with_its_place(segment: Path, tail: bytes, reason: str) -> None:
    size = segment.stat().st_size
    with segment.open("ab") as file:
        file.write(tail)
    problem = dump(segment)[-1]
    assert isinstance(problem, DumpedProblem)
    assert problem.position == size
    assert reason in problem.reason


def test_a_cut_batch(segment: Path) -> None:
    data = segment.read_bytes()
    segment.write_bytes(data[:-1])
    problem = dump(segment)[-1]
    assert isinstance(problem, DumpedProblem)
    assert "the batch has" in problem.reason


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        dump(tmp_path / "nothing.log")
