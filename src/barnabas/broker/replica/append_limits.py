"""What a topic's settings allow a producer to send."""

from dataclasses import dataclass

from barnabas.quantities import agreeing, counted_of
from barnabas.records.batch import BatchHeader
from barnabas.records.check import FoundRecord
from barnabas.records.errors import InvalidBatch
from barnabas.records.recompress import CompressionTarget
from barnabas.records.record import NO_TIMESTAMP
from barnabas.records.validate import refused_records
from barnabas.wire.errors import ErrorCode

MAX_RECORD_ERRORS = 10_000
"""How many records a refusal names: as many as librdkafka puts into a batch unless told otherwise.

A batch of a few kilobytes may decompress to millions of them.
"""
_MAX_TIMESTAMP = 2**63 - 1


@dataclass(frozen=True, slots=True)
class AppendLimits:
    max_message_bytes: int
    max_decompressed_bytes: int
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    needs_keys: bool
    """Compaction needs keys, so a compacted topic accepts no record without one."""
    min_insync_replicas: int = 1
    """For acks=all."""
    compression: CompressionTarget | None = None
    """How batches are compressed, if not as the producer did: `compression.type`."""
    in_place: bool = True
    """Whether a batch can be stored as it is in the request, without further checks or changes."""

    def allow(self, earliest: int, latest: int, now_ms: int) -> bool:
        """Whether records with these timestamps may be stored; true if they have none."""
        return earliest == NO_TIMESTAMP or (
            earliest >= 0
            and latest - now_ms <= self.timestamp_after_max_ms
            and now_ms - earliest <= self.timestamp_before_max_ms
        )

    def refusal(
        self,
        header: BatchHeader,
        batch: memoryview,
        now_ms: int,
        *,
        is_log_append_time: bool,
        max_record_errors: int = MAX_RECORD_ERRORS,
    ) -> InvalidBatch:
        """Why a batch is refused because of some of its records, and which records these are; at
        least one.

        A missing key is reported before a wrong timestamp, as in Kafka.
        """
        from_ms, upto_ms = 0, _MAX_TIMESTAMP
        if is_log_append_time:
            from_ms = -_MAX_TIMESTAMP
        else:
            from_ms = max(from_ms, now_ms - self.timestamp_before_max_ms)
            upto_ms = min(upto_ms, now_ms + self.timestamp_after_max_ms)
        found = refused_records(
            header,
            batch,
            from_timestamp=from_ms,
            upto_timestamp=upto_ms,
            needs_key=self.needs_keys,
            limit=max(1, max_record_errors),
            max_decompressed_bytes=self.max_decompressed_bytes,
        )
        bad_keys, bad_times = self._sorted(found, from_ms, upto_ms)
        at_least = "at least " if len(found) >= max_record_errors else ""
        messages = []
        if bad_keys:
            messages.append(
                f"{at_least}{_some_have(len(bad_keys), header.record_count)} no key, which a "
                "compacted topic needs (cleanup.policy=compact)"
            )
        if bad_times:
            messages.append(
                f"{at_least}{_some_have(len(bad_times), header.record_count)} a timestamp "
                f"outside of {from_ms} to {upto_ms} "
                "(message.timestamp.before.max.ms, message.timestamp.after.max.ms)"
            )
        return InvalidBatch(
            ErrorCode.INVALID_TIMESTAMP if bad_times else ErrorCode.INVALID_RECORD,
            "; ".join(messages),
            sorted(bad_keys + bad_times),
        )

    def _sorted(
        self, found: list[FoundRecord], from_ms: int, upto_ms: int
    ) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
        bad_keys: list[tuple[int, str]] = []
        bad_times: list[tuple[int, str]] = []
        for index, timestamp, has_key in found:
            if self.needs_keys and not has_key:
                bad_keys.append((index, "the record has no key"))
            else:
                bad_times.append(
                    (index, f"timestamp {timestamp} is not between {from_ms} and {upto_ms}")
                )
        return bad_keys, bad_times


def _some_have(number: int, of: int) -> str:
    return f"{counted_of(number, of, 'record')} {agreeing(number, 'has', 'have')}"
