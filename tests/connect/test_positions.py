"""Positions of connectors, read from Spark's checkpoints, and changes of them."""

import json
from pathlib import Path

import pytest

from barnabas.connect.positions import folder_of, offsets_of
from barnabas.connect.rest.answers import ApiError
from barnabas.connect.rest.offsets import changed_offsets
from barnabas.errors import BarnabasError


def add_batch(checkpoint: Path, number: int, *sources: object, finished: bool) -> None:
    for name in ("offsets", "commits"):
        (checkpoint / name).mkdir(parents=True, exist_ok=True)
    lines = ["v1", "{}", *(json.dumps(each) for each in sources)]
    (checkpoint / "offsets" / str(number)).write_text("\n".join(lines))
    if finished:
        (checkpoint / "commits" / str(number)).write_text("v1\n{}")
        (checkpoint / "commits" / f".{number}.crc").write_text("")


def test_positions_are_those_behind_the_last_finished_batch(tmp_path: Path) -> None:
    folder = folder_of(str(tmp_path), tmp_path)
    assert offsets_of(folder, "copy", several=True) == []
    for name in ("copy", "copy.more", "copier"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "status.json").write_text("{}")
    assert offsets_of(folder, "copy", several=True) == []
    checkpoint = tmp_path / "copy" / "checkpoint"
    add_batch(checkpoint, 9, {"t": {"0": 3}}, finished=True)
    add_batch(checkpoint, 10, {"t": {"0": 7, "1": 8}, "t@id": {"0": 1, "1": 2}}, finished=True)
    add_batch(checkpoint, 11, {"t": {"0": 9}}, finished=False)
    add_batch(tmp_path / "copy.more" / "checkpoint", 0, {"lsn": 12}, finished=True)
    add_batch(tmp_path / "copier" / "checkpoint", 0, {"lsn": 13}, finished=True)

    def of_topic(partition: int, offset: int) -> dict[str, object]:
        where = {"kafka_topic": "t", "kafka_partition": partition}
        return {"partition": where, "offset": {"kafka_offset": offset}}

    other = {"partition": {"pipeline": "copy.more", "source": 0}, "offset": {"lsn": 12}}
    assert offsets_of(folder, "copy", several=True) == [of_topic(0, 7), of_topic(1, 8), other]
    alone = offsets_of(folder, "copy", several=False)
    assert alone == [of_topic(0, 7), of_topic(1, 8)], "copy.more is another connector"


def test_positions_elsewhere_are_not_shown(tmp_path: Path) -> None:
    with pytest.raises(BarnabasError, match=r"s3a://bucket/x/copy, which only Spark can read"):
        offsets_of(folder_of("s3a://bucket/x", tmp_path), "copy", several=False)


def test_changes_of_positions() -> None:
    where = {"kafka_topic": "t", "kafka_partition": "1"}
    changes = {
        "offsets": [
            {"partition": where, "offset": {"kafka_offset": 5}},
            {"partition": {"kafka_topic": "u", "kafka_partition": 0}, "offset": None},
        ]
    }
    assert changed_offsets(changes) == {("t", 1): 5, ("u", 0): -2}
    for wrong in (
        {},
        {"offsets": []},
        {"offsets": {}},
        {"offsets": [{"partition": where, "offset": {"lsn": 1}}]},
        {"offsets": [{"partition": where, "offset": {"kafka_offset": -5}}]},
        {"offsets": [{"partition": {"server": "x"}, "offset": None}]},
    ):
        with pytest.raises(ApiError):
            changed_offsets(wrong)
