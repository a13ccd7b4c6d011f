"""Share groups: members that read the same partitions, each record by one of them.

group.py           a share group, on the core of newer protocols (`modern/`)
state.py           persistent: members, assignments, and which share partitions have a state
member.py          what a member brought
heartbeat.py       join, stay in the group, leave
share_states.py    beginning and deleting the states that share coordinators keep
describe.py        ShareGroupDescribe
requests.py        the requests, for the groups of one shard

Who holds which records is not decided here, but on the leaders of partitions: `barnabas.share`.
"""
