"""Records in, batches out.

    send -> topic_routes -> accumulator -> sender -> leader -> batch_completion -> batch_result

producer_core          what the public producers run in the engine
producer_options       options as people write them
record_producer        the producer
record_row             a record as given, made into a row or refused
partitioner            the partition of a record without a key
topic_routes           the open batches of each topic
row_packer             an open batch of rows, in C; plain_row_packer: the same in Python
pending_batch          a batch from its first record until it is delivered or has failed
partition_queue        the batches of one partition, in order
accumulator            all partition queues, bounded by send_buffer
wakeup                 wakes the sender from any thread
sender                 the loop that sends ready batches to their leaders
batch_completion       what a response means for a batch: delivered, retried, split, failed
batch_retries          whether and when a failed batch is sent again
batch_result           how a batch ended, and who waits for it
sent_record            what `send` returns
producer_counts        what is counted of batches and requests
unreported_failures    failures that `flush` and `close` have to raise
producer_identity      a producer id and epoch; producer_identities: how an idempotent one gets it
transaction            one transaction
transactional_id       requests to the coordinators of a transaction
prepared_transactions  transactions whose end is decided elsewhere
table_sender           Arrow tables instead of records; table_columns: which columns they need
"""
