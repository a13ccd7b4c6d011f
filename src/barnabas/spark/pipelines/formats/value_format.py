"""What a format of values is: it turns a column of bytes into a column of structs.

A value that can't be decoded becomes a struct whose last field, `UNDECODABLE`, is not NULL, or no
struct at all. Why it can't is a separate question, since the answer may take long. A column that
the schema calls NOT NULL has to be there.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

from pyspark.sql import Column
from pyspark.sql.types import StructType

UNDECODABLE = "_undecodable"

FormatName: TypeAlias = Literal["json", "avro"]


class ValueFormat(Protocol):
    """How values are decoded, and encoded for tests."""

    @property
    def fields(self) -> StructType:
        """The columns."""

    def parsed(self, value: Column) -> Column:
        """Structs of the columns and of `UNDECODABLE`."""

    def reason(self, value: Column, row: Column) -> Column:
        """Why a value can't be decoded; `row` is what could be."""

    def encode(self, row: Mapping[str, Any]) -> bytes:
        """A value that decodes to this row."""
