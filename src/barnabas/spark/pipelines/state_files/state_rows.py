"""The rows of a table of state, as `read_state` has them, without Spark."""

import json
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barnabas.spark.pipelines.operations.state_tables import JOIN, WITH_VARIABLES, StateTable
from barnabas.spark.pipelines.state_files.memory_store import read_memory_partition
from barnabas.spark.pipelines.state_files.state_store import read_partition
from barnabas.spark.pipelines.state_files.unreadable import UnreadableState
from barnabas.spark.pipelines.state_files.unsafe_row import read_row

_CONF = "spark.sql.streaming.stateStore."
_PROVIDER = f"{_CONF}providerClass"
_PACKAGE = "org.apache.spark.sql.execution.streaming.state."
_ROCKSDB = f"{_PACKAGE}RocksDBStateStoreProvider"
_IN_MEMORY = f"{_PACKAGE}HDFSBackedStateStoreProvider"
_READABLE = {
    _PROVIDER: (_ROCKSDB, _IN_MEMORY),
    f"{_CONF}encodingFormat": ("unsaferow",),
    f"{_CONF}compression.codec": ("lz4",),
    f"{_CONF}rowChecksum.enabled": ("false",),
    f"{_CONF}checkpointFormatVersion": ("1",),
}
"""Settings of a query, as its checkpoint has them, with the values that this reader knows."""

Fields = list[Mapping[str, Any]]


@dataclass(frozen=True)
class StateRows:
    """Columns, and rows with a value for each."""

    columns: list[str]
    rows: Iterator[list[Any]]


def read_state_rows(checkpoint: Path, table: StateTable) -> StateRows:
    """The rows of a table; raises `UnreadableState` where only Spark can read them.

    That may also happen in between, while rows are taken.
    """
    if table.operator.startswith(WITH_VARIABLES):
        raise UnreadableState(f"state of {table.operator}")
    is_in_memory = _provider(checkpoint, table.batch) == _IN_MEMORY
    folder = checkpoint / "state" / table.options["operatorId"]
    store, prefix_columns, partitions = _store(folder, table)
    key, value = _schema(_partition_folder(folder, 0, store) / "_metadata" / "schema")
    is_join = table.operator == JOIN
    shown = value[:-1] if is_join else value  # the last says whether it has found a partner
    names = _column_names([] if is_join else key, shown)

    def rows() -> Iterator[list[Any]]:
        for number in range(partitions):
            place = _partition_folder(folder, number, store)
            if is_in_memory:
                for key_bytes, value_bytes in read_memory_partition(place, table.batch + 1):
                    keys = [] if is_join else read_row(key_bytes, key)
                    yield [*keys, *read_row(value_bytes, value)[: len(shown)]]
                continue
            for key_bytes, value_bytes in read_partition(place, table.batch + 1):
                keys = [] if is_join else _key(key_bytes, key, prefix_columns)
                yield [*keys, *read_row(value_bytes[1:], value)[: len(shown)]]

    return StateRows(names, rows())


def _provider(checkpoint: Path, batch: int) -> str:
    """The kind of store; raises if the query's settings are not those that this reader knows."""
    _version, metadata, *_offsets = (checkpoint / "offsets" / str(batch)).read_text().split("\n")
    conf: dict[str, str] = json.loads(metadata).get("conf", {})
    for name, known in _READABLE.items():
        if conf.get(name, known[0]) not in known:
            raise UnreadableState(f"{name}={conf[name]}")
    return conf.get(_PROVIDER, _ROCKSDB)


def _store(folder: Path, table: StateTable) -> tuple[str, int, int]:
    """Name, columns of the prefix of keys, and partitions of the store that has the rows."""
    metadata = (folder / "_metadata" / "metadata").read_text("utf-8").split("\n", 1)[1]
    is_join = table.operator == JOIN
    wanted = f"{table.options['joinSide']}-keyWithIndexToValue" if is_join else "default"
    for each in json.loads(metadata)["stateStoreInfo"]:
        if each["storeName"] == wanted:
            return wanted, each["numColsPrefixKey"], each["numPartitions"]
    raise UnreadableState(f"no state store {wanted}")


def _partition_folder(folder: Path, number: int, store: str) -> Path:
    return folder / str(number) / ("" if store == "default" else store)


def _schema(file: Path) -> tuple[Fields, Fields]:
    """The fields of key and value: texts in chunks, with their lengths, behind a version."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise UnreadableState(f"{file} is missing") from None
    if data[:4] != b"\x00\x02v2":
        raise UnreadableState(f"{file}: a schema of another version")
    at, texts = 4, []
    for _ in ("key", "value"):
        (chunks,) = struct.unpack_from(">i", data, at)
        at += 4
        text = b""
        for _ in range(chunks):
            (length,) = struct.unpack_from(">H", data, at)
            text += data[at + 2 : at + 2 + length]
            at += 2 + length
        texts.append(text)
    key, value = (json.loads(each)["fields"] for each in texts)
    return key, value


def _key(data: bytes, fields: Fields, prefix_columns: int) -> list[Any]:
    """The values of a key, behind a byte for its encoding. A prefix is a row with its length."""
    if not prefix_columns:
        return read_row(data[1:], fields)
    (size,) = struct.unpack_from("<i", data, 0)
    prefix = read_row(data[5 : 4 + size], fields[:prefix_columns])
    return prefix + read_row(data[5 + size :], fields[prefix_columns:])


def _column_names(key: Fields, value: Fields) -> list[str]:
    """Names as `read_state` gives them: one that is taken gets its part in front."""
    taken: Counter[str] = Counter()
    names = []
    for of, fields in (("key", key), ("value", value)):
        for name in (each["name"] for each in fields):
            taken[name] += 1
            names.append(name if taken[name] == 1 else f"{of}_{name}")
    return names
