"""The replicas on this node: their logs, their roles, and the work that keeps them.

partitions                  all replicas of the node, in step with the metadata image
replica_opener              opens, recovers and examines the log of a replica
replica_directories         directories without a replica, and replicas without a directory
clean_shutdown              flushes and closes all logs
partition                   one replica: its log, its role, its high watermark
replica_role                leads or follows, as the image says
replica_truncation          truncates a replica's log, and its high watermark with it
leader_appender             appends while this node leads
refused_appends             replicas that could not append: the disk is full, or fails
replica_doubt               whether a replica may lack acknowledged records, and what follows
partition_host              what the partitions of a node share
replication_throttles       which replicas are throttled while they catch up
topic_settings              what a topic's settings mean for its replicas
append_limits               what a topic's settings allow a producer to send
commit_waits, flush_waits   requests that wait for the high watermark, or for a flush
watchers                    what is notified of changes
limited_log                 logs repeated errors at a limited rate
leadership                  whether a client's idea of the leader is right
isr_changes                 asks the controller for changes of in-sync sets
recompression               compresses batches as compression.type says, in threads
flusher                     fsync with group commit
log_cleaner                 compaction, one partition at a time
scrubber                    reads cold segments to find rot
high_watermark_checkpoint   what this node has acknowledged, for its next start
replica_trust               whether a log still has all that it has acknowledged
"""
