"""OpenTelemetry traces in record headers, in the W3C Trace Context format.

Where the OpenTelemetry SDK is loaded, a `Producer` sends the context of the current span in the
headers `traceparent`, `tracestate` and `baggage`, handlers of an application continue it, and a
plain consumer does so with

    with barnabas.tracing.span("bill", message):
        ...

Without the SDK nothing happens. Load it before the producer is created.
"""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from barnabas.records.message import Message
from barnabas.records.record import Header

TRACE_HEADERS = ("traceparent", "tracestate", "baggage")
"""Of W3C Trace Context and Baggage."""

_NOTHING: AbstractContextManager[Any] = nullcontext()


def is_tracing() -> bool:
    """Whether spans are recorded in this process."""
    return "opentelemetry.sdk.trace" in sys.modules


def span(name: str, message: Message) -> AbstractContextManager[Any]:
    """A span for processing one record, in the trace of its producer if the record has one."""
    if not is_tracing():
        return _NOTHING
    from opentelemetry import propagate, trace

    carrier = {key: (value or b"").decode("ascii", "replace") for key, value in message.headers}
    attributes: dict[str, str | int] = {
        "messaging.system": "kafka",
        "messaging.operation.type": "process",
        "messaging.destination.name": message.topic,
        "messaging.destination.partition.id": str(message.partition),
        "messaging.kafka.offset": message.offset,
    }
    return trace.get_tracer("barnabas").start_as_current_span(
        f"process {name}",
        context=propagate.extract(carrier),
        kind=trace.SpanKind.CONSUMER,
        attributes=attributes,
    )


def with_trace(headers: Sequence[Header]) -> Sequence[Header]:
    """The headers, with the context of the current span unless they have one."""
    from opentelemetry import propagate

    if any(each[0] in TRACE_HEADERS for each in headers):
        return headers
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    if not carrier:
        return headers
    return [*headers, *((name, text.encode()) for name, text in carrier.items())]
