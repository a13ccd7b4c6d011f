"""A follower's side of an incremental fetch session with one leader.

The leader remembers earlier requests, so a request lists only changes: partitions that have grown
here, new ones, and those that are no longer followed. A thousand quiet partitions cost nothing.
"""

from asyncio import TimerHandle
from collections import defaultdict
from itertools import islice

from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.replica_doubt import fetch_position
from barnabas.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)

Key = tuple[bytes, int]
"""Topic id and index."""

_NAMED_AT_ONCE = 500
"""A returning node follows thousands of partitions; a limit lets its leader serve others
meanwhile."""

_INITIAL_EPOCH = 0
_MAX_EPOCH = 2**31 - 1


class Followed:
    """A partition that follows the leader, and its last request."""

    __slots__ = (
        "asked_in",
        "asked_offset",
        "asked_start",
        "backoff_ms",
        "key",
        "lacks_epochs",
        "leader_epoch",
        "leader_epochs",
        "partition",
        "retry",
    )

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.key: Key = (partition.topic_id, partition.index)
        self.leader_epoch = partition.leader_epoch
        self.leader_epochs: list[tuple[int, int]] | None = None
        """Where the leader's epochs began; None if it was not asked."""
        self.lacks_epochs = False
        """It has to be asked before what it sent can be appended."""
        self.asked_offset = -1
        self.asked_start = -1
        """The log start that the leader knows. Retention moves it here without the leader."""
        self.asked_in = 0
        """The number of the request that asked for that offset."""
        self.backoff_ms = 0.0
        self.retry: TimerHandle | None = None
        """Runs while the partition is left out after a failure."""

    @property
    def is_following(self) -> bool:
        """Whether the partition still follows in the same leader epoch."""
        partition = self.partition
        return (
            not partition.deleted
            and not partition.is_leader
            and partition.leader_epoch == self.leader_epoch
        )

    def is_answered_by(self, request: int) -> bool:
        """Whether the answer to a request, given by its number, is one to what would be asked now.

        An answer that was under way when the log was cut is not.
        """
        return (
            request >= self.asked_in
            and self.is_following
            and fetch_position(self.partition)[0] == self.asked_offset
        )


class ReplicaSession:
    """What the leader knows of the session, and what the next request has to tell it."""

    def __init__(self, node_id: int, max_bytes: int, partition_max_bytes: int) -> None:
        self._node_id = node_id
        self._max_bytes = max_bytes
        self._partition_max_bytes = partition_max_bytes
        self._session_id = 0
        self._epoch = _INITIAL_EPOCH
        self.requests = 0
        """How many were made: the number of the newest."""
        self._broker_epoch = -1
        self._named: set[Key] = set()
        self._to_name: dict[Key, Followed] = {}
        self._to_forget: dict[Key, None] = {}

    @property
    def is_open(self) -> bool:
        return self._session_id != 0

    @property
    def has_news(self) -> bool:
        return bool(self._to_name or self._to_forget)

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to fetch: the leader would answer an empty request at once."""
        return not self._named and not self.has_news

    def name(self, followed: Followed) -> None:
        """Fetch this partition, from its log end on, with the next request."""
        self._to_forget.pop(followed.key, None)
        self._to_name[followed.key] = followed

    def forget(self, key: Key) -> None:
        """Stop fetching the partition."""
        self._to_name.pop(key, None)
        if key in self._named:
            self._named.discard(key)
            self._to_forget[key] = None

    def reset(self) -> None:
        """The leader may have lost the session: the next request lists all partitions again."""
        self._session_id = 0
        self._epoch = _INITIAL_EPOCH
        self._named.clear()
        self._to_forget.clear()

    def opened(self, session_id: int) -> None:
        """Store the session id from the response that opened the session."""
        if not self.is_open:
            self._session_id = session_id

    def next_request(self, broker_epoch: int, max_wait_ms: int) -> FetchRequest:
        """The broker epoch must be that of the session's earlier requests; otherwise call `reset`
        first."""
        self._broker_epoch = broker_epoch
        self.requests += 1
        named: defaultdict[bytes, list[FetchPartition]] = defaultdict(list)
        keys = tuple(islice(self._to_name, _NAMED_AT_ONCE))
        for key in keys:
            named[key[0]].append(self._asked(self._to_name.pop(key)))
        forgotten: defaultdict[bytes, list[int]] = defaultdict(list)
        for topic_id, index in self._to_forget:
            forgotten[topic_id].append(index)
        request = FetchRequest(
            replica_state=ReplicaState(self._node_id, broker_epoch),
            # The leader answers at once when a session is opened, and when there is more to add.
            max_wait_ms=max_wait_ms if self.is_open and not self._to_name else 0,
            min_bytes=1,
            max_bytes=self._max_bytes,
            session_id=self._session_id,
            session_epoch=self._epoch,
            topics=[FetchTopic(topic_id=key, partitions=asked) for key, asked in named.items()],
            forgotten_topics_data=[
                ForgottenTopic(topic_id=key, partitions=indexes)
                for key, indexes in forgotten.items()
            ],
        )
        self._epoch = 1 if self._epoch == _MAX_EPOCH else self._epoch + 1
        self._named.update(keys)
        self._to_forget.clear()
        return request

    def is_of(self, broker_epoch: int) -> bool:
        return self._broker_epoch == broker_epoch

    def _asked(self, followed: Followed) -> FetchPartition:
        log = followed.partition.log
        followed.asked_offset, last_fetched_epoch = fetch_position(followed.partition)
        followed.asked_start = log.log_start_offset
        followed.asked_in = self.requests
        return FetchPartition(
            partition=followed.key[1],
            current_leader_epoch=followed.leader_epoch,
            fetch_offset=followed.asked_offset,
            last_fetched_epoch=last_fetched_epoch,
            log_start_offset=followed.asked_start,
            partition_max_bytes=self._partition_max_bytes,
        )
