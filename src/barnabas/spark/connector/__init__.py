"""Connectors: one class that reads from a system by position, or writes to one; Spark runs it.

connector      `Connector`, the base class: `schema` and `read`, or `write`
row_batches    rows as Arrow batches of a schema
stream_reader  micro-batches: Spark's offsets are the connector's positions
data_source    the data source that Spark makes of a connector
class_module   its class, sent to workers that can't import it
batch_writer   micro-batches handed to a connector's `write`
"""
