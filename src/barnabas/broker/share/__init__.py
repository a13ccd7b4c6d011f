"""Share groups, on the leaders of partitions.

share_partitions           the share partitions led here, by group and partition
led_share_partition        one of them: loads and stores its state, times locks out
share_reader               reads the log, and acquires what was read
share_fetch_wait           a long poll for records that can be acquired
share_sessions             which partitions each consumer fetches, bounded
share_settings             a group's settings, over the broker's
start_offset               where a group begins to read
state_calls                calls of share coordinators, here and on other nodes; coalesces writes
"""
