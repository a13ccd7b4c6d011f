"""`partition.metadata`: which topic the directory of a partition belongs to.

A topic may be deleted and created again while a node is down; its directory then has the right name
and the wrong records. The file has Kafka's format, a version and the id in URL-safe base64, and a
checksum behind it. Files of earlier releases have no checksum.

It is synced with the first records that are (`flush_job`), on another thread: a thousand partitions
made at once would stop the event loop for seconds. So a power loss may leave any bytes as long as
nothing in the directory is known to be on stable storage.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from zlib import crc32

from barnabas.log.errors import storage_errors
from barnabas.log.segment.file_names import METADATA_FILE
from barnabas.log.storage import Disk

_ID_BYTES = 16


def write_topic_id(disk: Disk, directory: str, topic_id: bytes, *, sync: bool = False) -> None:
    """Write the file, and make the directory if necessary. Raises `StorageError`."""
    text = urlsafe_b64encode(topic_id).rstrip(b"=")
    content = b"version: 0\ntopic_id: %b\ncrc: %08x\n" % (text, crc32(text))
    with storage_errors(f"cannot write {directory}/{METADATA_FILE}"):
        disk.make_directory(directory)
        disk.replace_file(f"{directory}/{METADATA_FILE}", content, sync=sync)


def read_topic_id(disk: Disk, directory: str) -> bytes | None:
    """The topic id; None if the file is missing or damaged. Raises `StorageError`."""
    path = f"{directory}/{METADATA_FILE}"
    with storage_errors(f"cannot read {path}"):
        try:
            content = disk.read_file(path)
        except FileNotFoundError:
            return None
    return parse_topic_id(content)


def parse_topic_id(content: bytes) -> bytes | None:
    """The topic id in the content of the file; None if it is damaged."""
    entries = dict(line.partition(b": ")[::2] for line in content.splitlines())
    text = entries.get(b"topic_id", b"").strip()
    if entries.get(b"crc", b"%08x" % crc32(text)) != b"%08x" % crc32(text):
        return None
    try:
        topic_id = urlsafe_b64decode(text + b"==")
    except binascii.Error:
        return None
    return topic_id if len(topic_id) == _ID_BYTES and content.endswith(b"\n") else None
