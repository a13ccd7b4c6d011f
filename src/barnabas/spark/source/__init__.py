"""Reading topics: `spark.read` and `spark.readStream` with `format("barnabas")`.

batch_reader       plans and reads a batch query
stream_reader      plans and reads micro-batches
options            options of a read, with Spark's names for them
consumer_settings  options named `kafka.*` that concern reading
subscription       topics, patterns and assignments, as partitions
positions          starting and ending offsets, as options and checkpoints write them
log_offsets        those positions, as offsets in the partitions that exist
stream_position    the position that Spark keeps in a checkpoint
filters            predicates that Spark pushes down
schema             columns of a record
record_decoding    rows whose values are decoded, and records that can't be
registered_columns  columns from a schema registry
row_condition      conditions on rows that are checked in the worker
source_use         columns and rows that a query uses
tasks              ranges of offsets divided among tasks
range_reader       what a task does: fetch its ranges, and return Arrow batches
rate_limit         maxOffsetsPerTrigger and maxBytesPerTrigger, divided among partitions
record_sizes       about how many bytes a record of each partition has
table_reader       batch reads that keep what they have read, for tables
table_files        the files in which it is kept
group_progress     offsets committed for a consumer group, so that lag can be seen
idle_stream        whether Spark asks again without having had anything to do
idle_wait          waiting for records while Spark has nothing to do
data_loss          failOnDataLoss
"""
