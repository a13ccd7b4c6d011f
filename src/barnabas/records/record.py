"""One record."""

from collections.abc import Sequence
from typing import NamedTuple

Header = tuple[str, bytes | None]
Headers = Sequence[Header]

# What an encoder takes: timestamp in ms, key, value, headers.
Row = tuple[int, bytes | None, bytes | None, Headers]

NO_TIMESTAMP = -1
NO_OFFSET = -1


class Record(NamedTuple):
    """A record, its timestamp in milliseconds since the epoch.

    `offset` is the last field because a record has none until a broker has stored it; so a
    `Record` can be used wherever an encoder takes a plain `Row`. A null key or value is None, and
    differs from an empty one.
    """

    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    offset: int = NO_OFFSET
