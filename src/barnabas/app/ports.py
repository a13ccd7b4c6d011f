"""What handlers read from and send to: a cluster's clients, or topics in memory in tests."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol

from barnabas.app.state.changelog import Changelog, ChangelogNames
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.consumer_options import IsolationName
from barnabas.client.group.committed_offsets import GroupMembership
from barnabas.client.offsets.offset_spec import Where
from barnabas.client.producer.sent_record import Delivery
from barnabas.client.rights.right import Right
from barnabas.formats import Format
from barnabas.records.message import Message
from barnabas.records.record import Header


class Source(Protocol):
    """A consumer, as far as handlers use it."""

    @property
    def assignment(self) -> list[TopicPartition]: ...

    @property
    def membership(self) -> GroupMembership: ...

    async def poll(self, timeout_s: float, max_records: int | None) -> list[Message]: ...

    async def poll_table(self, timeout_s: float) -> Any: ...

    def done(self, message: Message) -> None: ...

    def done_up_to(self, message: Message) -> None: ...

    async def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None: ...

    async def seek(self, partition: TopicPartition, offset: int) -> None: ...

    async def seek_to_beginning(self, *partitions: TopicPartition) -> None: ...

    async def seek_to_time(self, when: datetime, *partitions: TopicPartition) -> None: ...

    async def pause(self, *partitions: TopicPartition) -> None: ...

    async def resume(self, *partitions: TopicPartition) -> None: ...

    def position(self, partition: TopicPartition) -> int: ...

    async def lag(self) -> dict[TopicPartition, int]: ...

    async def close(self) -> None: ...


class Receipt(Protocol):
    """A record on its way."""

    def add_done_callback(self, callback: Callable[[Any], object]) -> None: ...

    def exception(self, timeout_s: float | None = None) -> BaseException | None: ...


class Sink(Protocol):
    """A producer, as far as handlers use it."""

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        headers: Sequence[Header] = (),
        partition: int | None = None,
    ) -> Any: ...

    async def flush(self) -> None: ...

    def transaction(self, consumer: Any, /) -> AbstractAsyncContextManager[Any]: ...

    async def close(self) -> None: ...


class Job(Protocol):
    """A record that is locked for this worker: `QueueMessage`, as far as handlers use it."""

    delivery_count: int

    @property
    def record(self) -> Message: ...

    def accept(self, result: Any = None) -> Any: ...

    def release(self, delay: float = 0) -> Any: ...

    def reject(self, reason: str | None = None) -> Any: ...


class Jobs(Protocol):
    """A member of a share group: `Queue`, as far as handlers use it."""

    async def get(self, timeout_s: float | None = None) -> Job | None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def stop(self) -> None: ...

    async def close(self) -> None: ...


class Delayed(Protocol):
    """Records for later."""

    async def start(self) -> None:
        """Begin to move those of the topics that it was made for."""

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Sequence[Header],
        due_ms: int,
        /,
    ) -> Delivery:
        """Store a record that is in its topic when it is due."""

    async def close(self) -> None: ...


Revoke = Callable[[list[TopicPartition]], Any]


class Connections(Protocol):
    """Makes sources and sinks."""

    def source(
        self,
        topics: Sequence[str],
        group: str | None,
        /,
        *,
        commit: str,
        start: Where | None,
        on_revoked: Revoke | None,
        on_lost: Revoke | None,
        schemas: Format | None = None,
        isolation: IsolationName | None = None,
    ) -> Source:
        """A consumer. It asks for the `schemas` of values before it returns them, as bytes.

        `isolation` counts more than what the application sets for its consumers.
        """

    def jobs(
        self,
        topics: Sequence[str],
        group: str,
        /,
        *,
        prefetch: int,
        start: Any,
        schemas: Format | None = None,
        results_of: Sequence[str] = (),
    ) -> Jobs:
        """A queue, with the same, that answers jobs submitted to `results_of` too."""

    async def delivery_limit(self, group: str, /) -> int:
        """How often a record of a share group is delivered before brokers drop it."""

    def sink(
        self, *, transactional_id: str | None = None, transaction_timeout_s: float = 60.0
    ) -> Sink: ...

    async def reach(self) -> None:
        """Raise if there is no cluster to speak to."""

    def delayed(self, topics: Sequence[str], /) -> Delayed:
        """What moves the delayed records of these topics, and puts more."""

    def changelog(self, names: ChangelogNames, /, *, patience_s: float) -> Changelog:
        """The topic of a handler's state; transactions in it are open for that long at most."""

    async def check_rights(self, rights: Sequence[Right], /) -> None:
        """Raise `NotAuthorized` if brokers deny one of them that is not optional."""

    async def fence_abandoned(self, group: str, prefix: str, /) -> list[str]:
        """Roll back open transactions of ids with this prefix that end with no member's id."""

    async def ensure_topics(self, like: dict[str, str], dead_letters: str | None = None) -> None:
        """Create topics that are missing, each with as many partitions as another one.

        The topic of the dead letters keeps its records forever.
        """

    async def ensure_memory(self, name: str, /, *, like: str) -> None:
        """Create a compacted topic of one partition if it is missing, as safe as another one."""
