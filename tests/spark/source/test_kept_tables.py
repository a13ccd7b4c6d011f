"""A table that keeps what it has read reads only what is newer, and has the same rows."""

from collections.abc import Callable
from pathlib import Path

import pytest

import barnabas
from barnabas.errors import InvalidArgument
from barnabas.spark.source import table_files, table_reader
from barnabas.spark.source.options import batch_options, stream_options
from barnabas.spark.source.schema import schema_of
from barnabas.spark.source.table_reader import TableReader
from tests.support.wait import wait_until


class KeptTable:
    """Reads of one topic, as micro-batches do them, and how many records each has fetched."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, bootstrap: str, topic: str, folder: Path
    ) -> None:
        given = {
            "kafka.bootstrap.servers": bootstrap,
            "subscribe": topic,
            "tableFolder": str(folder),
        }
        self._options = batch_options(given)
        self.folder = folder
        self.fetched = 0
        read_tables = table_reader.read_tables

        def counted(*arguments):  # type: ignore[no-untyped-def]
            for table in read_tables(*arguments):
                self.fetched += table.num_rows
                yield table

        monkeypatch.setattr(table_reader, "read_tables", counted)

    def read(self) -> tuple[int, dict[str, str]]:
        """How many records were fetched, and the table."""
        self.fetched = 0
        reader = TableReader(self._options, schema_of(headers=False), parallelism=1)
        newest: dict[tuple[bytes, int], dict[str, object]] = {}
        for task in reader.partitions():
            for batch in reader.read(task):
                for row in batch.to_pylist():
                    place = row["key"], row["partition"]
                    if place not in newest or newest[place]["offset"] < row["offset"]:
                        newest[place] = row
        rows = {
            key.decode(): bytes(row["value"]).decode()
            for (key, _), row in newest.items()
            if row["value"] is not None
        }
        return self.fetched, rows

    def files(self) -> list[str]:
        return sorted(each.name for each in self.folder.rglob("*.arrow"))


def put(bootstrap: str, topic: str, **values: str | None) -> None:
    with barnabas.Producer(bootstrap, key_format="str", value_format="str") as producer:
        for key, value in values.items():
            producer.send(topic, value, key=key)


@pytest.fixture
def table(
    monkeypatch: pytest.MonkeyPatch, bootstrap: str, make_topic: Callable[..., str], tmp_path: Path
) -> Callable[[], tuple[KeptTable, str]]:
    def make() -> tuple[KeptTable, str]:
        topic = make_topic(partitions=2)
        return KeptTable(monkeypatch, bootstrap, topic, tmp_path / "tables"), topic

    return make


def test_only_changes_are_fetched(
    table: Callable[[], tuple[KeptTable, str]], bootstrap: str
) -> None:
    kept, topic = table()
    assert kept.read() == (0, {})
    expected = {f"key-{number}": str(number) for number in range(200)}
    put(bootstrap, topic, **expected)
    assert kept.read() == (200, expected)
    assert kept.read() == (0, expected)
    put(bootstrap, topic, **{"key-0": "new", "key-1": None, "another": "one"})
    expected |= {"key-0": "new", "another": "one"}
    del expected["key-1"]
    assert kept.read() == (3, expected)
    assert kept.read() == (0, expected)


def test_many_small_changes_become_one_file(
    table: Callable[[], tuple[KeptTable, str]], bootstrap: str
) -> None:
    kept, topic = table()
    for number in range(40):
        put(bootstrap, topic, same=str(number))
        assert kept.read() == (1, {"same": str(number)})
    assert len(kept.files()) <= 2 + table_files._LONGEST


def test_what_was_kept_too_long_ago_or_is_damaged_is_read_again(
    table: Callable[[], tuple[KeptTable, str]], bootstrap: str, admin: barnabas.Admin
) -> None:
    kept, topic = table()
    put(bootstrap, topic, apple="1", pear="2")
    assert kept.read()[0] == 2
    for path in kept.folder.rglob("*.arrow"):
        path.write_bytes(b"")
    assert kept.read() == (2, {"apple": "1", "pear": "2"})
    assert kept.read() == (0, {"apple": "1", "pear": "2"})
    admin.set_configs({"delete.retention.ms": 0}, topic=topic)
    assert kept.read() == (2, {"apple": "1", "pear": "2"})


def test_deletion_recreation_and_lost_records(
    table: Callable[[], tuple[KeptTable, str]], bootstrap: str, admin: barnabas.Admin
) -> None:
    kept, topic = table()
    put(bootstrap, topic, apple="1", pear="2")
    assert kept.read()[0] == 2
    admin.delete_records(topic)
    assert kept.read() == (0, {})
    put(bootstrap, topic, apple="4")
    assert kept.read()[1] == {"apple": "4"}
    admin.delete_topic(topic)
    wait_until(lambda: topic not in admin.topics())
    admin.create_topic(topic, partitions=2)
    put(bootstrap, topic, plum="3")
    assert kept.read() == (1, {"plum": "3"})


def test_options() -> None:
    least = {"kafka.bootstrap.servers": "host:1", "subscribe": "t", "tableFolder": "/x"}
    with pytest.raises(InvalidArgument, match="leave out offsets"):
        batch_options(least | {"startingTimestamp": "5"})
    with pytest.raises(InvalidArgument, match="tableFolder is for batch reads"):
        stream_options(least)
