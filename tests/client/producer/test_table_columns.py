"""Which tables can be sent, and in which pieces."""

from typing import Any

import pyarrow as pa
import pytest

from barnabas.client.producer import table_columns
from barnabas.client.producer.table_columns import blocks_of, table_of, topics_of
from barnabas.errors import InvalidArgument


def values_of(blocks: list[tuple[str, pa.RecordBatch]]) -> list[tuple[str, list[str]]]:
    return [(topic, block.column("value").to_pylist()) for topic, block in blocks]


def test_many_small_chunks_make_one_block() -> None:
    chunks = [pa.table({"value": [f"{i}"]}) for i in range(300)]
    [(topic, block)] = blocks_of(pa.concat_tables(chunks), ["t"])
    assert topic == "t"
    assert block.column("value").to_pylist() == [f"{i}" for i in range(300)]


def test_a_block_within_a_chunk_is_not_copied() -> None:
    table = pa.table({"value": ["v"] * 1_000})
    [(_, block)] = blocks_of(table, ["t"])
    (theirs,) = table.column("value").chunks
    assert block.column("value").buffers()[2].address == theirs.buffers()[2].address


def test_a_large_table_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_columns, "_BLOCK_BYTES", 1_000)
    values = ["v" * (i % 90) for i in range(500)]
    blocks = list(blocks_of(pa.table({"value": values}), ["t"]))
    assert len(blocks) > 20
    assert max(block.nbytes for _, block in blocks) < 3_000
    assert [value for _, part in values_of(blocks) for value in part] == values


def test_rows_larger_than_a_block_come_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_columns, "_BLOCK_BYTES", 10)
    blocks = list(blocks_of(pa.table({"value": ["v" * 1_000] * 3}), ["t"]))
    assert [block.num_rows for _, block in blocks] == [1, 1, 1]


@pytest.mark.parametrize(
    "type_", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.utf8())]
)
def test_topics_may_be_any_text(type_: pa.DataType) -> None:
    topics = pa.array(["a", "b", "a"]).cast(type_)
    table = table_of(pa.table({"value": ["1", "2", "3"], "topic": topics}))
    names = topics_of(table, None)
    assert names == ["a", "b"]
    assert values_of(list(blocks_of(table, names))) == [("a", ["1", "3"]), ("b", ["2"])]


def test_views_are_looked_through() -> None:
    keys = pa.array([b"a longer key than fits a view", None]).cast(pa.binary_view())
    values = pa.array(["v", "another"]).cast(pa.string_view())
    table = table_of(pa.table({"key": keys, "value": values, "offset": [1, 2]}))
    assert table.column("key").to_pylist() == [b"a longer key than fits a view", None]
    assert [field.type for field in table.schema] == [pa.large_binary(), pa.large_string()]


def test_no_rows_make_no_blocks() -> None:
    table = pa.table({"value": pa.array([], pa.string()), "topic": pa.array([], pa.string())})
    assert topics_of(table, None) == []
    assert list(blocks_of(table, [])) == []


def test_columns_of_nulls_are_no_columns() -> None:
    table = table_of(pa.table({"value": ["v"], "partition": [None], "key": [None]}))
    assert table.num_rows == 1
    with pytest.raises(InvalidArgument, match="a row has no topic"):
        topics_of(table_of(pa.table({"value": ["v"], "topic": [None]})), None)


@pytest.mark.parametrize("data", [None, [], {"value": ["v"]}, "table", pa.array(["v"])])
def test_what_is_no_table(data: Any) -> None:
    with pytest.raises(TypeError, match="a table is"):
        table_of(data)
