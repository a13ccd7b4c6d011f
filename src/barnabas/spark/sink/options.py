"""Options of writes, by the names and with the meanings of Spark's own Kafka sink, and one more.

`deliveryGuarantee` says what a failure may do to a stream. "at-least-once", the default, is what
Spark's own sink does: a batch that is written again after a failure is duplicated. With
"exactly-once" it is not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from barnabas.client.producer.record_producer import ACKS_ALL
from barnabas.errors import InvalidArgument
from barnabas.spark.cluster.kafka_settings import PREFIX
from barnabas.spark.sink.producer_settings import ProducerSettings, producer_settings

_NAMES = ("topic", "deliveryGuarantee", "includeHeaders")
WRITE_OPTIONS = {name.lower(): name for name in _NAMES}
"""All options except settings of Kafka clients, by their names in lower case."""

_OF_SPARK = {"checkpointlocation", "path", "queryname"}
"""Options that Spark itself reads or adds."""
_ASYNC = "asyncprogresstracking"
"""Prefix of Spark's options for asynchronous checkpoints, which are not ours."""

_AT_LEAST_ONCE = "at-least-once"
_EXACTLY_ONCE = "exactly-once"


@dataclass(frozen=True)
class SinkOptions:
    """Options of a write, parsed."""

    producer: ProducerSettings
    topic: str | None
    """For all rows; without it they have a column topic."""
    exactly_once: bool
    headers: bool = True
    """Whether a column headers is written."""


def sink_options(given: Mapping[str, str], *, streaming: bool) -> SinkOptions:
    """The options of a write; raises `InvalidArgument`."""
    options = {name.lower(): value for name, value in given.items()}
    for name in options:
        if not (name in WRITE_OPTIONS or name in _OF_SPARK or name.startswith((PREFIX, _ASYNC))):
            like = get_close_matches(name, WRITE_OPTIONS, 1)
            hint = f": did you mean {WRITE_OPTIONS[like[0]]}?" if like else ""
            raise InvalidArgument(f"no option {name!r}{hint}")
    headers = options.get("includeheaders", "true").lower()
    if headers not in ("true", "false"):
        raise InvalidArgument(f'includeHeaders is "true" or "false", not {headers!r}')
    producer = producer_settings(options)
    guarantee = options.get("deliveryguarantee", _AT_LEAST_ONCE)
    if guarantee not in (_AT_LEAST_ONCE, _EXACTLY_ONCE):
        raise InvalidArgument(
            f"deliveryGuarantee is {_AT_LEAST_ONCE} or {_EXACTLY_ONCE}, not {guarantee!r}"
        )
    exactly_once = guarantee == _EXACTLY_ONCE
    if exactly_once and not streaming:
        raise InvalidArgument(
            f"deliveryGuarantee={_EXACTLY_ONCE} is for streams: an interrupted batch write can't "
            "be finished. A stream with trigger(availableNow=True) writes what there is, and "
            "continues from its checkpoint when it is restarted"
        )
    if exactly_once and (producer.acks != ACKS_ALL or producer.idempotent is False):
        raise InvalidArgument(
            f"deliveryGuarantee={_EXACTLY_ONCE} needs kafka.acks=all and kafka.enable.idempotence"
        )
    if producer.transaction_timeout_ms is not None and not exactly_once:
        raise InvalidArgument(
            f"kafka.transaction.timeout.ms is for deliveryGuarantee={_EXACTLY_ONCE}"
        )
    return SinkOptions(producer, options.get("topic"), exactly_once, headers == "true")
