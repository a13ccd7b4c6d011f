"""Writing to topics: `df.write` and `df.writeStream` with `format("barnabas")`.

batch_writer          a batch query
stream_writer         a stream, at least once or exactly once
options               options of a write, with Spark's names for them
producer_settings     options named `kafka.*` that concern writing
columns               columns of a row that make a record
row_writer            what a task does: send Arrow batches
transactional_writer  what a task of an exactly-once stream does: send, and prepare to commit
exactly_once          commits the transactions of a micro-batch, also after a failure
commit_log            the topic that holds which batches are committed
"""
