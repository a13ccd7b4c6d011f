"""`partition.metadata`: which topic the directory of a partition belongs to.

A topic may be deleted and created again while a node is away; its directory then has the right name
and the wrong records. The file has Kafka's format: a version, and the id in URL-safe base64.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode

from barnabas.log.errors import storage_errors
from barnabas.log.storage import Disk

METADATA_FILE = "partition.metadata"
_ID_BYTES = 16


def write_topic_id(disk: Disk, directory: str, topic_id: bytes) -> None:
    """Make the directory if need be, and say whose it is. Raises `StorageError`."""
    text = urlsafe_b64encode(topic_id).rstrip(b"=")
    with storage_errors(f"can not write {directory}/{METADATA_FILE}"):
        disk.make_directory(directory)
        disk.replace_file(f"{directory}/{METADATA_FILE}", b"version: 0\ntopic_id: " + text + b"\n")


def read_topic_id(disk: Disk, directory: str) -> bytes | None:
    """Whose the directory is; None if it does not say, as older ones do not."""
    try:
        lines = disk.read_file(f"{directory}/{METADATA_FILE}").splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(b": ")
        if name == b"topic_id":
            try:
                topic_id = urlsafe_b64decode(value.strip() + b"==")
            except binascii.Error:
                return None
            return topic_id if len(topic_id) == _ID_BYTES else None
    return None
