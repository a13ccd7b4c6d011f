"""What the log says about transactional ids: the persistent state of one partition.

A `TransactionsImage` changes by `replay` only, in the order of the log of `__transaction_state` and
from the bytes that are in it. A leader replays a record when it is committed, and a successor
replays the same records when it loads the partition, so both have equal images.
"""

from collections.abc import Iterator

from barnabas.transactions.image import TransactionImage
from barnabas.transactions.records import decode_image, decode_key


class TransactionsImage:
    """The images of all transactional ids of one partition."""

    __slots__ = ("_by_id",)

    def __init__(self) -> None:
        self._by_id: dict[str, TransactionImage] = {}

    def get(self, transactional_id: str) -> TransactionImage | None:
        return self._by_id.get(transactional_id)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TransactionsImage) and self._by_id == other._by_id

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TransactionsImage({self._by_id})"

    def replay(self, key: bytes, value: bytes | None) -> str | None:
        """Apply one record and return its transactional id; None for a kind that is unknown.

        Raises `CorruptRecord`.
        """
        transactional_id = decode_key(key)
        if transactional_id is None:
            return None
        if value is None:
            self._by_id.pop(transactional_id, None)
        else:
            self._by_id[transactional_id] = decode_image(value)
        return transactional_id
