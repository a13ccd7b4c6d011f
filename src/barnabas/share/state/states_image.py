"""What the log says about share partitions: the persistent state of one partition of
`__share_group_state`.

It changes by `replay` only, in the order of the log and from the bytes that are in it, so a leader
and its successor have equal images.
"""

from collections.abc import Iterator

from barnabas.share.state.records import apply_update, decode_key, decode_snapshot
from barnabas.share.state.share_state import SharePartitionKey, ShareState


class ShareStatesImage:
    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[SharePartitionKey, ShareState] = {}

    def get(self, key: SharePartitionKey) -> ShareState | None:
        return self._by_key.get(key)

    def __iter__(self) -> Iterator[SharePartitionKey]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShareStatesImage) and self._by_key == other._by_key

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ShareStatesImage({self._by_key})"

    def replay(self, key: bytes, value: bytes | None) -> SharePartitionKey | None:
        """Apply one record and return its key; None for a kind that is unknown.

        Raises `CorruptRecord`.
        """
        decoded = decode_key(key)
        if decoded is None:
            return None
        partition, is_snapshot = decoded
        if value is None:
            if is_snapshot:
                self._by_key.pop(partition, None)
        elif is_snapshot:
            self._by_key[partition] = decode_snapshot(value)
        else:
            state = self._by_key.get(partition)
            if state is not None:  # otherwise its snapshot is deleted already
                self._by_key[partition] = apply_update(state, value)
        return partition
