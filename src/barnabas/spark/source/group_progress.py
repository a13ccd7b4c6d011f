"""Progress of a stream, committed to a consumer group so that others can see it (`groupId`).

Spark's checkpoint is authoritative: these offsets are never read back. When Spark asks for the next
batch, everything before its start is processed and in the checkpoint, so the start is committed.
Spark's own call, `commit`, would come a batch later.

Commits are sent in the background, one at a time, with the newest offsets. A commit can fail, for
example if a consumer is a member of that group: this logs a warning, and the stream continues.
"""

import logging
from concurrent.futures import Future, wait

from barnabas.client.group.committed_offsets import commit_offsets
from barnabas.errors import BarnabasError
from barnabas.spark.cluster.connection import ClusterConnection
from barnabas.spark.source.positions import Offsets

_log = logging.getLogger("barnabas.spark")
_MOMENT_S = 2.0


class GroupProgress:
    """Commits offsets in the background."""

    def __init__(self, connection: ClusterConnection, group_id: str) -> None:
        self._connection = connection
        self._group_id = group_id
        self._committed: Offsets | None = None
        self._under_way: Future[None] | None = None

    def reached(self, offsets: Offsets) -> None:
        """These are the next offsets to be read."""
        if offsets == self._committed or not offsets:
            return
        if self._under_way is not None and not self._under_way.done():
            return  # Spark asks many times a second: the next call commits
        self._committed = offsets
        self._under_way = self._connection.begin(self._commit(offsets))

    def wait(self) -> None:
        """Wait briefly for commits in progress."""
        if self._under_way is not None:
            wait([self._under_way], _MOMENT_S)

    async def _commit(self, offsets: Offsets) -> None:
        try:
            await commit_offsets(self._connection.cluster, self._group_id, offsets)
        except BarnabasError as error:
            _log.warning("progress was not committed to group %s: %s", self._group_id, error)
            self._committed = None
