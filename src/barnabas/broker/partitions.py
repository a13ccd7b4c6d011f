"""All partitions of this node, kept in step with the metadata image."""

import logging
import re
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

from barnabas.broker.clock import now_ms
from barnabas.broker.config import BrokerConfig
from barnabas.broker.partition import AppendLimits, Partition
from barnabas.log import (
    DataDirectory,
    DeleteJob,
    Disk,
    Log,
    LogConfig,
    OpenFiles,
    RecoveryReport,
    StorageError,
)
from barnabas.metadata.image import MetadataImage, TopicImage

logger = logging.getLogger(__name__)

_LOG_FILE = re.compile(r"\d{20}\..+|log\.state.*")

_FLUSHES_AT_CLOSE = 16


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
    ) -> None:
        self._config = config
        self._image = image
        self._data = data
        self._disk = disk
        self._files = OpenFiles(disk, limit=4096)
        self._loop = loop
        self._executor = executor
        self._on_append = on_append
        self.by_name: dict[str, list[Partition]] = {}
        self.by_id: dict[bytes, list[Partition]] = {}
        self.by_encoded_name: dict[bytes, list[Partition]] = {}

    def __iter__(self) -> Iterator[Partition]:
        for partitions in tuple(self.by_name.values()):
            yield from tuple(partitions)

    def get(self, topic: str, index: int) -> Partition | None:
        partitions = self.by_name.get(topic, ())
        return partitions[index] if 0 <= index < len(partitions) else None

    def open_all(self) -> None:
        """Open, at the start, everything that the image says there is."""
        found = set(self._data.partitions())
        defaults = self._settings({})  # which most topics share
        for topic in self._image.topics.values():
            for image in topic.partitions:
                if (topic.name, image.index) not in found:
                    logger.warning(
                        "%s-%d has lost its directory and all that was in it: it begins empty",
                        topic.name,
                        image.index,
                    )
            configs = self._image.topic_configs(topic.name)
            self._open(topic, self._settings(configs) if configs else defaults)

    def open_topic(self, topic: TopicImage) -> None:
        """Open what the image says this topic has and is not open yet."""
        self._open(topic, self._settings(self._image.topic_configs(topic.name)))

    def _open(self, topic: TopicImage, settings: tuple[LogConfig, AppendLimits]) -> None:
        log_config, limits = settings
        partitions = self.by_name.setdefault(topic.name, [])
        self.by_id[topic.topic_id] = partitions
        self.by_encoded_name[topic.name.encode()] = partitions
        for image in topic.partitions[len(partitions) :]:
            path = self._data.partition_path(topic.name, image.index)
            log = Log.open(self._disk, path, log_config, now_ms(), files=self._files)
            if log.recovery is not None:
                _warn(topic.name, image.index, log.recovery)
            if log.flush_required:
                log.flush()  # what a crash left in memory only is not to be shown yet
            partitions.append(
                Partition(
                    topic.name,
                    image.index,
                    log,
                    image.leader_epoch,
                    limits,
                    self._on_append,
                )
            )

    def reconfigure(self, topic: str) -> None:
        """Settings of the topic, or the defaults behind them, have changed."""
        log_config, limits = self._settings(self._image.topic_configs(topic))
        for partition in self.by_name.get(topic, ()):
            partition.configure(log_config, limits)

    def delete_topic(self, name: str, topic_id: bytes) -> None:
        """Take the topic out of sight at once and off the disk in the background."""
        self.by_id.pop(topic_id, None)
        self.by_encoded_name.pop(name.encode(), None)
        partitions = self.by_name.pop(name, [])
        for partition in partitions:  # all of them, should the disk refuse one of the renames
            partition.retire()
            partition.log.abandon()
        for partition in partitions:
            self.run_later(self._data.delete_partition(name, partition.index))

    def run_later(self, job: DeleteJob, delay_ms: int = 0) -> None:
        """Remove files on another thread, as removing a large one takes a while."""
        self._loop.call_later(delay_ms / 1000, self._loop.run_in_executor, self._executor, job.run)

    def set_strays_aside(self, keep: set[str]) -> None:
        """Rename directories of partitions that the image does not know.

        A delete that a crash cut short leaves some, but so does metadata that was lost: they are
        kept for people to look at, and out of the way of a new topic of that name. What only has
        the name of a partition, and holds something else than a log, is somebody else's.
        """
        for topic, index in self._data.partitions():
            if topic in keep or self.get(topic, index) is not None:
                continue
            if not self._holds_a_log(self._data.partition_path(topic, index)):
                logger.warning("%s-%d is no partition and is left alone", topic, index)
                continue
            logger.warning(
                "%s-%d belongs to no topic; it is %s now, remove that if nobody misses it",
                topic,
                index,
                self._data.set_aside(topic, index),
            )

    def _holds_a_log(self, path: str) -> bool:
        try:
            names = self._disk.list_files(path)
            return not self._disk.list_directories(path) and all(map(_LOG_FILE.fullmatch, names))
        except OSError:
            return False

    def close(self) -> None:
        """Flush and close every log, so that the next start needs no scan.

        The flushes run side by side: one after the other, a thousand partitions take seconds.
        """
        flushes = []
        for partition in self:
            with _logged(partition):
                job = partition.log.prepare_flush(everything=True)
                if job is not None:
                    flushes.append((partition, job))
        with ThreadPoolExecutor(_FLUSHES_AT_CLOSE, "flush") as pool:
            for _ in pool.map(lambda flush: flush[1].run(), flushes):
                pass
        for partition, job in flushes:
            with _logged(partition):
                partition.log.complete_flush(job)
        for partition in self:
            with _logged(partition):
                partition.log.close()

    def _settings(self, configs: dict[str, str]) -> tuple[LogConfig, AppendLimits]:
        """What a topic that sets `configs` obeys."""
        config = self._config
        limits = AppendLimits(
            config.topic_number(configs, "max.message.bytes"),
            config.number("max.decompressed.batch.bytes"),
            config.topic_number(configs, "message.timestamp.before.max.ms"),
            config.topic_number(configs, "message.timestamp.after.max.ms"),
            "compact" in str(config.topic_value(configs, "cleanup.policy")).split(","),
            config.topic_number(configs, "min.insync.replicas"),
        )
        return config.log_config(configs), limits


def _warn(topic: str, index: int, recovery: RecoveryReport) -> None:
    if recovery.lost:
        logger.warning("%s-%d has lost %s", topic, index, recovery.lost)
    if recovery.scanned_bytes or recovery.dropped_segments:
        logger.warning(
            "%s-%d was not closed: scanned %d bytes, cut %d",
            topic,
            index,
            recovery.scanned_bytes,
            recovery.cut_bytes,
        )


@contextmanager
def _logged(partition: Partition) -> Iterator[None]:
    """A log that can't be closed well is scanned at the next start; the others still are."""
    try:
        yield
    except StorageError as error:
        logger.error("%s-%d was not closed well: %s", partition.topic, partition.index, error)
