"""Consumer groups: the protocol of Kafka 4, in which the coordinator makes the assignments.

requests.py         what clients ask for, for the groups of a shard
  request_check.py  errors that do not depend on the group
heartbeat.py        join, stay in the group, leave
  membership.py     who sends it: a new member, a known one, the next instance of a static one
  regexes.py        subscriptions by regular expressions
  reconciliation.py from the current to the target assignment of a member
group.py            a group: its records and settings, who may commit offsets
state.py            what the log says about a group
  member.py
describe.py         ConsumerGroupDescribe
"""
