"""Log sequence numbers: positions in PostgreSQL's log, as numbers and as `16/B374D848`."""

import re

from barnabas.errors import InvalidArgument

_LSN = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")


def parse_lsn(text: str) -> int:
    """The number of a position as PostgreSQL writes it."""
    found = _LSN.fullmatch(text)
    if found is None:
        raise InvalidArgument(f"{text!r} is not a position in PostgreSQL's log such as 16/B374D848")
    return int(found[1], 16) << 32 | int(found[2], 16)


def format_lsn(lsn: int) -> str:
    """A position as PostgreSQL writes it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
