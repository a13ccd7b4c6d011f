"""Which logs were changed somewhere else than at their end: cut, overwritten, replaced or removed.

Almost everything that a broker does to a log is to append to it. So these few are compared again
with what is committed, at once and from their start.
"""

from collections import defaultdict

_SUFFIX = ".log"


class LogChanges:
    """Told by the disks; the names of directories, by node, until somebody has had a look."""

    def __init__(self) -> None:
        self._changed: defaultdict[int, dict[str, None]] = defaultdict(dict)

    def changed(self, node_id: int, path: str) -> None:
        if path.endswith(_SUFFIX):
            self._changed[node_id][path.rpartition("/")[0].rpartition("/")[2]] = None

    def has_any(self, node_id: int) -> bool:
        return node_id in self._changed

    def take(self, node_id: int) -> list[tuple[str, int]]:
        """Topics and partitions that were changed since the last call."""
        if node_id not in self._changed:
            return []
        names = (name.rpartition("-") for name in self._changed.pop(node_id))
        return [(topic, int(index)) for topic, _, index in names if index.isdecimal()]
