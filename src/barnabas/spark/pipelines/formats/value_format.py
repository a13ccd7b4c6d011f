"""What a format of values is: it says how they are decoded, and encodes them for tests."""

from collections.abc import Mapping
from typing import Any, Protocol

from pyspark.sql.types import StructType

from barnabas.spark.decoding.decoding import Decoding, FormatName

__all__ = ["FormatName", "ValueFormat"]


class ValueFormat(Protocol):
    """How values are decoded, and encoded for tests."""

    @property
    def fields(self) -> StructType:
        """The columns. One that the schema calls NOT NULL has to be there."""

    def decoding(self, time_zone: str) -> Decoding:
        """How values are decoded; times without a zone are in this one."""

    def encode(self, row: Mapping[str, Any]) -> bytes:
        """A value that decodes to this row."""
