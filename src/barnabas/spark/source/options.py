"""Options of reads, by the names and with the meanings of Spark's own Kafka source.

Names are case-insensitive, as everywhere in Spark. No option is ignored: options of Spark's source
that have no meaning here are refused with an error that names the alternative, and so are unknown
names.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from barnabas.client.consumer.range_reader import PATIENCE_S
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST
from barnabas.errors import InvalidArgument
from barnabas.spark.cluster.kafka_settings import PREFIX
from barnabas.spark.source.consumer_settings import ConsumerSettings, consumer_settings
from barnabas.spark.source.positions import (
    Positions,
    parse_offsets,
    parse_partitions,
    parse_timestamp,
    parse_timestamps,
)
from barnabas.spark.source.subscription import Assigned, Named, Pattern, Subscription

REGISTERED = ("schema", "registry", "subject", "undecodable")
"""Options for columns from a schema registry: see `registered_columns`."""
_NAMES = (
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "failOnDataLoss",
    "includeHeaders",
    "minPartitions",
    "maxRecordsPerPartition",
    "maxOffsetsPerTrigger",
    "maxBytesPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "groupId",
    "idleWait",
    "tableFolder",
    *REGISTERED,
    "kafkaConsumer.pollTimeoutMs",
)
READ_OPTIONS = {name.lower(): name for name in _NAMES}
"""All options except settings of Kafka clients, by their names in lower case."""

REFUSED_READ_OPTIONS = {
    "groupIdPrefix": "a read joins no consumer group; groupId commits a stream's progress to one",
    "fetchOffset.numRetries": "use kafka.default.api.timeout.ms: offsets are asked for that long",
    "fetchOffset.retryIntervalMs": "use kafka.default.api.timeout.ms, which bounds all retries",
}
"""Options of Spark's source that this one does not support, with the alternative."""

_REFUSED = {name.lower(): (name, instead) for name, instead in REFUSED_READ_OPTIONS.items()}
DECODING = "barnabas.decoding"
"""Options that pipelines add: how values are decoded (`record_decoding`)."""
_OF_SPARK = {"path"}
"""Options that Spark itself adds."""

_UNITS_MS = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}
_UNITS_BYTES = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d+)\s*(?:([kmgt])b?|b)?$")
_POLL_TIMEOUT_MS = int(PATIENCE_S * 1000)
_DURATION = re.compile(r"(\d+)\s*(ms|s|m|min|h|d)?$")


@dataclass(frozen=True)
class SourceOptions:
    """What batch and streaming reads have in common."""

    consumer: ConsumerSettings
    subscription: Subscription
    starting: Positions
    starting_time_may_lie_ahead: bool
    """Whether a time that no record has reached stands for the end of the log."""
    fail_on_data_loss: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    poll_timeout_ms: int
    """How long a task waits for records that are in the log."""


@dataclass(frozen=True)
class BatchOptions:
    """Options of `spark.read`."""

    source: SourceOptions
    ending: Positions
    table_folder: str | None = None
    """Where records are stored, so that the next read needs only newer ones."""


@dataclass(frozen=True)
class StreamOptions:
    """Options of `spark.readStream`."""

    source: SourceOptions
    max_offsets_per_trigger: int | None
    max_bytes_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    group_id: str | None
    idle_wait_ms: int = 0
    """How long the stream waits for new records before it answers that there are none."""


def batch_options(given: Mapping[str, str]) -> BatchOptions:
    """The options of a batch read; raises `InvalidArgument`."""
    options = _Options(given)
    starting = _starting(options, Positions(EARLIEST))
    ending = _ending(options)
    if not starting.are_times and LATEST in starting.places:
        raise InvalidArgument("startingOffsets: a batch that begins at the latest offset is empty")
    if not ending.are_times and EARLIEST in ending.places:
        raise InvalidArgument("endingOffsets: a batch that ends at the earliest offset is empty")
    folder = options.get("tableFolder")
    if folder is not None and (starting, ending) != (Positions(EARLIEST), Positions(LATEST)):
        raise InvalidArgument("tableFolder is for whole topics: leave out offsets and times")
    return BatchOptions(_source(options, starting), ending, folder)


