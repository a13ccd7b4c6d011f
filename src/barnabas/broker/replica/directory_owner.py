"""Which topic the records in a replica's directory belong to, and what follows if it is another.

`partition.metadata` names the topic. If the file is gone or damaged, the records may be those of an
earlier topic of the same name, which must never be served as this one's. Then the line in
`replication-offset-checkpoint` is the second witness. Without a witness for this topic the
directory is set aside, and the replica fetches its records again.
"""

import logging

from barnabas.log import METADATA_FILE, DataDirectory, Disk, read_topic_id, write_topic_id
from barnabas.log.errors import storage_errors

logger = logging.getLogger(__name__)

OWNER_UNKNOWN = f"its directory was set aside, because its {METADATA_FILE} can't be read"


def claim_directory(
    disk: Disk,
    data: DataDirectory,
    topic: str,
    topic_id: bytes,
    index: int,
    checkpointed_id: bytes | None,
) -> bool:
    """Make sure that the directory of a replica belongs to this topic, and exists.

    `checkpointed_id`: the topic that the checkpoint names for the replica. False if records were
    set aside that may have been this topic's. Raises `StorageError`.
    """
    path = data.partition_path(topic, index)
    owner = read_topic_id(disk, path)
    if owner == topic_id:
        return True
    is_unknown = owner is None and _holds_log_files(disk, path)
    if is_unknown and checkpointed_id == topic_id:
        logger.warning(
            "%s/%s can't be read; written again, because the checkpoint of the high watermarks "
            "names the same topic",
            path,
            METADATA_FILE,
        )
    elif is_unknown:
        logger.error(
            "%s/%s can't be read: the records may be those of an earlier topic. The directory was "
            "renamed to %s; the replica fetches its records from another, if there is one",
            path,
            METADATA_FILE,
            data.set_aside(topic, index),
        )
    elif owner is not None:
        # The topic was deleted and recreated while this node was down.
        logger.warning(
            "%s-%d belongs to an earlier topic of that name; renamed to %s",
            topic,
            index,
            data.set_aside(topic, index),
        )
    # Otherwise it is synced with the first records; here some may be on stable storage already.
    write_topic_id(disk, path, topic_id, sync=is_unknown)
    return not is_unknown or checkpointed_id == topic_id


def belongs_to(disk: Disk, path: str, topic_id: bytes, checkpointed_id: bytes | None) -> bool:
    """Whether the next start of the node takes a directory for the topic's. Changes nothing."""
    owner = read_topic_id(disk, path)
    if owner is None and _holds_log_files(disk, path):
        return checkpointed_id == topic_id
    return owner in (None, topic_id)


def holds_files(disk: Disk, path: str) -> bool:
    """Whether the directory of a replica exists and is not empty. Raises `StorageError`."""
    return bool(_files(disk, path))


def _holds_log_files(disk: Disk, path: str) -> bool:
    """Whether anything is there but the file that names the topic. Any file tells about a log:
    where it starts, or that all of it was flushed. Raises `StorageError`."""
    return any(not name.startswith(METADATA_FILE) for name in _files(disk, path))


def _files(disk: Disk, path: str) -> list[str]:
    with storage_errors(f"cannot list {path}"):
        try:
            return list(disk.list_files(path))
        except FileNotFoundError:
            return []
