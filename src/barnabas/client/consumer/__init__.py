"""Partitions in, messages out.

    fetcher -> broker_fetcher -> completed_fetch -> fetch_buffer -> delivery_queue -> application
    application -> partition_progress -> committer -> group

consumer_core           the core of `Consumer`: all below, put together
consumer_options        options as people write them
consumer_positions      positions, seek, pause, lag
consumer_commits        commits, offsets of transactions
fetcher                 fetches ahead of the application
broker_fetcher          the fetches from one broker, one at a time
fetch_request           one fetch request
fetch_counts            what is counted of fetches
completed_fetch         what a broker has sent of one partition
fetch_buffer            completed fetches, bounded in bytes
unavailable_partitions  partitions that cannot be fetched now, and when they are retried
delivery_queue          messages on their way to the application, in its thread
table_poll              the same as Arrow tables
partition_progress      what was delivered of a partition, and what of it is done
commit_mode             when a message counts as done
committer               commits progress to the group
rebalancer              the partitions of a group member, from join to revocation
eager_rebalancer        the same by the classic protocol
incremental_rebalancer  the same by the consumer protocol: only partitions that move stop
poll_watch              notices an application that asks for no messages any more
start_offsets           where partitions start that the group has committed nothing for
all_partitions          all partitions of topics, without a group
new_topics              topics that do not exist yet, or that not every broker knows
streams                 one consumer for several threads or tasks
table_core              the core of `Table`: the last value of each key, in memory
topic_follower          what the records of a topic add up to, kept current
range_reader            all records between two offsets, once, as Arrow tables
"""
