"""Membership in a consumer group.

group_member       joins, heartbeats, leaves: the classic protocol, eager rebalancing
assignors          which member gets which partitions
consumer_protocol  subscriptions and assignments as bytes
committed_offsets  OffsetFetch and OffsetCommit
"""
