"""What a topic's settings allow a producer to send."""

from dataclasses import dataclass

from barnabas.records.batch import BatchHeader
from barnabas.records.decode import decode_batch
from barnabas.records.errors import CorruptBatch, InvalidBatch
from barnabas.wire.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class AppendLimits:
    max_message_bytes: int
    max_decompressed_bytes: int
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    needs_keys: bool
    """Compaction goes by key, so a compacted topic takes no record without one."""
    min_insync_replicas: int = 1
    """For acks=all."""

    def check_timestamps(self, header: BatchHeader, now_ms: int) -> None:
        """Raises `InvalidBatch`."""
        if header.max_timestamp - now_ms > self.timestamp_after_max_ms:
            raise InvalidBatch(
                ErrorCode.INVALID_TIMESTAMP,
                f"a timestamp lies {header.max_timestamp - now_ms} ms ahead of the broker's "
                f"clock; message.timestamp.after.max.ms is {self.timestamp_after_max_ms}",
            )
        if now_ms - header.base_timestamp > self.timestamp_before_max_ms:
            raise InvalidBatch(
                ErrorCode.INVALID_TIMESTAMP,
                f"a timestamp lies {now_ms - header.base_timestamp} ms behind the broker's "
                f"clock; message.timestamp.before.max.ms is {self.timestamp_before_max_ms}",
            )

    def check_keys(self, batch: memoryview) -> None:
        """Raises `InvalidBatch` unless every record of the batch has a key."""
        try:
            records = decode_batch(batch, limit=self.max_decompressed_bytes)
        except CorruptBatch as error:
            raise InvalidBatch(ErrorCode.INVALID_RECORD, str(error)) from error
        for record in records:
            if record.key is None:
                raise InvalidBatch(
                    ErrorCode.INVALID_RECORD,
                    "a compacted topic takes only records with a key (cleanup.policy=compact)",
                )
