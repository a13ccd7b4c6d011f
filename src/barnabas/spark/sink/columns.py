"""The columns of a DataFrame that are written, as Spark's Kafka sink has them.

    value       string or binary              required
    key         string or binary
    headers     array of struct of a string key and a binary value
    topic       string                        required, unless the option topic is given
    partition   int

Other columns are ignored, as Spark's sink does: what was read from a topic can be written.
"""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructField,
    StructType,
)

from barnabas.errors import InvalidArgument
from barnabas.records.columns import schema as columns

_HEADERS = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
_TYPES: dict[str, tuple[DataType, ...]] = {
    columns.KEY: (StringType(), BinaryType()),
    columns.VALUE: (StringType(), BinaryType()),
    columns.HEADERS: (_HEADERS,),
    columns.TOPIC: (StringType(),),
    columns.PARTITION: (IntegerType(),),
}


def written_columns(schema: StructType, topic: str | None, *, headers: bool = True) -> list[str]:
    """Those columns of a DataFrame that are written; raises `InvalidArgument`.

    The option topic has priority over a column of that name.
    """
    left_out = {columns.TOPIC} if topic is not None else set()
    if not headers:
        left_out.add(columns.HEADERS)
    written = []
    for field in schema.fields:
        allowed = _TYPES.get(field.name)
        if allowed is None or field.name in left_out:
            continue
        if field.dataType.simpleString() not in {each.simpleString() for each in allowed}:
            wanted = " or ".join(each.simpleString() for each in allowed)
            raise InvalidArgument(
                f"column {field.name!r} is {field.dataType.simpleString()}, expected {wanted}"
            )
        if field.name in written:
            raise InvalidArgument(f"several columns are called {field.name!r}")
        written.append(field.name)
    if columns.VALUE not in written:
        raise InvalidArgument(f"no column {columns.VALUE!r}, which is the value of the record")
    if topic is None and columns.TOPIC not in written:
        raise InvalidArgument("no topic: set the option topic, or add a column of that name")
    return written
