"""Long lists of names in parts: brokers limit what one request may hold."""

from collections.abc import Iterable, Iterator
from itertools import islice


def in_batches(names: Iterable[str], size: int) -> Iterator[list[str]]:
    """All of them in order, `size` at a time."""
    left = iter(names)
    while some := list(islice(left, size)):
        yield some
