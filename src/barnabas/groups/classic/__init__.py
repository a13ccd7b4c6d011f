"""Classic groups: members elect a leader, which makes the assignments.

group.py    soft: members, rebalance, parked requests, deadlines
  member.py, state.py, subscription.py
join.py sync.py heartbeat.py leave.py rebalance.py   membership
requests.py                                          the requests, of whatever group they are for
describe.py                                          DescribeGroups
"""
