"""A partition of `__consumer_offsets` whose leadership and high watermark are the test's to say."""

from asyncio import Future, get_running_loop
from itertools import count

from barnabas.coordination.decision import CoordinatorRecord, ProducerIdAndEpoch
from barnabas.log import AppendInfo, Log, LogConfig
from barnabas.metadata.image import CONSUMER_OFFSETS, MetadataImage
from barnabas.records.batch import BatchHeader, parse_header
from barnabas.records.control import ControlType, encode_end_marker
from barnabas.records.encode import encode_batch
from barnabas.wire.messages.metadata_records import PartitionRecord, TopicRecord
from tests.log.memory_disk import MemoryDisk

NOW_MS = 1_000_000

_DIRECTORIES = count()


def offsets_image(partitions: int, *topics: str) -> MetadataImage:
    """A cluster that knows the topic of the offsets, and `topics` of one partition each."""
    image = MetadataImage()
    sizes = {CONSUMER_OFFSETS: partitions, **dict.fromkeys(topics, 1)}
    for number, (name, size) in enumerate(sizes.items(), 1):
        topic_id = number.to_bytes(16, "big")
        image.replay(TopicRecord(name, topic_id))
        for index in range(size):
            image.replay(PartitionRecord(index, topic_id, [1], [1], leader=1, leader_epoch=0))
    return image


class FakePartition:
    """Its own log is real. What is appended is committed when `commit` says so, or at once."""

    def __init__(self, index: int = 0, leader_epoch: int = 1, segment_bytes: int = 1 << 20) -> None:
        self.topic = CONSUMER_OFFSETS
        self.index = index
        self.disk = MemoryDisk()
        path = f"{CONSUMER_OFFSETS}-{index}-{next(_DIRECTORIES)}"
        config = LogConfig(segment_bytes, cleanup_policy=frozenset({"compact"}))
        self.log = Log.open(self.disk, path, config, NOW_MS)
        self.leader_epoch = leader_epoch
        self.leads = True
        self.high_watermark = 0
        self.commits_at_once = True
        self.refusal: Exception | None = None
        self.refusals: list[Exception] = []
        self._waiting: list[tuple[int, Future[None]]] = []

    @property
    def is_leader(self) -> bool:
        return self.leads

    @property
    def appender(self) -> "FakePartition":
        return self

    def log_refusal(self, error: Exception, _now_ms: int) -> None:
        self.refusals.append(error)

    # -- what a coordinator asks -------------------------------------------------------------------

    def append_internal(self, batch: bytearray, header: BatchHeader, now_ms: int) -> AppendInfo:
        assert self.leads, "appended to by a follower"
        if self.refusal is not None:
            raise self.refusal
        info = self.log.append(memoryview(batch), [(0, header)], self.leader_epoch, now_ms)
        if self.commits_at_once:
            self.commit()
        return info

    def committed(self, next_offset: int) -> "Future[None] | None":
        if next_offset <= self.high_watermark:
            return None
        future: Future[None] = get_running_loop().create_future()
        self._waiting.append((next_offset, future))
        return future

    # -- what happens to it ------------------------------------------------------------------------

    def store(
        self, *records: CoordinatorRecord, producer: ProducerIdAndEpoch | None = None
    ) -> None:
        """What a former leader wrote, perhaps as part of a transaction."""
        rows = [(NOW_MS, key, value, ()) for key, value in records]
        if producer is None:
            self._append(encode_batch(rows))
        else:
            producer_id, epoch = producer
            batch = encode_batch(
                rows, producer_id=producer_id, producer_epoch=epoch, transactional=True
            )
            self._append(batch)

    def store_marker(self, producer: ProducerIdAndEpoch, *, is_commit: bool) -> int:
        """The end of a transaction; what comes behind it has the offset that is returned."""
        batch = encode_end_marker(
            ControlType.COMMIT if is_commit else ControlType.ABORT,
            timestamp_ms=NOW_MS,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            coordinator_epoch=1,
        )
        self._append(batch)
        return self.log.log_end_offset

    def _append(self, batch: bytearray) -> None:
        self.log.append(memoryview(batch), [(0, parse_header(batch))], self.leader_epoch, NOW_MS)

    def commit(self, upto: int | None = None) -> None:
        """The followers have it, up to an offset."""
        self.high_watermark = self.log.log_end_offset if upto is None else upto
        self.log.committed_offset = self.high_watermark
        for wanted, future in self._waiting:
            if wanted <= self.high_watermark and not future.done():
                future.set_result(None)
        self._waiting = [each for each in self._waiting if each[0] > self.high_watermark]

    def give_up(self) -> None:
        """What waits is not going to be committed here."""
        for _, future in self._waiting:
            future.cancel()
        self._waiting.clear()

    def follow(self) -> None:
        """Another node leads."""
        self.leads = False
        self.give_up()

    def lead(self, leader_epoch: int) -> None:
        self.leads = True
        self.leader_epoch = leader_epoch

    def truncate(self, offset: int) -> None:
        """The leader's log has something else from there on."""
        self.log.truncate_to(offset)
        self.high_watermark = min(self.high_watermark, offset)
