"""Types of columns: as the catalog has them, and as the log has them."""

from dataclasses import dataclass
from enum import IntEnum


class LogType(IntEnum):
    """Types in the binary log; several types of columns share one."""

    TINY = 1
    SHORT = 2
    LONG = 3
    FLOAT = 4
    DOUBLE = 5
    TIMESTAMP = 7
    LONGLONG = 8
    INT24 = 9
    DATE = 10
    TIME = 11
    DATETIME = 12
    YEAR = 13
    VARCHAR = 15
    BIT = 16
    TIMESTAMP2 = 17
    DATETIME2 = 18
    TIME2 = 19
    JSON = 245
    NEWDECIMAL = 246
    ENUM = 247
    SET = 248
    BLOB = 252
    VAR_STRING = 253
    STRING = 254
    GEOMETRY = 255


TEXT = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})
BYTES = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
GEOMETRIES = frozenset(
    {
        "geometry",
        "point",
        "linestring",
        "polygon",
        "multipoint",
        "multilinestring",
        "multipolygon",
        "geometrycollection",
        "geomcollection",
    }
)
INTEGERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint"})


@dataclass(frozen=True)
class ColumnType:
    """The type of a column."""

    name: str
    """As `information_schema.columns.data_type` has it."""
    is_unsigned: bool = False
    is_nullable: bool = True
    scale: int = 0
    """Digits after the point of a decimal, or after the second."""
    length: int = 0
    """Bits of a BIT, bytes of a BINARY."""
    charset: str | None = None
    labels: tuple[str, ...] = ()
    """Of an ENUM or SET."""


IN_LOG: dict[LogType, frozenset[str]] = {
    LogType.TINY: frozenset({"tinyint"}),
    LogType.SHORT: frozenset({"smallint"}),
    LogType.INT24: frozenset({"mediumint"}),
    LogType.LONG: frozenset({"int"}),
    LogType.LONGLONG: frozenset({"bigint"}),
    LogType.FLOAT: frozenset({"float"}),
    LogType.DOUBLE: frozenset({"double"}),
    LogType.NEWDECIMAL: frozenset({"decimal"}),
    LogType.YEAR: frozenset({"year"}),
    LogType.DATE: frozenset({"date"}),
    LogType.TIME: frozenset({"time"}),
    LogType.TIME2: frozenset({"time"}),
    LogType.DATETIME: frozenset({"datetime"}),
    LogType.DATETIME2: frozenset({"datetime"}),
    LogType.TIMESTAMP: frozenset({"timestamp"}),
    LogType.TIMESTAMP2: frozenset({"timestamp"}),
    LogType.BIT: frozenset({"bit"}),
    LogType.ENUM: frozenset({"enum"}),
    LogType.SET: frozenset({"set"}),
    LogType.VARCHAR: frozenset({"varchar", "varbinary"}),
    LogType.VAR_STRING: frozenset({"varchar", "varbinary"}),
    LogType.STRING: frozenset({"char", "binary", "uuid", "inet4", "inet6"}),
    LogType.BLOB: frozenset(name for name in TEXT | BYTES if name.endswith(("text", "blob"))),
    LogType.JSON: frozenset({"json"}),
    LogType.GEOMETRY: GEOMETRIES,
}
"""Which types of columns each type of the log stands for."""
