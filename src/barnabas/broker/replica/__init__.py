"""The replicas on this node: their logs, their roles, and the work that keeps them.

partitions                  all replicas of the node, in step with the metadata image
partition                   one replica: its log, its role, its high watermark
leader_appender             appends while this node leads
replica_doubt               whether a replica may lack acknowledged records
partition_host              what the partitions of a node share
append_limits               what a topic's settings allow a producer to send
commit_waits, watchers      who waits for the high watermark, and who is told of changes
leadership                  whether a client's idea of the leader is right
isr_changes                 asks the controller for changes of in-sync sets
recompression               compresses batches as compression.type says, in threads
flusher                     fsync with group commit
log_cleaner                 compaction, one partition at a time
scrubber                    reads cold segments to find rot
high_watermark_checkpoint   what this node has acknowledged, for its next start
replica_trust               whether a log still has all that it has acknowledged
"""
