"""Membership in a consumer group.

group_member       what members of both protocols have in common
classic_member     the classic protocol: joins, and the leader of the group assigns
consumer_member    the consumer protocol (KIP-848): heartbeats, and the coordinator assigns
member_id          ids that members give themselves
assignors          which member gets which partitions, in the classic protocol
consumer_protocol  subscriptions and assignments of the classic protocol as bytes
committed_offsets  OffsetFetch and OffsetCommit
progress_groups    groups that record the progress of a tool, known by their names
"""
