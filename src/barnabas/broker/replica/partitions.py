"""All replicas of this node, kept in step with the metadata image.

A topic has a list of its partitions, by index; an entry is None where this node keeps no replica.
"""

import logging
from asyncio import AbstractEventLoop, Event
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor

from barnabas.broker.logs.repairs import Repairs
from barnabas.broker.replica.clean_shutdown import close_logs
from barnabas.broker.replica.high_watermark_checkpoint import HighWatermarkCheckpoint
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partition_host import PartitionHost, ignore, ignore_offline, never
from barnabas.broker.replica.refused_appends import RefusedAppends
from barnabas.broker.replica.replica_directories import ReplicaDirectories
from barnabas.broker.replica.replica_opener import ReplicaOpener
from barnabas.broker.replica.replication_throttles import ReplicationThrottles
from barnabas.broker.replica.topic_settings import topic_settings
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import DataDirectory, DeleteJob, Disk, StorageError
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.wire.errors import ErrorCode

logger = logging.getLogger(__name__)

_TRY_AGAIN_S = 5.0

Replicas = list[Partition | None]


class Partitions:
    """Finds a partition by topic name or id; opens, reconfigures and deletes them."""

    def __init__(
        self,
        config: BrokerConfig,
        image: MetadataImage,
        data: DataDirectory,
        disk: Disk,
        loop: AbstractEventLoop,
        executor: Executor,
        on_append: Callable[[Partition], None],
        *,
        clock: Clock,
        node_id: int,
        on_follower_ready: Callable[[Partition], None] = ignore,
        on_doubt: Callable[[Partition], None] = ignore,
        on_offline: Callable[[str, bytes, int], None] = ignore_offline,
        on_unwritable: Callable[[str, bytes, int], None] = ignore_offline,
        is_cut_off: Callable[[], bool] = never,
        is_suspect: Callable[[], bool] = never,
        is_directory_new: Callable[[], bool] = never,
        threads: Callable[[int, str], Executor] = ThreadPoolExecutor,
    ) -> None:
        """`on_append` is called after each append to a partition that has to be flushed,
        `on_follower_ready` when a leader sees that the in-sync set should change, `on_doubt` when a
        replica may lack acknowledged records, `on_offline` when its disk fails, and
        `on_unwritable` when it can't append. While `is_cut_off`, other nodes may lead
        partitions that this node believes it leads. The disk
        `is_suspect` if it may have lost something since this node last used it, and
        `is_directory_new` if this node started without any data."""
        self._config = config
        self.image = image
        """The image that `apply` and `reconfigure` use; replaced when a snapshot is loaded."""
        self._data = data
        self._loop = loop
        self._executor = executor
        self._threads = threads
        self._clock = clock
        self._node_id = node_id
        self._is_directory_new = is_directory_new
        self.high_watermarks = HighWatermarkCheckpoint(disk, data.path)
        self.refused_appends = RefusedAppends(loop, on_unwritable)
        self._repairs = Repairs(loop)
        self._host = PartitionHost(
            node_id,
            loop,
            clock,
            config.replicas.lag_time_max_ms,
            self._broker_epoch_of,
            on_append,
            on_follower_ready,
            is_cut_off,
            on_doubt,
            on_offline,
            self._rejected,
            self.high_watermarks.moved.setdefault,
            self.refused_appends.note,
            self._set_aside,
            self.high_watermarks.settled,
            self._repairs.unclosed,
            self._repairs.truncated,
        )
        self._opener = ReplicaOpener(
            data,
            disk,
            clock,
            self._host,
            self.high_watermarks,
            is_suspect=is_suspect,
            is_directory_new=is_directory_new,
        )
        self._directories = ReplicaDirectories(
            data, disk, node_id, self.high_watermarks, self.run_later
        )
        self.throttles = ReplicationThrottles(loop, clock, config, node_id)
        self.by_name: dict[str, Replicas] = {}
        self.by_id: dict[bytes, Replicas] = {}
        self.by_encoded_name: dict[bytes, Replicas] = {}
        self.unopened: dict[tuple[bytes, int], None] = {}
        """Replicas of this node that could not be opened, by topic id and index."""
        self.led: dict[Partition, None] = {}
        """Partitions that this node leads, in the order in which it began to lead them."""
        self.leaders_changed: list[Callable[[Partition], None]] = []
        """Called with a partition whose leader epoch has changed, or that is removed."""
        self.rejected: dict[Partition, int] = {}
        """Partitions whose follower fetches the same records repeatedly, with the offset."""
        self.any_rejected = Event()

    def __iter__(self) -> Iterator[Partition]:
        for partitions in tuple(self.by_name.values()):
            for partition in tuple(partitions):
                if partition is not None:
                    yield partition

    def get(self, topic: str, index: int) -> Partition | None:
        partitions = self.by_name.get(topic, ())
        return partitions[index] if 0 <= index < len(partitions) else None

    def find(self, topic: str | bytes, index: int) -> Partition | ErrorCode:
        """The replica of a topic, given by name or id, or the error to answer."""
        if isinstance(topic, bytes):
            partitions = self.by_id.get(topic)
            if partitions is None:
                return ErrorCode.UNKNOWN_TOPIC_ID
        else:
            partitions = self.by_name.get(topic)
        if partitions is None or not 0 <= index < len(partitions):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return partitions[index] or ErrorCode.NOT_LEADER_OR_FOLLOWER

    def _broker_epoch_of(self, node_id: int) -> int | None:
        broker = self.image.brokers.get(node_id)
        return broker.epoch if broker is not None and broker.is_active else None

    def cut_off(self) -> None:
        """Fail waits for a commit, as this node can't learn the outcome: clients must find the new
        leader."""
        for partition in tuple(self.led):
            partition.cut_off()

    def resign_unwritable(self) -> None:
        """The disk is full: let other nodes lead what they can."""
        for partition in tuple(self.led):
            if partition.leading is not None and not partition.leading.is_alone:
                partition.unwritable()

    # -- the data directory ------------------------------------------------------------------------

    def report_missing_replicas(self) -> None:
        """Log, at startup, which replicas of this node have no directory."""
        self._directories.report_missing(self.image, is_directory_new=self._is_directory_new())

    def set_strays_aside(self, keep: set[str]) -> None:
        """Rename directories of partitions that the image does not assign to this node."""
        self._directories.set_strays_aside(self.image, keep)

    def _set_aside(self, partition: Partition) -> str:
        """A new directory for records truncated from a partition's log."""
        return self._data.set_aside_path(partition.topic, partition.index, self._clock.now_ms())

    def close(self) -> bool:
        """Flush and close every log; returns whether all succeeded."""
        is_clean = close_logs(self, self._threads)
        self.high_watermarks.close()
        self._repairs.say()
        return is_clean

    # -- in step with the image --------------------------------------------------------------------

    def apply(self, topic: TopicImage, indexes: Iterable[int]) -> None:
        """Bring the replicas of these partitions of a topic in step with the image.

        A replica that can't be opened or removed because of the disk is retried later.
        """
        settings = topic_settings(self._config, self.image, topic.name)
        partitions = self.by_id.get(topic.topic_id)
        if partitions is None:
            partitions = self.by_id[topic.topic_id] = []
        self.by_name[topic.name] = partitions
        self.by_encoded_name[topic.name.encode()] = partitions
        partitions += [None] * (len(topic.partitions) - len(partitions))
        for index in indexes:
            image = topic.partitions[index]
            partition = partitions[index]
            try:
                if self._node_id in image.replicas:
                    if partition is None:
                        partition = self._opener.open(topic, index, *settings)
                        partitions[index] = partition
                        self.unopened.pop((topic.topic_id, index), None)
                        self.high_watermarks.opened(partition)
                        self._opener.suspects.discard((topic.topic_id, index))
                        self.throttles.apply(partition, self.image.topic_configs(topic.name))
                        if partition.doubt:
                            self._host.on_doubt(partition)
                    self._assign(partition, image)
                else:
                    self.unopened.pop((topic.topic_id, index), None)
                    if partition is not None:
                        partitions[index] = None
                        self._remove(partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            except StorageError as error:
                logger.error("%s-%d: %s", topic.name, index, error)
                if partitions[index] is None and self._node_id in image.replicas:
                    self.unopened[topic.topic_id, index] = None
                    self._opener.failed(topic.topic_id, index)
                    self._host.on_offline(topic.name, topic.topic_id, index)
                self._loop.call_later(_TRY_AGAIN_S, self._try_again, topic.topic_id, index)

    def _rejected(self, partition: Partition, offset: int) -> None:
        self.rejected[partition] = offset
        self.any_rejected.set()

    @property
    def has_suspects(self) -> bool:
        """Whether a replica of this node that may have lost records could not be opened yet."""
        return not self._opener.suspects.isdisjoint(self.unopened)

    @property
    def recovered_bytes(self) -> int:
        """Bytes that were read to recover logs that were not closed."""
        return self._opener.scanned_bytes

    def reapply(self, partition: Partition) -> None:
        """Apply the image to a replica once more."""
        self._try_again(partition.topic_id, partition.index)

    def _try_again(self, topic_id: bytes, index: int) -> None:
        topic = self.image.topics_by_id.get(topic_id)
        if topic is not None:
            self.apply(topic, [index])

    def _assign(self, partition: Partition, image: PartitionImage) -> None:
        leadership_changed = partition.apply(image)
        if partition.is_leader:
            self.led[partition] = None
        else:
            self.led.pop(partition, None)
        if leadership_changed:
            self._tell(partition)

    def brokers_changed(self) -> None:
        """Brokers were fenced or unfenced: followers on them may now join the in-sync set, or no
        longer may."""
        for partition in tuple(self.led):
            if partition.leading is not None and not partition.leading.is_alone:
                partition.maybe_advance_high_watermark()
                if partition.is_isr_change_due:
                    self._host.on_follower_ready(partition)

    def _tell(self, partition: Partition) -> None:
        for changed in self.leaders_changed:
            changed(partition)

    def reconfigure(self, topic: str) -> None:
        """Apply changed settings of the topic, or changed defaults."""
        log_config, limits = topic_settings(self._config, self.image, topic)
        configs = self.image.topic_configs(topic)
        for partition in self.by_name.get(topic, ()):
            if partition is not None:
                partition.configure(log_config, limits)
                self.throttles.apply(partition, configs)

    def delete_topic(self, name: str, topic_id: bytes) -> Iterator[int]:
        """Hide the topic at once, and delete its files in the background.

        Ten thousand partitions take a second, so it yields after each how many are done.
        """
        partitions = self.by_id.pop(topic_id, [])
        for index in range(len(partitions)):
            self.unopened.pop((topic_id, index), None)
        if self.by_name.get(name) is partitions:
            del self.by_name[name]
            del self.by_encoded_name[name.encode()]
        for partition in partitions:
            if partition is not None:
                try:
                    self._remove(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                except (
                    StorageError
                ) as error:  # its topic's id distinguishes it from another topic's
                    logger.error("%s-%d: %s", name, partition.index, error)
                yield 1

    def _remove(self, partition: Partition, error: ErrorCode) -> None:
        """Raises `StorageError` if the directory can't be renamed; the replica is removed
        anyway."""
        partition.retire(error)
        self.led.pop(partition, None)
        self.high_watermarks.removed(partition.topic, partition.index)
        self._tell(partition)
        partition.log.abandon()
        self.run_later(self._data.delete_partition(partition.topic, partition.index))

    def run_later(self, job: DeleteJob, delay_ms: int = 0) -> None:
        """Delete files on another thread, as deleting a large one takes a while."""
        self._loop.call_later(delay_ms / 1000, self._loop.run_in_executor, self._executor, job.run)
