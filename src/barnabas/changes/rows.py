"""Rows as databases send them: values are texts, in the order of the columns."""

from enum import Enum
from typing import Final, Literal, TypeAlias


class Unchanged(Enum):
    """A large value (TOAST) that an update has not changed, and that is not in the message."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED

Value: TypeAlias = str | Literal[Unchanged.UNCHANGED] | None
Row: TypeAlias = tuple[Value, ...]
