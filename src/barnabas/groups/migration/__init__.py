"""Groups that change between the classic and the consumer protocol while they have members.

The first member of the consumer protocol upgrades a classic group; the last one to leave
downgrades it. In between, members of both protocols are in one consumer group.

upgrade.py           a classic group becomes a consumer group
downgrade.py         a consumer group of classic members becomes a classic group
classic_requests.py  JoinGroup, SyncGroup, Heartbeat and LeaveGroup in a consumer group
embedded_protocol.py the subscriptions and assignments of classic members
"""
