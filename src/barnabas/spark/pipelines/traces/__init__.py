"""Traces of OpenTelemetry through pipelines.

trace_column    the trace headers of a record, as a column of its row
carried_column  the same column in the result of a pipeline, also if its function leaves it out
sampled_traces  some of the traces of a micro-batch, as Spark reports them
batch_span      a span for each micro-batch, with links to those
"""
