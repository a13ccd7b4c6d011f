"""One face for all client libraries, so that a scenario is written once.

What a library can't do raises `NotOffered`, which skips the scenario for it with that reason.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Self

Headers = tuple[tuple[str, bytes | None], ...]

CREATE_TIME, LOG_APPEND_TIME = 0, 1


class NotOffered(Exception):
    """The library has no such call."""


class Fenced(Exception):
    """This producer may not go on: its transaction took too long, or another has taken its id."""


class MustAbort(Exception):
    """The transaction can't be committed; the producer can go on once it is aborted."""


@dataclass(frozen=True)
class Record:
    """A record as a consumer sees it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int = -1
    timestamp_type: int = CREATE_TIME


@dataclass(frozen=True)
class Delivery:
    """What a producer was told about one record; `error` is None when it is stored."""

    partition: int
    offset: int
    error: str | None = None


class Closing(ABC):
    """Something to be closed at the end of a `with`."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Producer(Closing):
    """Sends records; outcomes come in the order in which the records were sent."""

    @abstractmethod
    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
    ) -> None: ...

    @abstractmethod
    def flush(self) -> list[Delivery]:
        """Wait for everything sent since the last call and say what became of it."""

    # Of a producer with a transactional id. All of them raise `Fenced` and `MustAbort`.

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def send_offsets(self, group: Any, topic: str, offsets: Mapping[int, int]) -> None:
        """Commit these offsets for a group, which a consumer tells, with the transaction."""

    @abstractmethod
    def commit(self) -> None:
        """What was sent is there, all of it; outcomes are forgotten."""

    @abstractmethod
    def abort(self) -> None: ...

    def attempt(self, topic: str, value: bytes) -> str | None:
        """Send one record; the error, whether it came while sending or later."""
        try:
            self.send(topic, value)
            (outcome,) = self.flush()
        except Exception as error:  # noqa: BLE001 - each library has its own
            return repr(error)
        return outcome.error


class Consumer(Closing):
    """Reads records, alone or as a member of a group; never commits by itself."""

    @abstractmethod
    def assign(self, topic: str, positions: Mapping[int, int]) -> None:
        """Read these partitions from these offsets."""

    @abstractmethod
    def subscribe(self, topics: Sequence[str]) -> None: ...

    @abstractmethod
    def poll(self, timeout_s: float = 0.2) -> list[Record]: ...

    @abstractmethod
    def assigned(self) -> set[tuple[str, int]]: ...

    @abstractmethod
    def seek(self, topic: str, partition: int, offset: int) -> None: ...

    @abstractmethod
    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """The first offset and the one after the last."""

    @abstractmethod
    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        """The first offset whose timestamp is not earlier; None when there is none."""

    @abstractmethod
    def commit(self, topic: str, offsets: Mapping[int, int], metadata: str = "") -> None: ...

    @abstractmethod
    def committed(self, topic: str, partition: int) -> int | None: ...

    @abstractmethod
    def group_metadata(self) -> Any:
        """Its group, and its membership as of now: what a transaction has to know."""

    def read(self, count: int, timeout_s: float = 120) -> list[Record]:
        """Exactly `count` records, in the order in which they came."""
        records: list[Record] = []
        deadline = monotonic() + timeout_s
        while len(records) < count:
            assert monotonic() < deadline, f"{len(records)} of {count} records came"
            records += self.poll()
        assert len(records) == count
        return records


class Admin(Closing):
    """The administration calls that the libraries share."""

    @abstractmethod
    def create_topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> None: ...

    @abstractmethod
    def delete_topic(self, name: str) -> None: ...

    @abstractmethod
    def topics(self) -> set[str]: ...

    @abstractmethod
    def partition_count(self, topic: str) -> int: ...

    @abstractmethod
    def create_partitions(self, topic: str, total: int) -> None: ...

    @abstractmethod
    def topic_configs(self, topic: str) -> dict[str, str]: ...

    @abstractmethod
    def replace_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        """Set these and take back all others (AlterConfigs)."""

    def change_config(self, topic: str, name: str, value: str | None) -> None:
        """Set or take back one setting and leave the others (IncrementalAlterConfigs)."""
        raise NotOffered("incremental alter configs")

    @abstractmethod
    def groups(self) -> set[str]: ...

    @abstractmethod
    def describe_group(self, group: str) -> tuple[str, int]:
        """The state and the number of members."""

    def delete_group(self, group: str) -> None:
        raise NotOffered("delete groups")

    def group_offsets(self, group: str, topic: str) -> dict[int, int]:
        raise NotOffered("list group offsets")

    def list_offsets(self, topic: str, partition: int) -> tuple[int, int]:
        """The earliest and the latest offset."""
        raise NotOffered("list offsets")

    @abstractmethod
    def delete_records(self, topic: str, before: Mapping[int, int]) -> None: ...

    @abstractmethod
    def nodes(self) -> list[tuple[int, str, int]]:
        """Id, host and port of every broker (DescribeCluster)."""


class Client(ABC):
    """A client library."""

    name: str

    @abstractmethod
    def producer(
        self,
        bootstrap: str,
        *,
        acks: str = "all",
        compression: str = "none",
        idempotent: bool = False,
        linger_ms: int = 5,
        max_bytes: int = 1_000_000,
        delivery_timeout_ms: int = 60_000,
        request_timeout_ms: int = 10_000,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
    ) -> Producer:
        """Ready to begin a transaction if it has a transactional id."""

    @abstractmethod
    def consumer(
        self,
        bootstrap: str,
        group: str | None = None,
        *,
        instance_id: str | None = None,
        strategy: str = "range",
        session_timeout_ms: int = 30_000,
        reset: str = "earliest",
        max_bytes: int = 1_000_000,
        isolation: str | None = None,
        request_timeout_ms: int = 30_000,
    ) -> Consumer:
        """`isolation` is as the library has it unless said."""

    @abstractmethod
    def admin(self, bootstrap: str) -> Admin: ...
