"""All replicas of this node, kept in step with the metadata image.

A topic has a list of its partitions, by index; an entry is None where this node keeps no replica.
"""

import logging
import re
from asyncio import AbstractEventLoop, Event
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.replica.high_watermark_checkpoint import HighWatermarkCheckpoint
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partition_host import PartitionHost, ignore, ignore_offline, never
from barnabas.broker.replica.replica_doubt import ReplicaDoubt
from barnabas.broker.replica.replica_trust import accept_alone, examine
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import (
    FLUSH_MARK,
    METADATA_FILE,
    DataDirectory,
    DeleteJob,
    Disk,
    FlushJob,
    Log,
    LogConfig,
    OpenFiles,
    RecoveryReport,
    StorageError,
    read_topic_id,
    write_topic_id,
)
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.metadata.topic_configs import own_defaults
from barnabas.wire.errors import ErrorCode

logger = logging.getLogger(__name__)

_LOG_FILE = re.compile(
    rf"\d{{20}}\..+|log\.state.*|{re.escape(METADATA_FILE)}.*|{re.escape(FLUSH_MARK)}"
)
_FLUSHES_AT_CLOSE = 16
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
        is_cut_off: Callable[[], bool] = never,
        is_suspect: Callable[[], bool] = never,
        is_directory_new: Callable[[], bool] = never,
        threads: Callable[[int, str], Executor] = ThreadPoolExecutor,
    ) -> None:
        """`on_append` is called after each append to a partition that has to be flushed,
        `on_follower_ready` when a leader sees that the in-sync set should change, `on_doubt` when a
        replica may lack acknowledged records, and `on_offline` when its disk fails. While
        `is_cut_off`, other nodes may lead partitions that this node believes it leads. The disk
        `is_suspect` if it may have lost something since this node last used it, and
        `is_directory_new` if this node started without any data."""
        self._config = config
        self.image = image
        """The image that `apply` and `reconfigure` use; replaced when a snapshot is loaded."""
        self._data = data
        self._disk = disk
        self._files = OpenFiles(disk, limit=4096)
        self._loop = loop
        self._executor = executor
        self._threads = threads
        self._clock = clock
        self._node_id = node_id
        self._is_suspect = is_suspect
        self._is_directory_new = is_directory_new
        self._suspects: set[tuple[bytes, int]] = set()
        """Replicas that could not be opened yet when the disk was suspect."""
        self.high_watermarks = HighWatermarkCheckpoint(disk, data.path)
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
            self._set_aside,
        )
        self.by_name: dict[str, Replicas] = {}
        self.by_id: dict[bytes, Replicas] = {}
        self.by_encoded_name: dict[bytes, Replicas] = {}
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

    # -- in step with the image --------------------------------------------------------------------

    def report_missing_replicas(self) -> None:
        """Log, at startup, which replicas of this node have no directory.

        Those without another replica are lost, and named. If the data directory is new, all others
        are fetched, and counted.
        """
        found = set(self._data.partitions())
        fetched = 0
        for topic in self.image.topics.values():
            for image in topic.partitions:
                if (topic.name, image.index) in found:
                    continue
                if image.replicas != [self._node_id]:
                    fetched += self._node_id in image.replicas
                    continue
                known = self.high_watermarks.acknowledged(topic.name, topic.topic_id, image.index)
                if not known:
                    logger.warning(
                        "%s-%d has lost its directory and all records in it; it starts empty",
                        topic.name,
                        image.index,
                    )
        if fetched and self._is_directory_new():
            replicas = "1 replica is" if fetched == 1 else f"{fetched} replicas are"
            logger.warning("the data directory is new; %s fetched from other nodes", replicas)

    def apply(self, topic: TopicImage, indexes: Iterable[int]) -> None:
        """Bring the replicas of these partitions of a topic in step with the image.

        A replica that can't be opened or removed because of the disk is retried later.
        """
        settings = self._settings(topic.name)
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
                        partition = self._open(topic, index, settings)
                        partitions[index] = partition
                        self.high_watermarks.opened(partition)
                        self._suspects.discard((topic.topic_id, index))
                        if partition.doubt:
                            self._host.on_doubt(partition)
                    self._assign(partition, image)
                elif partition is not None:
                    partitions[index] = None
                    self._remove(partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            except StorageError as error:
                logger.error("%s-%d: %s", topic.name, index, error)
                if partitions[index] is None and self._node_id in image.replicas:
                    if self._is_suspect():
                        self._suspects.add((topic.topic_id, index))
                    self._host.on_offline(topic.name, topic.topic_id, index)
                self._loop.call_later(_TRY_AGAIN_S, self._try_again, topic.topic_id, index)

    def _rejected(self, partition: Partition, offset: int) -> None:
        self.rejected[partition] = offset
        self.any_rejected.set()

    @property
    def has_suspects(self) -> bool:
        """Whether a replica that may have lost records could not be opened yet."""
        return bool(self._suspects)

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

    def _open(
        self, topic: TopicImage, index: int, settings: tuple[LogConfig, AppendLimits]
    ) -> Partition:
        log_config, limits = settings
        path = self._data.partition_path(topic.name, index)
        acknowledged = self.high_watermarks.acknowledged(topic.name, topic.topic_id, index)
        was_there = self._disk.exists(path)
        owner = read_topic_id(self._disk, path)
        if owner not in (None, topic.topic_id):
            # The topic was deleted and recreated while this node was down.
            logger.warning(
                "%s-%d belongs to an earlier topic of that name; renamed to %s",
                topic.name,
                index,
                self._data.set_aside(topic.name, index),
            )
            owner = None
        if owner is None:
            write_topic_id(self._disk, path, topic.topic_id)
        key = topic.topic_id, index
        power_lost = self._is_suspect() or key in self._suspects
        now_ms = self._clock.now_ms()
        log = Log.open(
            self._disk, path, log_config, now_ms, files=self._files, power_lost=power_lost
        )
        if log.recovery is not None:
            _warn(topic.name, index, log.recovery)
        name = f"{topic.name}-{index}"
        doubt = ReplicaDoubt()
        if topic.partitions[index].is_only_replica(self._node_id):
            accept_alone(
                name, log, acknowledged, now_ms, was_there=was_there, power_lost=power_lost
            )
        else:
            doubt = examine(
                log,
                acknowledged,
                was_there=was_there,
                power_lost=power_lost,
                is_directory_new=self._is_directory_new(),
            )
        log.configure(log_config)  # the settings may have changed since it was written
        partition = Partition(topic.name, index, topic.topic_id, log, limits, self._host)
        partition.doubt = doubt
        log.is_in_doubt = bool(doubt)
        if log.flusher.is_required and log.flushed_offset < log.log_end_offset:
            log.flusher.flush()  # unsynced since a crash: must not be served yet
        elif log.flusher.lacks_mark:
            self._host.on_append(partition)
        return partition

    def _set_aside(self, partition: Partition) -> str:
        """A new directory for records truncated from a partition's log."""
        return self._data.set_aside_path(partition.topic, partition.index, self._clock.now_ms())

    def reconfigure(self, topic: str) -> None:
        """Apply changed settings of the topic, or changed defaults."""
        log_config, limits = self._settings(topic)
        for partition in self.by_name.get(topic, ()):
            if partition is not None:
                partition.configure(log_config, limits)

    def delete_topic(self, name: str, topic_id: bytes) -> Iterator[int]:
        """Hide the topic at once, and delete its files in the background.

        Ten thousand partitions take a second, so it yields after each how many are done.
        """
        partitions = self.by_id.pop(topic_id, [])
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

    def set_strays_aside(self, keep: set[str]) -> None:
        """Rename directories of partitions that the image does not assign to this node.

        A crash during a delete leaves some, but so does lost metadata: so they are kept for an
        operator, renamed so that a new topic of that name is not affected. A directory that has the
        name of a partition but holds no log is left alone. Replicas that have moved to another node
        are deleted. The image must be the newest there is.
        """
        self.high_watermarks.forget_unclaimed(self._is_kept_here)
        for topic, index in self._data.partitions():
            if topic in keep or self._is_kept_here(topic, index):
                continue
            path = self._data.partition_path(topic, index)
            if not self._holds_a_log(path):
                logger.warning("%s-%d is not a partition; ignored", topic, index)
                continue
            image = self.image.topics.get(topic)
            if image is not None and read_topic_id(self._disk, path) == image.topic_id:
                self.run_later(self._data.delete_partition(topic, index))
                continue
            logger.warning(
                "%s-%d belongs to no topic; renamed to %s, which can be removed",
                topic,
                index,
                self._data.set_aside(topic, index),
            )

    def _is_kept_here(self, topic: str, index: int) -> bool:
        image = self.image.topics.get(topic)
        return (
            image is not None
            and index < len(image.partitions)
            and self._node_id in image.partitions[index].replicas
        )

    def _holds_a_log(self, path: str) -> bool:
        try:
            names = self._disk.list_files(path)
            return not self._disk.list_directories(path) and all(map(_LOG_FILE.fullmatch, names))
        except OSError:
            return False

    def close(self) -> bool:
        """Flush and close every log, so that the next start needs no scan; returns whether all
        succeeded.

        The flushes run in parallel: in sequence, a thousand partitions take seconds.
        """
        flushes: list[tuple[Partition, FlushJob]] = []
        failed: list[Partition] = []
        for partition in self:
            with _logged(partition, failed):
                job = partition.log.flusher.prepare(everything=True)
                if job is not None:
                    flushes.append((partition, job))
        closed: list[Partition] = []

        def sync_state(partition: Partition) -> None:
            with _logged(partition, failed):
                partition.log.state_file.sync()

        with self._threads(_FLUSHES_AT_CLOSE, "flush") as pool:
            for _ in pool.map(lambda flush: flush[1].run(), flushes):
                pass
            for partition, job in flushes:
                with _logged(partition, failed):
                    partition.log.flusher.complete(job)
            for partition in self:
                with _logged(partition, failed):
                    partition.close()
                    if partition.log.segments:
                        closed.append(partition)
            for _ in pool.map(sync_state, closed):
                pass
        self.high_watermarks.close()
        return not failed

    def _settings(self, topic: str) -> tuple[LogConfig, AppendLimits]:
        """The log settings and append limits of a topic."""
        config = self._config
        configs = self.image.topic_configs(topic)
        configs = {**own_defaults(topic, configs), **configs}
        topic_settings = config.topic(configs)
        compression = topic_settings.compression
        limits = AppendLimits(
            topic_settings.max_message_bytes,
            config.replicas.max_decompressed_batch_bytes,
            topic_settings.timestamp_before_max_ms,
            topic_settings.timestamp_after_max_ms,
            topic_settings.is_compacted,
            topic_settings.min_insync_replicas,
            compression,
            in_place=compression is None and not topic_settings.log.is_log_append_time,
        )
        return topic_settings.log, limits


def _warn(topic: str, index: int, recovery: RecoveryReport) -> None:
    if recovery.lost:
        logger.warning("%s-%d has lost %s", topic, index, recovery.lost)
    if recovery.scanned_bytes or recovery.dropped_segments:
        logger.warning(
            "%s-%d was not closed: scanned %d bytes, truncated %d",
            topic,
            index,
            recovery.scanned_bytes,
            recovery.cut_bytes,
        )


@contextmanager
def _logged(partition: Partition, failed: list[Partition]) -> Iterator[None]:
    """Log a failed close and go on with the others; the next start scans that log."""
    try:
        yield
    except StorageError as error:
        failed.append(partition)
        logger.error("%s-%d could not be closed: %s", partition.topic, partition.index, error)
