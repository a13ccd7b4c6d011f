"""A node with partitions under control, and a connection that produces to them."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from barnabas.broker.handlers import produce
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.dispatcher import Dispatcher, Route
from barnabas.records.encode import encode_batch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import encode_request
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.raw_client import batch
from tests.broker.talk import Talk

TOPIC = "t"
LARGE = batch(bytes(350_000))
"""With its key 700 kB: three of them are stored in one turn."""
SMALL = batch(b"v")
TRANSACTIONAL = bytes(
    encode_batch(
        [(0, None, b"v", ())],
        producer_id=1,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
)
VERSION = 9
BUG = RuntimeError("a bug")

Done = Callable[..., None]


class Partition:
    """Stores what comes, until `error` says otherwise."""

    is_leader = True
    leader_epoch = 1
    high_watermark = 1
    lacks_replicas = False

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.stored = 0
        self.waits: list[Done] = []
        """What waits until `high_watermark` says that it is committed."""
        self.name = f"{TOPIC}-0"

    @property
    def log(self) -> Any:
        return SimpleNamespace(log_end_offset=1)

    @property
    def appender(self) -> "Partition":
        return self

    def when_committed(self, _end: int, _timeout_ms: int, done: Done) -> None:
        self.waits.append(done)

    def check(self, _records: Any, _budget: Any) -> None:
        return None

    def append(self, *_: Any, **__: Any) -> Any:
        if self.error is not None:
            raise self.error
        self.stored += 1
        return SimpleNamespace(base_offset=0, log_append_time_ms=-1, log_start_offset=0)


class Closed(Partition):
    """Stores what comes, and does not know how much that is."""

    @property
    def log(self) -> Any:
        raise BUG


class Later:
    """A thread, or a coordinator, that finishes when the test says so."""

    budget = None

    def __init__(self, *, passes: bool = True) -> None:
        self._passes = passes
        self.waiting: list[Done] = []
        self.answers_at_once = False

    def passes(self, _partition: Any, _records: Any) -> bool:
        return self._passes

    def when_compressed(self, _partition: Any, _records: Any, done: Done, *_: Any) -> None:
        self.waiting.append(done)

    def when_verified(self, *_: Any, adds: bool, done: Done) -> None:
        del adds
        if self.answers_at_once:
            done(ErrorCode.NONE)
        else:
            self.waiting.append(done)


class World(Talk):
    """A node with partitions of the test's, and a connection to it."""

    def __init__(self, partitions: list[Partition], recompression: Later | None = None) -> None:
        super().__init__()
        self.loop.set_exception_handler(lambda _, context: self.loose.append(context))
        self.loose: list[dict[str, Any]] = []
        """Errors that nobody has handled."""
        self.connections.max_request_bytes = 100 << 20
        self.under_way: set[object] = set()
        self.verification = Later()
        self.recompression = recompression or Later()
        node = SimpleNamespace(
            clock=SimpleNamespace(now_ms=lambda: 0),
            lifecycle=SimpleNamespace(is_cut_off=False),
            loop=self.loop,
            partitions=SimpleNamespace(by_name={TOPIC: partitions}, by_id={}),
            recompression=self.recompression,
            split_productions=self.under_way,
            transaction_verification=self.verification,
        )
        self._dispatcher = Dispatcher(
            node, [Route(ProduceRequest, produce.handle, has_records=True)]
        )

    def _dispatch(self, frame: memoryview, connection: Connection) -> Any:
        return self._dispatcher.dispatch(frame, connection)

    def produce(self, *batches: bytes, acks: int = -1, transactional_id: str | None = None) -> None:
        data = [PartitionProduceData(index, each) for index, each in enumerate(batches)]
        topics = [TopicProduceData(TOPIC, partition_data=data)]
        request = ProduceRequest(transactional_id, acks, 1000, topics)
        self.receive(b"".join(map(bytes, encode_request(request, VERSION, 7, "c"))))