def stream_options(given: Mapping[str, str]) -> StreamOptions:
    """The options of a stream; raises `InvalidArgument`."""
    options = _Options(given)
    if options.get("tableFolder") is not None:
        raise InvalidArgument("tableFolder is for batch reads: a stream reads each record once")
    for name in ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"):
        if options.get(name) is not None:
            raise InvalidArgument(f"{name} is for batch reads: a stream does not end")
    delay = options.get("maxTriggerDelay")
    return StreamOptions(
        _source(options, _starting(options, Positions(LATEST))),
        max_offsets_per_trigger=options.number("maxOffsetsPerTrigger"),
        max_bytes_per_trigger=_size(options, "maxBytesPerTrigger"),
        min_offsets_per_trigger=options.number("minOffsetsPerTrigger"),
        max_trigger_delay_ms=_duration_ms("maxTriggerDelay", delay or "15m"),
        group_id=options.get("groupId"),
        idle_wait_ms=_duration_ms("idleWait", options.get("idleWait") or "0ms"),
    )


class _Options:
    """Options by their names, whose case does not matter."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self.given = {name.lower(): value for name, value in given.items()}
        for name in self.given:
            if name in _REFUSED:
                raise InvalidArgument("{} cannot be set: {}".format(*_REFUSED[name]))
            if name not in {*READ_OPTIONS, *_OF_SPARK, DECODING} and not name.startswith(PREFIX):
                like = get_close_matches(name, READ_OPTIONS, 1)
                hint = f": did you mean {READ_OPTIONS[like[0]]}?" if like else ""
                raise InvalidArgument(f"no option {name!r}{hint}")

    def get(self, name: str) -> str | None:
        return self.given.get(name.lower())

    def number(self, name: str) -> int | None:
        text = self.get(name)
        if text is None:
            return None
        if not text.strip().isdigit() or int(text) < 1:
            raise InvalidArgument(f"{name} is a number of at least 1, not {text!r}")
        return int(text)

    def flag(self, name: str, default: bool) -> bool:
        text = self.get(name)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise InvalidArgument(f'{name} is "true" or "false", not {text!r}')
        return text.lower() == "true"


def _source(options: _Options, starting: Positions) -> SourceOptions:
    strategy = (options.get("startingOffsetsByTimestampStrategy") or "error").lower()
    if strategy not in ("error", "latest"):
        raise InvalidArgument(
            f'startingOffsetsByTimestampStrategy is "error" or "latest", not {strategy!r}'
        )
    options.flag("includeHeaders", default=False)  # already used for the schema
    return SourceOptions(
        consumer_settings(options.given),
        _subscription(options),
        starting,
        starting_time_may_lie_ahead=strategy == "latest",
        fail_on_data_loss=options.flag("failOnDataLoss", default=True),
        min_partitions=options.number("minPartitions"),
        max_records_per_partition=options.number("maxRecordsPerPartition"),
        poll_timeout_ms=options.number("kafkaConsumer.pollTimeoutMs") or _POLL_TIMEOUT_MS,
    )


def _subscription(options: _Options) -> Subscription:
    names, pattern, assign = map(options.get, ("subscribe", "subscribePattern", "assign"))
    if [names, pattern, assign].count(None) != 2:
        raise InvalidArgument("set one of subscribe, subscribePattern and assign")
    if names is not None:
        topics = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
        if not topics:
            raise InvalidArgument("subscribe names no topic")
        return Named(topics)
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            raise InvalidArgument(
                f"subscribePattern is not a regular expression: {error}"
            ) from None
        return Pattern(pattern)
    assert assign is not None
    return Assigned(tuple(parse_partitions("assign", assign)))


def _starting(options: _Options, default: Positions) -> Positions:
    return _positions(
        options, "startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets", default
    )


def _ending(options: _Options) -> Positions:
    return _positions(
        options, "endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets", Positions(LATEST)
    )


def _positions(
    options: _Options, by_time: str, by_times: str, by_offset: str, default: Positions
) -> Positions:
    """One time for all has priority over times for each, and these over offsets, as in Spark."""
    if (text := options.get(by_time)) is not None:
        return parse_timestamp(by_time, text)
    if (text := options.get(by_times)) is not None:
        return parse_timestamps(by_times, text)
    if (text := options.get(by_offset)) is not None:
        return parse_offsets(by_offset, text)
    return default


def _duration_ms(name: str, text: str) -> int:
    found = _DURATION.match(text.strip().lower())
    if found is None:
        raise InvalidArgument(f"{name} must be a duration such as 500ms, 30s or 15m, not {text!r}")
    return int(found[1]) * _UNITS_MS[found[2] or "ms"]


def _size(options: _Options, name: str) -> int | None:
    """A number of bytes as Spark writes it: 1048576, 512k, 10m, 1g."""
    text = options.get(name)
    if text is None:
        return None
    found = _SIZE.match(text.strip().lower())
    if found is None or not int(found[1]):
        raise InvalidArgument(f"{name} must be a size such as 1048576, 512k or 10m, not {text!r}")
    return int(found[1]) * _UNITS_BYTES[found[2] or ""]
