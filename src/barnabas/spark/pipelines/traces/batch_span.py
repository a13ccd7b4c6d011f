"""A span for each micro-batch, from the driver, where the OpenTelemetry SDK is loaded.

A batch has records of many traces, so it is a trace by itself, with links to some of theirs.
"""

from collections.abc import Sequence

from barnabas.tracing import is_tracing


def record_batch_span(
    pipeline: str,
    number: int,
    began: float,
    ended: float,
    rows: tuple[int, int],
    parents: Sequence[str],
) -> None:
    """Record that a batch was processed; `rows` are those that came in, and went out."""
    if not is_tracing():
        return
    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    extract = TraceContextTextMapPropagator().extract
    contexts = [
        trace.get_current_span(extract({"traceparent": each}, Context())).get_span_context()
        for each in parents
    ]
    span = trace.get_tracer("barnabas").start_span(
        f"batch {pipeline}",
        context=Context(),
        kind=trace.SpanKind.CONSUMER,
        attributes={
            "messaging.system": "kafka",
            "messaging.operation.type": "process",
            "messaging.batch.message_count": rows[0],
            "barnabas.pipeline": pipeline,
            "barnabas.batch": number,
            "barnabas.rows_out": rows[1],
        },
        links=[trace.Link(each) for each in contexts if each.is_valid],
        start_time=round(began * 1e9),
    )
    span.end(round(ended * 1e9))
