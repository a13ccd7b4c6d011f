"""What a query uses of a source: columns, fields inside of them, and rows."""

from typing import NamedTuple

from barnabas.spark.decoding.decoding import Path
from barnabas.spark.source.row_condition import Condition, condition_of


class SourceUse(NamedTuple):
    """What a query uses of a source."""

    paths: tuple[Path, ...] | None
    """Columns and fields; None: all."""
    condition: Condition | None = None
    """What a row has to meet to be used; None: nothing."""

    def __or__(self, other: "SourceUse") -> "SourceUse":
        """What two uses of the same source need together."""
        paths = None
        if self.paths is not None and other.paths is not None:
            paths = tuple(sorted({*self.paths, *other.paths}))
        condition = None
        if self.condition is not None and other.condition is not None:
            condition = condition_of([*self.condition, *other.condition])
        return SourceUse(paths, condition)
