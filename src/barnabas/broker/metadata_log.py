"""Where agreed changes are kept: the log of the topic `__cluster_metadata`, flushed at each write.

It is the ordinary partition log. At the start it is read from the beginning and replayed.
"""

from barnabas.broker.clock import now_ms
from barnabas.log import Disk, Log, LogConfig
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.records import (
    MetadataRecord,
    decode_metadata_record,
    encode_metadata_record,
)
from barnabas.records.batch import parse_header
from barnabas.records.decode import decode_records
from barnabas.records.encode import encode_batch

_READ_BYTES = 1 << 20


class MetadataLog:
    """Persists metadata records, then replays them into the image."""

    def __init__(self, disk: Disk, directory: str, image: MetadataImage) -> None:
        self._image = image
        config = LogConfig(retention_ms=-1, cleanup_policy=frozenset())
        self._log = Log.open(disk, directory, config, now_ms())
        offset = self._log.log_start_offset
        while offset < self._log.log_end_offset:
            for record in decode_records(self._log.read(offset, _READ_BYTES)):
                assert record.value is not None
                image.replay(decode_metadata_record(record.value))
                offset = record.offset + 1

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
