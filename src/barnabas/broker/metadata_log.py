"""Where agreed changes are kept: the log of the topic `__cluster_metadata`, flushed at each write.

It is the ordinary partition log. At the start it is read from the beginning and replayed. If it is
damaged, the broker does not start: half of what was agreed is worse than none. Only an append that
a crash has torn is cut off, as nobody was told that it had happened.
"""

import logging

from barnabas.broker.clock import now_ms
from barnabas.broker.stored_records import stored_records
from barnabas.log import Disk, Log, LogConfig, StorageError, refuse_damage
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.records import (
    MetadataRecord,
    decode_metadata_record,
    encode_metadata_record,
)
from barnabas.records.batch import parse_header
from barnabas.records.encode import encode_batch
from barnabas.wire.primitives import WireError

logger = logging.getLogger(__name__)


class MetadataLog:
    """Persists metadata records, then replays them into the image."""

    def __init__(self, disk: Disk, directory: str, image: MetadataImage) -> None:
        """Read what was agreed. Raises `StorageError`, also if it makes no sense."""
        self._image = image
        refuse_damage(disk, directory)
        config = LogConfig(retention_ms=-1, cleanup_policy=frozenset())
        self._log = Log.open(disk, directory, config, now_ms())
        if self._log.recovery is not None and self._log.recovery.cut_bytes:
            logger.warning(
                "the metadata was cut by %d bytes: %s",
                self._log.recovery.cut_bytes,
                self._log.recovery.flaw,
            )
        try:
            for record in stored_records(self._log):
                assert record.value is not None
                image.replay(decode_metadata_record(record.value))
        except WireError as error:
            raise StorageError(f"the metadata in {directory} can't be read: {error}") from error

    def commit(self, records: list[MetadataRecord]) -> None:
        """Agree on `records`: on disk first, then in the image. Raises `StorageError`."""
        if not records:
            return
        time_ms = now_ms()
        batch = encode_batch(
            [(time_ms, None, encode_metadata_record(record), ()) for record in records]
        )
        self._log.append(memoryview(batch), [(0, parse_header(batch))], 0, time_ms)
        self._log.flush()
        for record in records:
            self._image.replay(record)

    def close(self) -> None:
        self._log.close()
