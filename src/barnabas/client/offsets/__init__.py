"""Offsets of a log by time.

list_offsets  the ListOffsets request: beginning, end, first offset at or after a time
offset_spec   places in a log as applications name them
isolation     what a reader sees of transactions
"""
