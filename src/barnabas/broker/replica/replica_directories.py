"""Directories of replicas, compared with the metadata image when a node starts."""

import logging
import re
from collections.abc import Callable

from barnabas.broker.replica.high_watermark_checkpoint import HighWatermarkCheckpoint
from barnabas.log import FLUSH_MARK, METADATA_FILE, DataDirectory, DeleteJob, Disk, read_topic_id
from barnabas.metadata.image import MetadataImage

logger = logging.getLogger(__name__)

_LOG_FILE = re.compile(
    rf"\d{{20}}\..+|log\.state.*|{re.escape(METADATA_FILE)}.*|{re.escape(FLUSH_MARK)}"
)


class ReplicaDirectories:
    """Finds replicas without a directory, and directories without a replica."""

    def __init__(
        self,
        data: DataDirectory,
        disk: Disk,
        node_id: int,
        high_watermarks: HighWatermarkCheckpoint,
        run_later: Callable[[DeleteJob], None],
    ) -> None:
        self._data = data
        self._disk = disk
        self._node_id = node_id
        self._high_watermarks = high_watermarks
        self._run_later = run_later

    def report_missing(self, cluster: MetadataImage, *, is_directory_new: bool) -> None:
        """Log, at startup, which replicas of this node have no directory.

        Those without another replica are lost, and named. If the data directory is new, all others
        are fetched, and counted.
        """
        found = set(self._data.partitions())
        fetched = 0
        for topic in cluster.topics.values():
            for image in topic.partitions:
                if (topic.name, image.index) in found:
                    continue
                if image.replicas != [self._node_id]:
                    fetched += self._node_id in image.replicas
                    continue
                known = self._high_watermarks.acknowledged(topic.name, topic.topic_id, image.index)
                if not known:
                    logger.warning(
                        "%s-%d has lost its directory and all records in it; it starts empty",
                        topic.name,
                        image.index,
                    )
        if fetched and is_directory_new:
            replicas = "1 replica is" if fetched == 1 else f"{fetched} replicas are"
            logger.warning("the data directory is new; %s fetched from other nodes", replicas)

    def set_strays_aside(self, cluster: MetadataImage, keep: set[str]) -> None:
        """Rename directories of partitions that the image does not assign to this node.

        A crash during a delete leaves some, but so does lost metadata: so they are kept for an
        operator, renamed so that a new topic of that name is not affected. A directory that has the
        name of a partition but holds no log is left alone. Replicas that have moved to another node
        are deleted. The image must be the newest there is.
        """

        def is_kept_here(topic: str, index: int) -> bool:
            image = cluster.topics.get(topic)
            return (
                image is not None
                and index < len(image.partitions)
                and self._node_id in image.partitions[index].replicas
            )

        self._high_watermarks.forget_unclaimed(is_kept_here)
        for topic, index in self._data.partitions():
            if topic in keep or is_kept_here(topic, index):
                continue
            path = self._data.partition_path(topic, index)
            if not self._holds_a_log(path):
                logger.warning("%s-%d is not a partition; ignored", topic, index)
                continue
            image = cluster.topics.get(topic)
            if image is not None and read_topic_id(self._disk, path) == image.topic_id:
                self._run_later(self._data.delete_partition(topic, index))
                continue
            logger.warning(
                "%s-%d belongs to no topic; renamed to %s, which can be removed",
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
