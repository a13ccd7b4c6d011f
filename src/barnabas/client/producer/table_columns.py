"""What a table has to be so that its rows can be sent, and which rows go together.

Columns are key, value, headers, timestamp, topic and partition, each of which may be missing; the
others that `poll_table` gives are looked over, so that what was read can be sent. Any other column
is an error: it would be dropped silently.

Where `topic` sends the rows of a table that has a column topic somewhere else, the column partition
goes with it: it speaks of that topic's partitions. Without a column topic it counts.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from barnabas.errors import InvalidArgument
from barnabas.records.columns import schema

_SENT = (schema.KEY, schema.VALUE, schema.HEADERS)
_ROUTED = (schema.TIMESTAMP, schema.TOPIC, schema.PARTITION)
_LOOKED_OVER = (schema.OFFSET, schema.TIMESTAMP_TYPE)
_BLOCK_BYTES = 16 * 1024 * 1024


def table_of(data: Any, topic: str | None = None) -> pa.Table:
    """Whatever Arrow takes for a table; raises TypeError or `InvalidArgument` if it can't be sent.

    Besides pyarrow's own that is what other libraries' data frames are.
    """
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    elif not isinstance(data, pa.Table):
        if not hasattr(data, "__arrow_c_stream__"):
            raise TypeError(
                f"a table is a pyarrow.Table or RecordBatch, or anything with __arrow_c_stream__, "
                f"not {type(data).__name__}"
            )
        data = pa.table(data)
    names = data.schema.names
    for name in names:
        if name not in (*_SENT, *_ROUTED, *_LOOKED_OVER):
            raise InvalidArgument(
                f"column {name} would not be sent: there are {', '.join(_SENT + _ROUTED)}"
            )
        if names.count(name) > 1:
            raise InvalidArgument(f"there are {names.count(name)} columns {name}")
    if not set(names).intersection(_SENT):
        raise InvalidArgument(
            f"nothing to send: the table has none of the columns {', '.join(_SENT)}"
        )
    _check_type(data, schema.TOPIC, "a string", _is_text)
    _check_type(data, schema.PARTITION, "an integer", pa.types.is_integer)
    dropped = set(_LOOKED_OVER)
    if topic is not None and schema.TOPIC in names:
        dropped |= {schema.TOPIC, schema.PARTITION}
    return _without_views(data.drop_columns([each for each in names if each in dropped]))


def _without_views(table: pa.Table) -> pa.Table:
    """Views as what they look at: they can't be taken apart otherwise."""
    for at, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.large_string()))
        elif pa.types.is_binary_view(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.large_binary()))
    return table


def _is_text(type_: pa.DataType) -> bool:
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    return bool(
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_string_view(type_)
    )


def _check_type(table: pa.Table, name: str, wanted: str, is_right: Any) -> None:
    if name in table.schema.names:
        type_ = table.schema.field(name).type
        if type_ != pa.null() and not is_right(type_):
            raise TypeError(f"column {name} is {type_}, it should be {wanted}")


def topics_of(table: pa.Table, topic: str | None) -> list[str]:
    """The topics of all rows; the argument, if there is one, is for all of them."""
    if topic is not None:
        return [topic]
    if schema.TOPIC not in table.schema.names:
        raise InvalidArgument("no topic: pass topic= to send_table, or add a column topic")
    topics: list[str | None] = pc.unique(_plain(table.column(schema.TOPIC))).to_pylist()
    if None in topics:
        raise InvalidArgument("column topic: a row has no topic")
    return [each for each in topics if each is not None]


def blocks_of(table: pa.Table, topics: list[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows in order, in pieces of one topic and of moderate size."""
    if table.num_rows == 0:
        return
    rows = max(1, _BLOCK_BYTES * table.num_rows // max(1, table.nbytes))
    for at in range(0, table.num_rows, rows):
        # Where the block lies within one chunk of the table, nothing is copied.
        for block in table.slice(at, rows).combine_chunks().to_batches():
            if len(topics) == 1:
                yield topics[0], block
                continue
            of_rows = _plain(block.column(schema.TOPIC))
            for topic in pc.unique(of_rows).to_pylist():
                yield topic, block.filter(pc.equal(of_rows, topic))


def _plain(column: Any) -> Any:
    """Strings that are just that."""
    return column.cast(pa.large_string())
