"""The partitions that a reader fetches, and what is new in them since the last response.

A `FetchSession` holds the partitions of one consumer or follower. It watches them, so that
partitions without news cost nothing: with a thousand partitions and new data in one, only that one
is visited. A fetch without a session uses a session that lives for that one request.
"""

from asyncio import AbstractEventLoop, Future, Task, TimerHandle
from collections.abc import Callable, Iterable

from barnabas.broker.fetch.fetch_entry import NO_REPLICA, Entry, Key
from barnabas.broker.replica.partition import Partition
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchResponse, PartitionData

NO_REPLICA_ID = -1

_COMMIT_NEWS_S = 0.02
"""How late a follower may learn that its records are committed. Under load, the next records bring
that along sooner; if every commit were reported at once, each would cost one more fetch."""


class FetchSession:
    """The partitions of one reader, and those among them that have news for it."""

    def __init__(
        self, session_id: int = 0, replica_id: int = NO_REPLICA_ID, owner: str = ""
    ) -> None:
        self.session_id = session_id
        self.replica_id = replica_id
        """The follower that the session belongs to."""
        self.owner = owner
        """The user that the session belongs to."""
        self.epoch = 0
        """The epoch that the next request has to have; it changes with each request."""
        self.committed_only = False
        """The isolation level of the last request, and so of all entries."""
        self.may_read: Callable[[Key], bool] | None = None
        """Whether the reader may read a partition, where access rules are in force."""
        self.judged: object = None
        """The reader and the rules by which all entries have been judged."""
        self.entries: dict[Key, Entry] = {}
        self._of_partition: dict[Partition, Entry] = {}
        self._news: dict[Entry, None] = {}
        self._available: dict[Entry, int] = {}
        """What the reader could have of a partition, as far as a request for more than one byte has
        asked: looking that up takes microseconds, for each of thousands of partitions."""
        self._wait: FetchWait | None = None
        self.under_way: set[Task[FetchResponse]] = set()
        """Requests that are handled in slices: a newer one begins when they have ended."""

    def isolate(self, *, committed_only: bool) -> None:
        """Begin a request: set the isolation level from now on, read_committed or
        read_uncommitted."""
        self._available.clear()
        if committed_only != self.committed_only:
            self.committed_only = committed_only
            for entry in self.entries.values():
                entry.committed_only = committed_only
                self._news[entry] = None

    def supersede(self, next_epoch: int) -> None:
        """A newer request has arrived: end the wait of the one before it.

        The earlier request then has nothing to tell. What it read now would be read from the
        positions of the newer one, and a follower ignores it in an answer to the earlier one.
        """
        self.epoch = next_epoch
        if self._wait is not None:
            self._wait.finish()

    def add(self, entry: Entry, asked: FetchPartition) -> None:
        """Add a partition, or update the reader's position in it."""
        entry.update(asked)
        if entry.key not in self.entries:
            entry.committed_only = self.committed_only
            self.entries[entry.key] = entry
            self._follow(entry)
        self._news[entry] = None

    def lost(self) -> list[Entry]:
        """Partitions to look up again: a topic of that name may have been created meanwhile."""
        return [entry for entry in self._news if entry.is_lost]

    def found(self, entry: Entry, found: Partition | ErrorCode) -> None:
        """Record the new lookup result of a lost partition."""
        if entry.partition is not None:
            self._of_partition.pop(entry.partition, None)
        entry.found(found)
        self._follow(entry)

    def deny(self) -> None:
        """Stop reading partitions that may no longer be read; they are looked up again with each
        request, so that they are read again when they may be."""
        for entry in self.entries.values():
            if entry.partition is not None and not self.is_allowed(entry.key):
                self._unwatch(entry.partition)
                self.found(entry, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                self._news[entry] = None

    def is_allowed(self, key: Key) -> bool:
        return self.may_read is None or self.may_read(key)

    def _follow(self, entry: Entry) -> None:
        if entry.partition is None:
            return
        self._of_partition[entry.partition] = entry
        if self.session_id:
            self._watch(entry.partition)

    def _watch(self, partition: Partition) -> None:
        if self.replica_id == NO_REPLICA_ID:
            partition.watchers[self] = None
        else:
            partition.replica_watchers[self] = None

    def _unwatch(self, partition: Partition) -> None:
        partition.watchers.pop(self, None)
        partition.replica_watchers.pop(self, None)

    def forget(self, keys: Iterable[Key]) -> None:
        for key in keys:
            entry = self.entries.pop(key, None)
            if entry is None:
                continue
            self._news.pop(entry, None)
            if entry.partition is not None:
                self._of_partition.pop(entry.partition, None)
                self._unwatch(entry.partition)

    def close(self) -> None:
        for partition in self._of_partition:
            self._unwatch(partition)
        if self._wait is not None:
            self._wait.finish()

    def partition_moved(self, partition: Partition) -> None:
        entry = self._of_partition.get(partition)
        if entry is None:
            return
        self._news[entry] = None
        available = self._available.pop(entry, 0)
        if self._wait is not None:
            self._wait.check(entry, available)

    def high_watermark_moved(self, partition: Partition) -> None:
        """More of a follower's records are committed."""
        entry = self._of_partition.get(partition)
        if entry is None:
            return
        self._news[entry] = None
        if self._wait is not None:
            self._wait.hasten(_COMMIT_NEWS_S)

    # -- reading -----------------------------------------------------------------------------------

    def is_satisfied(self, min_bytes: int) -> bool:
        """Whether there is enough to answer at once: `min_bytes`, or something wrong."""
        if min_bytes <= 0 or not self.entries:
            return True
        available = 0
        for entry in self._news:
            if entry.is_urgent:
                return True
            if entry.has_records:
                available += self.available_bytes(entry) if min_bytes > 1 else 1
            if available >= min_bytes:
                return True
        return False

    @property
    def known_bytes(self) -> int:
        """What the reader could have in all, as far as that has been looked up."""
        return sum(self._available.values())

    def available_bytes(self, entry: Entry) -> int:
        """How many bytes a read of a partition with records would return, at least one."""
        known = self._available.get(entry)
        if known is None:
            known = self._available[entry] = entry.available_bytes()
        return known

    def count_to_read(self, *, everything: bool) -> int:
        return len(self.entries if everything else self._news)

    def to_read(self, *, everything: bool) -> tuple[Entry, ...]:
        """The partitions that a response reads, in that order."""
        return tuple(self.entries.values() if everything else self._news)

    def read(
        self,
        max_bytes: int,
        *,
        everything: bool,
        min_one: bool = True,
        entries: Iterable[Entry] | None = None,
    ) -> list[tuple[Entry, PartitionData]]:
        """The response: `everything`, or only partitions with news; only for `entries`, if given.

        With `min_one`, the first batch is returned even if it is larger than `max_bytes`.

        Partitions that returned records go to the end of the queue, so that none starves behind a
        busy one when the response is full.
        """
        answers: list[tuple[Entry, PartitionData]] = []
        left = max_bytes
        got_records = False
        served: list[Entry] = []
        for entry in self.to_read(everything=everything) if entries is None else entries:
            data = entry.read(left, min_one=min_one and not got_records)
            if data.records:
                left -= len(data.records)
                got_records = True
                served.append(entry)
            told = (data.high_watermark, data.log_start_offset)
            is_urgent = (
                data.error_code != 0
                or data.diverging_epoch is not None
                or data.preferred_read_replica != NO_REPLICA
            )
            if everything or data.records or is_urgent or told != entry.told:
                entry.told = told
                answers.append((entry, data))
            if not is_urgent and not entry.has_records:
                self._news.pop(entry, None)
        for entry in served:
            self._news.pop(entry, None)
            self._news[entry] = None
        return answers

    def watch(self) -> None:
        """Hear of what moves from now on: a session that lives for one request has not yet."""
        if not self.session_id:
            for partition in self._of_partition:
                self._watch(partition)

    def wait(self, loop: AbstractEventLoop, min_bytes: int, max_wait_ms: int) -> "Future[None]":
        """A future that is done when `is_satisfied`, or after `max_wait_ms`."""
        if self._wait is not None:
            self._wait.finish()
        self.watch()
        # Partitions that only wait for more need no check when others change.
        is_kept = bool(self.session_id)
        self._news = {
            entry: None
            for entry in self._news
            if entry.has_records or (is_kept and not entry.is_told)
        }
        self._wait = FetchWait(self, loop, min_bytes, max_wait_ms)
        if self._news and self.replica_id != NO_REPLICA_ID:
            self._wait.hasten(_COMMIT_NEWS_S)  # its acknowledgement has advanced the high watermark
        return self._wait.done

    def stop_waiting(self) -> None:
        self._wait = None


class FetchWait:
    """A long poll."""

    __slots__ = ("_deadline", "_loop", "_min_bytes", "_missing", "_session", "_timer", "done")

    def __init__(
        self, session: FetchSession, loop: AbstractEventLoop, min_bytes: int, max_wait_ms: int
    ) -> None:
        self._session = session
        self._min_bytes = min_bytes
        self._missing = min_bytes - session.known_bytes
        self._loop = loop
        self.done: Future[None] = loop.create_future()
        self._deadline = loop.time() + max_wait_ms / 1000
        self._timer: TimerHandle = loop.call_at(self._deadline, self.finish)

    def check(self, entry: Entry, before: int) -> None:
        """A partition has moved that had `before` bytes: all others are as they were."""
        now = 0
        if entry.has_records:
            now = self._session.available_bytes(entry) if self._min_bytes > 1 else 1
        self._missing -= now - before
        if self._missing <= 0 or entry.is_urgent:
            self.finish()

    def hasten(self, seconds: float) -> None:
        """There is news, though not enough to end the wait: end it within `seconds`."""
        deadline = self._loop.time() + seconds
        if deadline < self._deadline:
            self._timer.cancel()
            self._deadline = deadline
            self._timer = self._loop.call_at(deadline, self.finish)

    def finish(self) -> None:
        self._timer.cancel()
        self._session.stop_waiting()
        if not self.done.done():
            self.done.set_result(None)
