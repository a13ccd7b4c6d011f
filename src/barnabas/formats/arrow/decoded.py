"""What is made of a batch of values."""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

NO_VALUE = "the record has no value"


class Decoded(NamedTuple):
    """The values that could be decoded as columns, and the others with the reason of each."""

    columns: Sequence[pa.Array]
    """Of each column that is used, the values of those rows that are not dead, in their order."""
    dead: Sequence[int]
    """Positions of the values that can't be decoded, ascending."""
    reasons: Sequence[str]
    """Why, for each of `dead`."""
